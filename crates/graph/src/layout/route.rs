//! Routes the edges: straight through the rows, curved between them.

use super::{Layout, Link, Move, Point, Route, Size, Vertex, grid::Grid};

/// Space between two rows: the minimum, the amount for each unit that an edge moves sideways, and the maximum.
const GAP_MIN: f64 = 20.0;
const GAP_SLOPE: f64 = 0.14;
const GAP_MAX: f64 = 64.0;

/// Space between edges at a box, and between an edge and the box's corner.
const PORT_GAP: f64 = 16.0;
const CORNER: f64 = 14.0;

/// The size of sideways steps that are too small to be seen.
const BEND_MIN: f64 = 0.5;

/// The top and bottom of a row.
#[derive(Debug, Clone, Copy, Default)]
struct Band {
    top: f64,
    bottom: f64,
}

/// Gives every vertex and every link its place, given the middle of each cell.
pub(super) fn route(vertices: &[Vertex], links: &[Link], grid: &Grid, xs: &[f64]) -> Layout {
    let mut ways: Vec<Vec<f64>> = grid
        .chains
        .iter()
        .map(|chain| chain.iter().map(|&cell| xs[cell]).collect())
        .collect();
    spread_ports(vertices, grid, &mut ways);
    let bands = bands(grid, &ways);
    let placed: Vec<Point> = (0..vertices.len())
        .map(|vertex| Point {
            x: xs[vertex],
            y: bands[grid.cells[vertex].row].middle(),
        })
        .collect();
    let routes = links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            let chain = &grid.chains[index];
            let route = one(vertices, grid, &bands, chain, &ways[index]);
            let label = grid.labels[index];
            let label = Point {
                x: xs[label],
                y: bands[grid.cells[label].row].middle(),
            };
            let upward = chain[0] != link.from;
            let route = if upward { turned(&route) } else { route };
            Route {
                label,
                upward,
                ..route
            }
        })
        .collect();
    let width = grid
        .cells
        .iter()
        .zip(xs)
        .map(|(cell, x)| x + cell.right)
        .fold(0.0, f64::max);
    Layout {
        size: Size {
            width,
            height: bands.last().map_or(0.0, |band| band.bottom),
        },
        vertices: placed,
        routes,
    }
}

impl Band {
    const fn middle(self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

/// Returns the top and bottom of each row; rows are further apart where edges move far sideways.
fn bands(grid: &Grid, ways: &[Vec<f64>]) -> Vec<Band> {
    let mut sideways = vec![0.0_f64; grid.rows.len()];
    for (chain, way) in grid.chains.iter().zip(ways) {
        for (cell, pair) in chain.iter().zip(way.windows(2)) {
            let row = grid.cells[*cell].row;
            sideways[row] = sideways[row].max((pair[0] - pair[1]).abs());
        }
    }
    let mut y = 0.0;
    let mut bands = Vec::with_capacity(grid.rows.len());
    for (row, cells) in grid.rows.iter().enumerate() {
        let height = cells
            .iter()
            .map(|&cell| grid.cells[cell].height)
            .fold(0.0, f64::max);
        bands.push(Band {
            top: y,
            bottom: y + height,
        });
        y += height + (GAP_MIN + GAP_SLOPE * sideways[row]).min(GAP_MAX);
    }
    bands
}

/// Moves the ends of the links apart along the top and the bottom of each vertex.
fn spread_ports(vertices: &[Vertex], grid: &Grid, ways: &mut [Vec<f64>]) {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); vertices.len()];
    let mut above = below.clone();
    for (link, chain) in grid.chains.iter().enumerate() {
        below[chain[0]].push(link);
        above[chain[chain.len() - 1]].push(link);
    }
    for (vertex, size) in vertices.iter().enumerate() {
        for (links, at_top) in [(&mut below[vertex], false), (&mut above[vertex], true)] {
            let end = |link: usize| if at_top { ways[link].len() - 1 } else { 0 };
            let next = |link: usize| if at_top { ways[link].len() - 2 } else { 1 };
            links.sort_by(|&a, &b| ways[a][next(a)].total_cmp(&ways[b][next(b)]));
            let wanted: Vec<f64> = links.iter().map(|&link| ways[link][next(link)]).collect();
            let middle = links.first().map_or(0.0, |&link| ways[link][end(link)]);
            let ports = ports(&wanted, middle, size.width);
            let ends: Vec<usize> = links.iter().map(|&link| end(link)).collect();
            for ((&link, end), port) in links.iter().zip(ends).zip(ports) {
                ways[link][end] = port;
            }
        }
    }
}

/// Returns where edges that want to leave a side at `wanted`, in ascending order, leave it around `middle`.
fn ports(wanted: &[f64], middle: f64, width: f64) -> Vec<f64> {
    let half = (width / 2.0 - CORNER).max(0.0);
    let (low, high) = (middle - half, middle + half);
    let gaps = u32::try_from(wanted.len().saturating_sub(1)).map_or(f64::MAX, f64::from);
    let gap = if gaps > 0.0 {
        PORT_GAP.min(2.0 * half / gaps)
    } else {
        0.0
    };
    let mut ports: Vec<f64> = wanted.iter().map(|x| x.clamp(low, high)).collect();
    let mut least = low;
    for port in &mut ports {
        *port = port.max(least);
        least = *port + gap;
    }
    let mut most = high;
    for port in ports.iter_mut().rev() {
        *port = port.min(most);
        most = *port - gap;
    }
    ports
}

/// Returns the route of one link from its upper end to its lower one.
fn one(vertices: &[Vertex], grid: &Grid, bands: &[Band], chain: &[usize], way: &[f64]) -> Route {
    let last = chain.len() - 1;
    let (upper, lower) = (chain[0], chain[last]);
    let top = bands[grid.cells[upper].row].middle() + vertices[upper].height / 2.0;
    let bottom = bands[grid.cells[lower].row].middle() - vertices[lower].height / 2.0;
    let start = Point { x: way[0], y: top };
    let mut moves: Vec<Move> = Vec::new();
    let mut now = start.x;
    for (index, &cell) in chain.iter().enumerate() {
        let band = bands[grid.cells[cell].row];
        let x = way[index];
        if (x - now).abs() > BEND_MIN {
            now = x;
            moves.push(Move::Curve(Point { x, y: band.top }));
        }
        let y = if index == last { bottom } else { band.bottom };
        straight(&mut moves, Point { x: now, y });
    }
    Route {
        start,
        moves,
        ..Route::default()
    }
}

/// Adds a straight piece, or lengthens the previous one.
fn straight(moves: &mut Vec<Move>, point: Point) {
    match moves.last_mut() {
        Some(Move::Straight(end)) => *end = point,
        _ => moves.push(Move::Straight(point)),
    }
}

/// Returns the same route from its other end.
fn turned(route: &Route) -> Route {
    let mut points = vec![route.start];
    points.extend(route.moves.iter().map(|made| made.end()));
    let moves = route.moves.iter().zip(&points).rev();
    Route {
        start: points[points.len() - 1],
        moves: moves
            .map(|(made, &before)| match made {
                Move::Straight(_) => Move::Straight(before),
                Move::Curve(_) => Move::Curve(before),
            })
            .collect(),
        ..route.clone()
    }
}
