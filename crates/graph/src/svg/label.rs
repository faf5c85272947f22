//! The label of an edge: a pill with the event, below it the conditions.

use super::{
    sheet::{Area, Sheet},
    text::{Face, fit, width, wrap},
};
use crate::{
    layout::{Point, Size},
    plot::Edge,
};

/// The width of the widest line of a label.
const WIDTH_MAX: f64 = 190.0;

/// The number of lines that one condition or question may take.
const LINES_MAX: usize = 3;

const PILL_HEIGHT: f64 = 19.0;
const LINE_HEIGHT: f64 = 15.0;
/// The space between the labels of one edge.
const BETWEEN: f64 = 5.0;

/// The measured lines of a label.
#[derive(Debug, Default)]
pub(super) struct LabelShape {
    pub(super) size: Size,
    lines: Vec<LabelLine>,
}

#[derive(Debug)]
struct LabelLine {
    what: What,
    text: String,
    width: f64,
    /// The distance from the top of the label.
    y: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Event,
    Condition,
    /// The first line of what a person is asked.
    Approval,
    /// The other lines.
    More,
}

impl LabelShape {
    /// Measures the label of `edge`.
    pub(super) fn of(edge: &Edge) -> Self {
        let mut shape = Self::default();
        for label in &edge.labels {
            if !shape.lines.is_empty() {
                shape.size.height += BETWEEN;
            }
            let times = if edge.taken > 1 && edge.labels.len() == 1 {
                format!(" ×{}", edge.taken)
            } else {
                String::new()
            };
            shape.add(What::Event, &format!("{}{times}", label.event));
            for condition in &label.conditions {
                for line in wrap(condition, Face::GUARD, WIDTH_MAX, LINES_MAX) {
                    shape.add(What::Condition, &line);
                }
            }
            let question = label.approval.iter();
            let lines = question.flat_map(|text| wrap(text, Face::GUARD, WIDTH_MAX, LINES_MAX));
            for (index, line) in lines.enumerate() {
                let what = if index == 0 {
                    What::Approval
                } else {
                    What::More
                };
                shape.add(what, &line);
            }
        }
        shape
    }

    fn add(&mut self, what: What, text: &str) {
        let (face, around, height) = match what {
            What::Event => (Face::EVENT, 16.0, PILL_HEIGHT),
            What::Condition | What::More => (Face::GUARD, 8.0, LINE_HEIGHT),
            What::Approval => (Face::GUARD, 24.0, LINE_HEIGHT),
        };
        let text = fit(text, face, WIDTH_MAX);
        let width = width(&text, face) + around;
        self.size.width = self.size.width.max(width);
        self.lines.push(LabelLine {
            what,
            text,
            width,
            y: self.size.height,
        });
        self.size.height += height;
    }

    /// Draws the label around `middle`.
    pub(super) fn draw(&self, sheet: &mut Sheet, middle: Point) {
        let top = middle.y - self.size.height / 2.0;
        for line in &self.lines {
            let area = |height| Area {
                x: middle.x - line.width / 2.0,
                y: top + line.y,
                width: line.width,
                height,
            };
            match line.what {
                What::Event => {
                    sheet.rect("pill", area(PILL_HEIGHT), PILL_HEIGHT / 2.0);
                    let at = at(middle.x, top + line.y + 13.2);
                    sheet.text("event mid", at, &line.text);
                }
                What::Condition | What::More => {
                    sheet.rect("behind", area(LINE_HEIGHT), 3.0);
                    let at = at(middle.x, top + line.y + 11.5);
                    let class = match line.what {
                        What::More => "asks mid",
                        _ => "guard mid",
                    };
                    sheet.text(class, at, &line.text);
                }
                What::Approval => {
                    let area = area(LINE_HEIGHT);
                    sheet.rect("behind", area, 3.0);
                    person(sheet, at(area.x + 10.0, area.y + 4.2));
                    let at = at(area.x + 20.0, area.y + 11.5);
                    sheet.text("asks", at, &line.text);
                }
            }
        }
    }
}

const fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// Draws head and shoulders, the head's middle at `at`.
fn person(sheet: &mut Sheet, at: Point) {
    sheet.circle("asks", at, 2.6);
    let shoulders = Point {
        x: at.x - 5.0,
        y: at.y + 8.6,
    };
    sheet.glyph("asks", shoulders, "a5 5 0 0 1 10 0 z");
}
