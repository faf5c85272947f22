//! A plot, measured and laid out: boxes, the lines between them, their labels.

use super::{
    label::LabelShape,
    shape::Shape,
    sheet::{Group, GroupKind, Sheet, Towards, way},
    shorten::shorten,
};
use crate::{
    layout::{Layout, Link, Point, Size, Vertex, lay_out},
    plot::{Edge, EdgeStyle, Plot},
};

/// How far a line that leads back to its own box reaches out.
const LOOP_WIDTH: f64 = 26.0;

/// Space between the lines that lead back to the same box.
const LOOP_GAP: f64 = 12.0;

/// A plot, ready to be drawn.
#[derive(Debug)]
pub(super) struct Figure {
    shapes: Vec<Shape>,
    /// Lines between two boxes, in the order of the layout's routes.
    lines: Vec<(Edge, LabelShape)>,
    /// Lines that lead back to their own box, by box.
    loops: Vec<(Edge, LabelShape)>,
    layout: Layout,
}

impl Figure {
    /// Measures and lays out `plot`, what lies inside its nodes first.
    pub(super) fn of(plot: Plot) -> Self {
        let plot = shorten(plot);
        let mut shapes: Vec<Shape> = plot.nodes.into_iter().map(Shape::of).collect();
        let measured = plot.edges.into_iter().map(|edge| {
            let label = LabelShape::of(&edge);
            (edge, label)
        });
        let (loops, lines): (Vec<_>, Vec<_>) = measured.partition(|(edge, _)| edge.from == edge.to);
        let right = room_for_loops(&mut shapes, &loops);
        let vertices: Vec<Vertex> = shapes
            .iter()
            .zip(right)
            .map(|(shape, right)| Vertex {
                width: shape.size.width,
                height: shape.size.height,
                right,
            })
            .collect();
        let links: Vec<Link> = lines
            .iter()
            .map(|(edge, label)| Link {
                from: edge.from,
                to: edge.to,
                label: label.size,
            })
            .collect();
        Self {
            layout: lay_out(&vertices, &links),
            shapes,
            lines,
            loops,
        }
    }

    /// Returns the size of the drawing.
    pub(super) const fn size(&self) -> Size {
        self.layout.size
    }

    /// Draws everything, with the upper left corner at `corner`.
    pub(super) fn draw(&self, sheet: &mut Sheet, corner: Point) {
        let moved = |point: Point| Point {
            x: point.x + corner.x,
            y: point.y + corner.y,
        };
        for ((edge, _), route) in self.lines.iter().zip(&self.layout.routes) {
            sheet.open(self.line_group(edge));
            sheet.path("line", &way(route, corner, 7.0));
            if let Some(last) = route.moves.last() {
                let towards = if route.upward {
                    Towards::Up
                } else {
                    Towards::Down
                };
                sheet.arrow(moved(last.end()), towards);
            }
            sheet.close();
        }
        self.draw_loops(sheet, corner);
        for ((edge, label), route) in self.lines.iter().zip(&self.layout.routes) {
            if !edge.labels.is_empty() {
                sheet.open(self.label_group(edge));
                label.draw(sheet, moved(route.label));
                sheet.close();
            }
        }
        for (shape, middle) in self.shapes.iter().zip(&self.layout.vertices) {
            shape.draw(sheet, moved(*middle));
        }
    }

    fn draw_loops(&self, sheet: &mut Sheet, corner: Point) {
        let mut used: Vec<f64> = vec![0.0; self.shapes.len()];
        let mut all: Vec<f64> = used.clone();
        for (edge, label) in &self.loops {
            if let Some(all) = all.get_mut(edge.from) {
                *all += loop_height(label);
            }
        }
        for (edge, label) in &self.loops {
            let place = (
                self.shapes.get(edge.from),
                self.layout.vertices.get(edge.from),
                used.get_mut(edge.from),
                all.get(edge.from),
            );
            let (Some(shape), Some(middle), Some(used), Some(all)) = place else {
                continue;
            };
            let x = corner.x + middle.x + shape.size.width / 2.0;
            let y = corner.y + middle.y - all / 2.0 + *used + loop_height(label) / 2.0;
            *used += loop_height(label);
            sheet.open(self.line_group(edge));
            let half = (loop_height(label) - LOOP_GAP) / 2.0;
            let [left, out] = [x, x + LOOP_WIDTH].map(super::sheet::number);
            let [up, down] = [y - half, y + half].map(super::sheet::number);
            let tip = super::sheet::number(x + 7.0);
            let line = format!("M{left} {up}C{out} {up} {out} {down} {tip} {down}");
            sheet.path("line", &line);
            sheet.arrow(Point { x, y: y + half }, Towards::Left);
            sheet.close();
            sheet.open(self.label_group(edge));
            let middle = Point {
                x: x + LOOP_WIDTH + label.size.width / 2.0,
                y,
            };
            label.draw(sheet, middle);
            sheet.close();
        }
    }

    fn line_group(&self, edge: &Edge) -> Group {
        let node = |index: usize| {
            let shape = self.shapes.get(index)?;
            shape.node.id.clone()
        };
        Group {
            what: GroupKind::Edge {
                id: edge.id.clone(),
                from: node(edge.from),
                to: node(edge.to),
                also: edge.also.clone(),
            },
            class: classes(edge),
            title: self.told(edge),
        }
    }

    fn label_group(&self, edge: &Edge) -> Group {
        Group {
            what: GroupKind::Label {
                id: edge.id.clone(),
            },
            class: "label".to_owned(),
            title: self.told(edge),
        }
    }

    /// Returns the full text of an edge.
    fn told(&self, edge: &Edge) -> String {
        let title = |index: usize| {
            let shape = self.shapes.get(index);
            shape.map_or("", |shape| shape.node.title.as_str())
        };
        let way = format!("{} → {}", title(edge.from), title(edge.to));
        let labels = edge
            .labels
            .iter()
            .flat_map(|label| label.lines().into_iter().chain(label.definitions.clone()));
        let words: Vec<String> = std::iter::once(way).chain(labels).collect();
        words.join(" – ")
    }
}

/// Makes boxes high enough for the lines that lead back to them; returns the space needed at their right.
fn room_for_loops(shapes: &mut [Shape], loops: &[(Edge, LabelShape)]) -> Vec<f64> {
    let mut right: Vec<f64> = vec![0.0; shapes.len()];
    let mut heights = right.clone();
    for (edge, label) in loops {
        let room = LOOP_WIDTH + label.size.width;
        if let (Some(right), Some(height)) = (right.get_mut(edge.from), heights.get_mut(edge.from))
        {
            *right = right.max(room);
            *height += loop_height(label);
        }
    }
    for (shape, height) in shapes.iter_mut().zip(heights) {
        shape.grow(height);
    }
    right
}

fn loop_height(label: &LabelShape) -> f64 {
    label.size.height.max(22.0) + LOOP_GAP
}

fn classes(edge: &Edge) -> String {
    let line = match edge.line {
        EdgeStyle::Plain => "",
        EdgeStyle::Approval => " approval",
        EdgeStyle::Interrupt => " interrupt",
        EdgeStyle::Fallback => " fallback",
    };
    let taken = if edge.taken > 0 { " taken" } else { "" };
    format!("edge{line}{taken}")
}
