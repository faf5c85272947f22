//! The surface of a picture: groups and shapes, written as an SVG or as a scene.

use std::fmt::Write as _;

use super::text::escaped;
use crate::{
    layout::{Move, Point, Route},
    plot::{Fold, Id},
};

/// What has been drawn so far.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    items: Vec<Item>,
}

/// A step of a drawing.
#[derive(Debug)]
pub(super) enum Item {
    Open(Group),
    Close,
    Shape { class: String, shape: Shape },
}

/// A group of shapes.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) what: GroupKind,
    pub(super) class: String,
    /// The full text about it; empty if there is none.
    pub(super) title: String,
}

/// What a group of shapes stands for; the numbers are those of the graph's nodes and edges.
#[derive(Debug)]
pub(super) enum GroupKind {
    /// A sample of the legend.
    Sample,
    /// A machine that is called.
    Machine,
    Node {
        id: Option<Id>,
        name: String,
        area: Area,
        also: Vec<Id>,
        key: Option<String>,
        fold: Option<Fold>,
    },
    Edge {
        id: Option<Id>,
        from: Option<Id>,
        to: Option<Id>,
        also: Vec<Id>,
    },
    /// The label of an edge.
    Label { id: Option<Id> },
}

/// A shape, in the units of the picture.
#[derive(Debug)]
pub(super) enum Shape {
    /// A rectangle with the radius of its corners.
    Rect(Area, f64),
    Circle(Point, f64),
    Text(Point, String),
    /// A path in the syntax of SVG.
    Path(String),
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    /// Returns the rectangle that is smaller than this one by `by` on every side.
    pub(super) fn inset(self, by: f64) -> Self {
        Self {
            x: self.x + by,
            y: self.y + by,
            width: (self.width - 2.0 * by).max(0.0),
            height: (self.height - 2.0 * by).max(0.0),
        }
    }
}

impl Sheet {
    /// Returns everything drawn.
    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Opens a group; what is drawn until it is closed belongs to it.
    pub(super) fn open(&mut self, group: Group) {
        self.items.push(Item::Open(group));
    }

    pub(super) fn close(&mut self) {
        self.items.push(Item::Close);
    }

    pub(super) fn rect(&mut self, class: &str, area: Area, radius: f64) {
        self.shape(class, Shape::Rect(area, radius));
    }

    pub(super) fn circle(&mut self, class: &str, middle: Point, radius: f64) {
        self.shape(class, Shape::Circle(middle, radius));
    }

    pub(super) fn text(&mut self, class: &str, at: Point, text: &str) {
        self.shape(class, Shape::Text(at, text.to_owned()));
    }

    /// Draws a path; `way` is in the syntax of SVG.
    pub(super) fn path(&mut self, class: &str, way: &str) {
        self.shape(class, Shape::Path(way.to_owned()));
    }

    /// Draws a few strokes around `at`; `way` is relative to it.
    pub(super) fn glyph(&mut self, class: &str, at: Point, way: &str) {
        let [x, y] = [at.x, at.y].map(number);
        self.path(class, &format!("M{x} {y} {way}"));
    }

    /// Draws an arrow head whose tip is at `tip`.
    pub(super) fn arrow(&mut self, tip: Point, towards: Towards) {
        let wings = match towards {
            Towards::Down => "l-4.5 -9 q4.5 2.4 9 0 z",
            Towards::Up => "l-4.5 9 q4.5 -2.4 9 0 z",
            Towards::Left => "l9 -4.5 q-2.4 4.5 0 9 z",
        };
        self.glyph("arrow", tip, wings);
    }

    fn shape(&mut self, class: &str, shape: Shape) {
        let class = class.to_owned();
        self.items.push(Item::Shape { class, shape });
    }

    /// Writes everything drawn as elements of an SVG.
    pub(super) fn svg(&self) -> String {
        let mut text = String::new();
        for item in &self.items {
            text.push_str(&item.svg());
        }
        text
    }
}

impl Item {
    fn svg(&self) -> String {
        let (class, shape) = match self {
            Self::Open(group) if group.title.is_empty() => {
                return format!("<g class=\"{}\">", group.class);
            }
            Self::Open(Group { class, title, .. }) => {
                let title = escaped(title);
                return format!("<g class=\"{class}\"><title>{title}</title>");
            }
            Self::Close => return "</g>\n".to_owned(),
            Self::Shape { class, shape } => (class, shape),
        };
        match shape {
            Shape::Rect(area, radius) => {
                let [x, y, width, height, radius] =
                    [area.x, area.y, area.width, area.height, *radius].map(number);
                format!(
                    "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
                )
            }
            Shape::Circle(middle, radius) => {
                let [x, y, radius] = [middle.x, middle.y, *radius].map(number);
                format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>")
            }
            Shape::Text(at, text) => {
                let [x, y] = [at.x, at.y].map(number);
                let text = escaped(text);
                format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>")
            }
            Shape::Path(way) => format!("<path class=\"{class}\" d=\"{way}\"/>"),
        }
    }
}

/// The direction of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    Down,
    Up,
    Left,
}

/// Writes a route in the path syntax of SVG, moved by `by`; its end is shortened by `short`.
pub(super) fn way(route: &Route, by: Point, short: f64) -> String {
    let mut text = format!(
        "M{} {}",
        number(route.start.x + by.x),
        number(route.start.y + by.y)
    );
    let mut before = route.start;
    let last = route.moves.len().saturating_sub(1);
    for (index, made) in route.moves.iter().enumerate() {
        let mut end = made.end();
        if index == last {
            end.y += if route.upward { short } else { -short };
        }
        let [x, y] = [end.x + by.x, end.y + by.y].map(number);
        // Writing into a String cannot fail.
        let _ = match made {
            Move::Straight(_) => write!(text, "L{x} {y}"),
            Move::Curve(_) => {
                let half = number(f64::midpoint(before.y, end.y) + by.y);
                let from = number(before.x + by.x);
                write!(text, "C{from} {half} {x} {half} {x} {y}")
            }
        };
        before = end;
    }
    text
}

/// Writes a number with at most one decimal.
pub(super) fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Minus zero would be written with its sign.
    let rounded = if rounded == 0.0 { 0.0 } else { rounded };
    format!("{rounded}")
}
