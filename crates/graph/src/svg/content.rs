//! The content of a box, and the size that it needs.

use interlock_core::machine::Outcome;
use interlock_tool_names::{SHELL, WRITERS};

use super::{
    sheet::{Area, Sheet},
    text::{Face, fit, width, wrap},
};
use crate::{
    layout::{Point, Size},
    plot::{Kind, Node},
};

/// The width of the content of a box.
pub(super) const CONTENT_MAX: f64 = 250.0;

const PAD_X: f64 = 14.0;
const PAD_Y: f64 = 12.0;

/// The number of lines that one limit may take.
const LIMIT_LINES: usize = 2;

/// Something written in a box, measured from the box's upper left corner.
#[derive(Debug)]
pub(super) struct Piece {
    what: What,
    pub(super) x: f64,
    pub(super) y: f64,
    width: f64,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Title,
    Note,
    Limit,
    Command,
    Chip,
    /// The chip of a tool that can change things.
    Change,
    /// What goes on there now: a line of execution, one that waits, one that was interrupted.
    Here,
    Parked,
    Interrupted,
    Check,
    Cross,
    Rhombus,
}

impl Piece {
    pub(super) fn draw(&self, sheet: &mut Sheet, area: Area) {
        let at = Point {
            x: area.x + self.x,
            y: area.y + self.y,
        };
        match self.what {
            What::Title => sheet.text("title", at, &self.text),
            What::Note => sheet.text("note", at, &self.text),
            What::Limit => sheet.text("limit", at, &self.text),
            What::Command => sheet.text("code", at, &self.text),
            What::Chip | What::Change => {
                let (chip, letters) = match self.what {
                    What::Change => ("chip change", "code changes"),
                    _ => ("chip", "code"),
                };
                let around = Area {
                    x: at.x,
                    y: at.y,
                    width: self.width,
                    height: 17.0,
                };
                sheet.rect(chip, around, 4.0);
                let inside = Point {
                    x: at.x + 6.0,
                    y: at.y + 12.2,
                };
                sheet.text(letters, inside, &self.text);
            }
            What::Here | What::Parked | What::Interrupted => self.flag(sheet, at),
            What::Check => sheet.glyph("glyph", at, "m0 -4.5 l3.5 3.8 l6.5 -8"),
            What::Cross => sheet.glyph("glyph", at, "m1 -8.5 l8 8 m0 -8 l-8 8"),
            What::Rhombus => sheet.glyph("glyph", at, "m0 -5 l5.5 -5.5 l5.5 5.5 l-5.5 5.5 z"),
        }
    }
}

impl Piece {
    /// Draws a text for what goes on there now.
    fn flag(&self, sheet: &mut Sheet, at: Point) {
        let class = match self.what {
            What::Parked => "flag flag-parked",
            What::Interrupted => "flag flag-interrupted",
            _ => "flag",
        };
        let flag = Area {
            x: at.x,
            y: at.y,
            width: self.width,
            height: 18.0,
        };
        sheet.rect(class, flag, 9.0);
        let tip = Point {
            x: flag.x + 9.0,
            y: flag.y + 5.0,
        };
        sheet.glyph("flag-text", tip, "v8 l6.5 -4 z");
        let at = Point {
            x: flag.x + 19.0,
            y: flag.y + 12.8,
        };
        sheet.text("flag-text", at, &self.text);
    }
}

/// The content of a box, line under line.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) pieces: Vec<Piece>,
    width: f64,
    height: f64,
    pad_y: f64,
}

impl Content {
    /// Writes everything there is to write about `node`.
    pub(super) fn fill(&mut self, node: &Node) {
        self.title(node);
        if let Some(activity) = &node.activity {
            for line in wrap(activity, Face::NOTE, CONTENT_MAX, LIMIT_LINES) {
                self.line(What::Note, line, Face::NOTE, 16.0);
            }
        }
        self.chips(&node.tools);
        for limit in &node.limits {
            let (what, face) = if limit.starts_with('$') {
                (What::Command, Face::COMMAND)
            } else {
                (What::Limit, Face::LIMIT)
            };
            for line in wrap(limit, face, CONTENT_MAX, LIMIT_LINES) {
                self.line(what, line, face, 15.5);
            }
        }
    }

