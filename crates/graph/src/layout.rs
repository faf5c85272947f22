//! A layered layout: boxes in rows, edges from top to bottom, with few crossings.
//!
//! Knows sizes only, not what is drawn. It works in steps, each of them a module: rows for
//! the vertices (`rank`), a cell in every row that an edge passes, one of them wide enough for
//! its label (`grid`), an order within each row (`order`), places
//! (`align`), curves (`route`). Boxes, labels and passing edges share the rows
//! and therefore cannot overlap.

#![expect(
    clippy::indexing_slicing,
    reason = "indices are those of vertices, cells and rows that this module numbered itself"
)]

mod align;
mod grid;
mod order;
mod rank;
mod route;

use grid::Grid;

/// Space between neighbours in a row: between boxes, and between anything and a passing edge.
const GAP_BOXES: f64 = 40.0;
const GAP_EDGES: f64 = 16.0;

/// A box to be placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Vertex {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// The space to keep free at its right.
    pub(crate) right: f64,
}

/// An edge between two different vertices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Width and height of its label; zero if it has none.
    pub(crate) label: Size,
}

/// A width and a height.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A place.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// The places of everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Layout {
    pub(crate) size: Size,
    /// The middle of each vertex.
    pub(crate) vertices: Vec<Point>,
    /// The route of each link.
    pub(crate) routes: Vec<Route>,
}

/// The route of a link.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Route {
    pub(crate) start: Point,
    pub(crate) moves: Vec<Move>,
    /// The middle of its label.
    pub(crate) label: Point,
    /// Whether it arrives from below.
    pub(crate) upward: bool,
}

/// One piece of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Move {
    /// A straight line up or down.
    Straight(Point),
    /// A curve that leaves and arrives vertically.
    Curve(Point),
}

impl Move {
    /// Returns where it ends.
    pub(crate) const fn end(self) -> Point {
        match self {
            Self::Straight(point) | Self::Curve(point) => point,
        }
    }
}

/// Places `vertices` and the `links` between them; the first vertex is the entry.
pub(crate) fn lay_out(vertices: &[Vertex], links: &[Link]) -> Layout {
    let ranks = rank::ranks(vertices.len(), links);
    let mut grid = Grid::new(vertices, links, &ranks);
    order::order(&mut grid);
    let xs = align::places(&grid, links);
    route::route(vertices, links, &grid, &xs)
}

/// Returns how many rows of vertices each link spans.
pub(crate) fn spans(vertices: usize, links: &[Link]) -> Vec<usize> {
    let ranks = rank::ranks(vertices, links);
    let spans = links
        .iter()
        .map(|link| ranks[link.from].abs_diff(ranks[link.to]));
    spans.collect()
}
