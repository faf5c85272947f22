//! A node as a box: its frame, its text, and the branches inside it.

use interlock_core::machine::Outcome;

use super::{
    content::{CONTENT_MAX, Content, Piece},
    figure::Figure,
    sheet::{Area, Group, GroupKind, Sheet},
    text::{Face, fit, width},
};
use crate::{
    layout::{Point, Size},
    plot::{Kind, Node},
};

/// Space around and between the branches of a fork.
const LANE_GAP: f64 = 14.0;
const LANE_PAD: f64 = 14.0;
const LANE_HEAD: f64 = 24.0;

/// A node, measured.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) node: Node,
    pub(super) size: Size,
    pieces: Vec<Piece>,
    lanes: Vec<LaneShape>,
}

/// A branch inside a fork, measured from the fork's upper left corner.
#[derive(Debug)]
struct LaneShape {
    name: String,
    area: Area,
    figure: Figure,
}

impl Shape {
    /// Measures `node` and its branches.
    pub(super) fn of(mut node: Node) -> Self {
        let branches = std::mem::take(&mut node.branches);
        let mut content = Content::default();
        let size = match node.kind {
            Kind::Start => Size {
                width: 14.0,
                height: 14.0,
            },
            _ => {
                content.fill(&node);
                content.size()
            }
        };
        let mut shape = Self {
            node,
            size,
            pieces: content.pieces,
            lanes: Vec::new(),
        };
        let figures = branches
            .into_iter()
            .map(|branch| (branch.name, Figure::of(branch.plot)));
        shape.set_lanes(figures.collect());
        shape
    }

    /// Puts the branches side by side under the text.
    fn set_lanes(&mut self, figures: Vec<(String, Figure)>) {
        if figures.is_empty() {
            return;
        }
        let mut x = LANE_GAP;
        let y = self.size.height;
        let highest = figures
            .iter()
            .map(|(_, figure)| figure.size().height)
            .fold(0.0, f64::max);
        for (name, figure) in figures {
            let name = fit(&name, Face::EVENT, CONTENT_MAX);
            let inside = figure.size().width.max(width(&name, Face::EVENT));
            let area = Area {
                x,
                y,
                width: inside + 2.0 * LANE_PAD,
                height: highest + LANE_HEAD + LANE_PAD,
            };
            x += area.width + LANE_GAP;
            self.lanes.push(LaneShape { name, area, figure });
        }
        self.size.width = self.size.width.max(x);
        self.size.height = y + highest + LANE_HEAD + LANE_PAD + LANE_GAP;
    }

    /// Makes the box at least this high; its text stays in the middle.
    pub(super) fn grow(&mut self, height: f64) {
        let more = (height - self.size.height).max(0.0);
        self.size.height += more;
        for piece in &mut self.pieces {
            piece.y += more / 2.0;
        }
        for lane in &mut self.lanes {
            lane.area.y += more / 2.0;
        }
    }

    /// Draws the box around `middle`.
    pub(super) fn draw(&self, sheet: &mut Sheet, middle: Point) {
        let area = Area {
            x: middle.x - self.size.width / 2.0,
            y: middle.y - self.size.height / 2.0,
            width: self.size.width,
            height: self.size.height,
        };
        sheet.open(Group {
            what: GroupKind::Node {
                id: self.node.id.clone(),
                name: self.node.title.clone(),
                area,
                also: self.node.also.clone(),
                key: self.node.key.clone(),
                fold: self.node.fold,
            },
            class: self.classes(),
            title: self.told(),
        });
        match self.node.kind {
            Kind::Start => sheet.circle("dot", middle, 7.0),
            Kind::Terminal | Kind::Final(_) => {
                sheet.rect("box", area, 11.0);
                sheet.rect("inner", area.inset(3.5), 7.5);
            }
            Kind::Anywhere | Kind::Reference(_) => sheet.rect("box", area, area.height / 2.0),
            Kind::Fork => sheet.rect("frame", area, 12.0),
            Kind::State | Kind::Choice => sheet.rect("box", area, 10.0),
        }
        for piece in &self.pieces {
            piece.draw(sheet, area);
        }
        for lane in &self.lanes {
            lane.draw(sheet, area);
        }
        sheet.close();
    }

    fn classes(&self) -> String {
        let kind = match self.node.kind {
            Kind::Start => "start",
            Kind::State => "state",
            Kind::Choice => "choice",
            Kind::Fork => "fork",
            Kind::Terminal | Kind::Final(Outcome::Success) => "success",
            Kind::Final(Outcome::Failure) => "failure",
            Kind::Anywhere => "anywhere",
            Kind::Reference(Some(Outcome::Success)) => "reference success",
            Kind::Reference(Some(Outcome::Failure)) => "reference failure",
            Kind::Reference(None) => "reference",
        };
        let standing = self.node.standing;
        let visited = if standing.visited { " visited" } else { "" };
        let here = if standing.here > 0 || standing.inside {
            " here"
        } else {
            ""
        };
        format!("node {kind}{visited}{here}")
    }

    /// Returns the full text about the node.
    fn told(&self) -> String {
        let node = &self.node;
        let end = match node.kind {
            Kind::Final(Outcome::Success) => Some("ends with success".to_owned()),
            Kind::Final(Outcome::Failure) => Some("ends with failure".to_owned()),
            Kind::Terminal => Some("ends its branch with success".to_owned()),
            Kind::Reference(_) => Some("drawn elsewhere".to_owned()),
            _ => None,
        };
        let tools = (!node.tools.is_empty()).then(|| node.tools.join(", "));
        let words: Vec<String> = [Some(node.title.clone()), end, node.standing.words()]
            .into_iter()
            .chain([node.activity.clone(), tools])
            .flatten()
            .chain(node.limits.iter().cloned())
            .chain(node.instructions.clone())
            .filter(|words| !words.is_empty())
            .collect();
        words.join(" – ")
    }
}

impl LaneShape {
    fn draw(&self, sheet: &mut Sheet, fork: Area) {
        let area = Area {
            x: fork.x + self.area.x,
            y: fork.y + self.area.y,
            ..self.area
        };
        sheet.rect("lane", area, 8.0);
        let at = Point {
            x: area.x + 10.0,
            y: area.y + 16.0,
        };
        sheet.text("event", at, &self.name);
        let inside = self.figure.size();
        let corner = Point {
            x: area.x + (area.width - inside.width) / 2.0,
            y: area.y + LANE_HEAD,
        };
        self.figure.draw(sheet, corner);
    }
}
