//! Writes the elements of a picture.

use std::fmt::Write as _;

use super::text::escaped;
use crate::layout::{Move, Point, Route};

/// The elements written so far.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    text: String,
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
    /// Returns the rectangle that lies `by` within this one on every side.
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
    /// Returns everything written.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Opens a group with these classes; `title` is what a viewer tells of it.
    pub(super) fn open(&mut self, classes: &str, title: &str) {
        self.push(&format!("<g class=\"{classes}\">"));
        if !title.is_empty() {
            let title = escaped(title);
            self.push(&format!("<title>{title}</title>"));
        }
    }

    pub(super) fn close(&mut self) {
        self.push("</g>\n");
    }

    pub(super) fn rect(&mut self, class: &str, area: Area, radius: f64) {
        let Area {
            x,
            y,
            width,
            height,
        } = area;
        let [x, y, width, height, radius] = [x, y, width, height, radius].map(number);
        self.push(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
        ));
    }

    pub(super) fn circle(&mut self, class: &str, middle: Point, radius: f64) {
        let [x, y, radius] = [middle.x, middle.y, radius].map(number);
        self.push(&format!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
        ));
    }

    pub(super) fn text(&mut self, class: &str, at: Point, text: &str) {
        let [x, y] = [at.x, at.y].map(number);
        let text = escaped(text);
        self.push(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"
        ));
    }

    /// Writes a path; `way` is in the language of paths.
    pub(super) fn path(&mut self, class: &str, way: &str) {
        self.push(&format!("<path class=\"{class}\" d=\"{way}\"/>"));
    }

    /// Writes a small drawing of strokes around `at`; `way` is relative to it.
    pub(super) fn glyph(&mut self, class: &str, at: Point, way: &str) {
        let start = self.point(at);
        self.path(class, &format!("M{start} {way}"));
    }

    /// Writes an arrow head whose tip is at `tip`.
    pub(super) fn arrow(&mut self, tip: Point, towards: Towards) {
        let start = self.point(tip);
        let wings = match towards {
            Towards::Down => "l-4.5 -9 q4.5 2.4 9 0 z",
            Towards::Up => "l-4.5 9 q4.5 -2.4 9 0 z",
            Towards::Left => "l9 -4.5 q-2.4 4.5 0 9 z",
        };
        self.path("arrow", &format!("M{start} {wings}"));
    }

    fn point(&self, at: Point) -> String {
        format!("{} {}", number(at.x), number(at.y))
    }

    fn push(&mut self, element: &str) {
        self.text.push_str(element);
    }
}

/// Where an arrow points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    Down,
    Up,
    Left,
}

/// Writes a route in the language of paths, moved by `by`; its end is drawn back by `short`.
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

/// Writes a number with one digit after the point, none where it is 0.
pub(super) fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Minus zero would be written with its sign.
    let rounded = if rounded == 0.0 { 0.0 } else { rounded };
    format!("{rounded}")
}
