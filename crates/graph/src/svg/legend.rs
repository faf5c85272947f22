//! The meaning of the lines and fields of a picture; only of those that appear in it.

use super::{
    MARGIN, any_plot,
    sheet::{Area, Group, GroupKind, Sheet},
    text::{Face, width},
};
use crate::{
    graph::Graph,
    layout::{Point, Size},
    plot::{EdgeStyle, Kind, Plot},
};

const SAMPLE: f64 = 34.0;
const BETWEEN: f64 = 22.0;
const ROW: f64 = 22.0;

/// An entry of the legend.
struct Entry {
    sample: Sample,
    words: &'static str,
    in_plot: fn(&Plot) -> bool,
}

#[derive(Clone, Copy)]
enum Sample {
    Line(&'static str),
    Change,
    Double,
}

const ENTRIES: [Entry; 6] = [
    Entry {
        sample: Sample::Line("edge approval"),
        words: "a person must approve",
        in_plot: |plot| has_line(plot, EdgeStyle::Approval),
    },
    Entry {
        sample: Sample::Line("edge interrupt"),
        words: "interrupt and way back",
        in_plot: |plot| has_line(plot, EdgeStyle::Interrupt),
    },
    Entry {
        sample: Sample::Line("edge fallback"),
        words: "any event not written",
        in_plot: |plot| has_line(plot, EdgeStyle::Fallback),
    },
    Entry {
        sample: Sample::Line("edge taken"),
        words: "taken by the run",
        in_plot: |plot| plot.edges.iter().any(|edge| edge.taken > 0),
    },
    Entry {
        sample: Sample::Change,
        words: "can change things",
        in_plot: |plot| {
            let mut tools = plot.nodes.iter().flat_map(|node| &node.tools);
            tools.any(|tool| super::content::changes(tool))
        },
    },
    Entry {
        sample: Sample::Double,
        words: "an end",
        in_plot: |plot| {
            let mut nodes = plot.nodes.iter();
            nodes.any(|node| matches!(node.kind, Kind::Final(_) | Kind::Terminal))
        },
    },
];

fn has_line(plot: &Plot, line: EdgeStyle) -> bool {
    plot.edges.iter().any(|edge| edge.line == line)
}

/// Draws the legend below a page of this size; returns the size including it.
pub(super) fn draw(sheet: &mut Sheet, graph: &Graph, page: Size) -> Size {
    let right = page.width.max(420.0) - MARGIN;
    let mut at = Point {
        x: MARGIN,
        y: page.height + 4.0,
    };
    let mut rightmost = 0.0_f64;
    let entries = ENTRIES
        .iter()
        .filter(|entry| any_plot(graph, &entry.in_plot));
    for entry in entries {
        let wide = SAMPLE + 8.0 + width(entry.words, Face::LIMIT);
        if at.x > MARGIN && at.x + wide > right {
            at = Point {
                x: MARGIN,
                y: at.y + ROW,
            };
        }
        entry.sample.draw(sheet, at);
        let words = Point {
            x: at.x + SAMPLE + 8.0,
            y: at.y + 4.0,
        };
        sheet.text("limit", words, entry.words);
        rightmost = rightmost.max(at.x + wide);
        at.x += wide + BETWEEN;
    }
    Size {
        width: page.width.max(rightmost + MARGIN),
        height: at.y + MARGIN,
    }
}

impl Sample {
    fn draw(self, sheet: &mut Sheet, at: Point) {
        let area = Area {
            x: at.x + 6.0,
            y: at.y - 7.0,
            width: 22.0,
            height: 14.0,
        };
        match self {
            Self::Line(classes) => {
                sheet.open(Group {
                    what: GroupKind::Sample,
                    class: classes.to_owned(),
                    title: String::new(),
                });
                let (x, y) = (super::number(at.x), super::number(at.y));
                sheet.path("line", &format!("M{x} {y}h{SAMPLE}"));
                sheet.close();
            }
            Self::Change => sheet.rect("chip change", area, 4.0),
            Self::Double => {
                sheet.rect("box", area, 5.0);
                sheet.rect("inner", area.inset(2.5), 2.5);
            }
        }
    }
}