    fn title(&mut self, node: &Node) {
        let glyph = match (node.kind.outcome(), node.kind) {
            (Some(Outcome::Success), _) => Some(What::Check),
            (Some(Outcome::Failure), _) => Some(What::Cross),
            (None, Kind::Choice) => Some(What::Rhombus),
            (None, _) => None,
        };
        let small = matches!(node.kind, Kind::Anywhere | Kind::Reference(_));
        let (what, face, height) = if small {
            (What::Note, Face::NOTE, 15.0)
        } else {
            (What::Title, Face::TITLE, 18.0)
        };
        self.pad_y = if small { 6.0 } else { PAD_Y };
        let indent = if glyph.is_some() { 17.0 } else { 0.0 };
        let title = fit(&node.title, face, CONTENT_MAX - indent);
        self.line(what, title, face, height);
        if let Some(piece) = self.pieces.last_mut() {
            piece.x = indent;
        }
        self.width += indent;
        self.flag(node, height);
        if let Some(what) = glyph {
            self.pieces.push(Piece {
                what,
                x: 0.0,
                y: height - if small { 4.0 } else { 4.5 },
                width: 0.0,
                text: String::new(),
            });
        }
    }

    /// Adds a text for what goes on there now at the right of the title.
    fn flag(&mut self, node: &Node, height: f64) {
        let Some(text) = node.standing.words() else {
            return;
        };
        let what = if node.standing.parked > 0 {
            What::Parked
        } else if node.standing.here > 0 {
            What::Here
        } else {
            What::Interrupted
        };
        let wide = width(&text, Face::LIMIT) + 26.0;
        self.pieces.push(Piece {
            what,
            x: self.width + 10.0,
            y: height - 17.0,
            width: wide,
            text,
        });
        self.width += wide + 10.0;
    }

    fn line(&mut self, what: What, text: String, face: Face, height: f64) {
        let width = width(&text, face);
        self.width = self.width.max(width);
        self.height += height;
        self.pieces.push(Piece {
            what,
            x: 0.0,
            y: self.height - 0.3 * height,
            width,
            text,
        });
    }

    /// Adds one small field per tool, in as many rows as they need.
    fn chips(&mut self, tools: &[String]) {
        if tools.is_empty() {
            return;
        }
        self.height += 5.0;
        let (mut x, mut rows) = (0.0, 1);
        for (index, tool) in tools.iter().enumerate() {
            let mut text = fit(tool, Face::CHIP, CONTENT_MAX - 12.0);
            let mut wide = width(&text, Face::CHIP) + 12.0;
            if x > 0.0 && x + wide > CONTENT_MAX {
                if rows == 3 {
                    text = format!("+{}", tools.len() - index);
                    wide = width(&text, Face::CHIP) + 12.0;
                } else {
                    x = 0.0;
                    rows += 1;
                    self.height += 21.0;
                }
            }
            let cut = rows == 3 && text.starts_with('+');
            self.pieces.push(Piece {
                what: if changes(tool) {
                    What::Change
                } else {
                    What::Chip
                },
                x,
                y: self.height,
                width: wide,
                text,
            });
            self.width = self.width.max(x + wide);
            x += wide + 5.0;
            if cut {
                break;
            }
        }
        self.height += 21.0;
    }

    /// Moves everything in from the corner; returns the size of the box.
    pub(super) fn size(&mut self) -> Size {
        let width = self.width.max(40.0);
        let aside = PAD_X + (width - self.width) / 2.0;
        for piece in &mut self.pieces {
            piece.x += aside;
            piece.y += self.pad_y;
        }
        Size {
            width: width + 2.0 * PAD_X,
            height: self.height + 2.0 * self.pad_y,
        }
    }
}

/// Returns whether a tool can change things.
pub(super) fn changes(tool: &str) -> bool {
    WRITERS.contains(&tool) || [SHELL, "any tool", "*"].contains(&tool)
}
