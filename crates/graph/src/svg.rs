//! A picture drawn here, without any other program.
//!
//! `shape` and `label` measure, `figure` lays out, `sheet` writes.
//! Everything that a viewer can point at has its full text in a `<title>`.

mod content;
mod figure;
mod label;
mod legend;
mod scene;
mod shape;
mod sheet;
mod shorten;
mod text;
mod theme;

use interlock_core::machine::Outcome;

use crate::{
    graph::Graph,
    layout::{Point, Size},
    plot::{Kind, Plot},
};
use figure::Figure;
use sheet::{Area, Group, GroupKind, Sheet, number};
use text::{Face, escaped, fit, width};

/// The colours an SVG is drawn in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColourScheme {
    /// Light or dark, as the viewer prefers.
    #[default]
    Viewer,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// Space around everything, and between the machines.
const MARGIN: f64 = 28.0;

/// Space within the frame of a called machine, and for its name.
const PANEL_PAD: f64 = 20.0;
const PANEL_HEAD: f64 = 34.0;

/// The width up to which called machines are placed side by side.
const ROW_WIDTH: f64 = 1_100.0;

impl Graph {
    /// Draws an SVG that follows the light or dark scheme of the viewer.
    #[must_use]
    pub fn svg(&self) -> String {
        self.svg_in(ColourScheme::Viewer)
    }

    /// Draws an SVG in the colours of `scheme`.
    #[must_use]
    pub fn svg_in(&self, scheme: ColourScheme) -> String {
        draw(self, scheme)
    }
}

/// Draws `graph` in the colours of `scheme`.
fn draw(graph: &Graph, scheme: ColourScheme) -> String {
    let (body, size) = sheet_of(graph);
    let [wide, high] = [size.width, size.height].map(|length| number(length.ceil()));
    let class = scheme.class();
    let title = escaped(&format!("Workflow {}", graph.title));
    let described = escaped(&described(graph));
    let style = theme::style(scheme);
    let body = body.svg();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" role=\"img\" \
         aria-label=\"{title}\" width=\"{wide}\" height=\"{high}\" \
         viewBox=\"0 0 {wide} {high}\">\n<title>{title}</title>\n<desc>{described}</desc>\n\
         <style>{style}</style>\n\
         <rect class=\"page\" width=\"{wide}\" height=\"{high}\" rx=\"0\"/>\n{body}</svg>\n"
    )
}

/// Draws `graph`, and returns the picture and its size.
fn sheet_of(graph: &Graph) -> (Sheet, Size) {
    let mut body = Sheet::default();
    let mut page = Page::new(graph, &mut body);
    for panel in &graph.panels {
        let figure = Figure::of(panel.plot.clone());
        match &panel.called {
            None => page.outermost(&mut body, &figure),
            Some(id) => page.called(&mut body, &figure, id),
        }
    }
    page.end_row();
    let size = legend::draw(&mut body, graph, page.size());
    (body, size)
}

/// Describes the picture in one sentence, for those who do not see it.
fn described(graph: &Graph) -> String {
    let Some(panel) = graph.panels.first() else {
        return String::new();
    };
    let nodes = &panel.plot.nodes;
    let states = nodes
        .iter()
        .filter(|node| !matches!(node.kind, Kind::Start | Kind::Anywhere | Kind::Reference(_)));
    let titled = |wanted: Kind| -> Vec<&str> {
        let found = nodes.iter().filter(|node| node.kind == wanted);
        found.map(|node| node.title.as_str()).collect()
    };
    let mut words = format!("{} states", states.count());
    for (how, outcome) in [("success", Outcome::Success), ("failure", Outcome::Failure)] {
        let ends = titled(Kind::Final(outcome));
        if !ends.is_empty() {
            words.push_str(&format!("; ends with {how} in {}", ends.join(", ")));
        }
    }
    let here: Vec<&str> = nodes
        .iter()
        .filter(|node| node.standing.here > 0 || node.standing.inside)
        .map(|node| node.title.as_str())
        .collect();
    if !here.is_empty() {
        let over = nodes.iter().any(|node| node.standing.over);
        let verb = if over { "ended" } else { "stands" };
        words.push_str(&format!("; the run {verb} in {}", here.join(", ")));
    }
    words
}

/// Where the next machine goes.
struct Page {
    /// The lowest and rightmost points so far.
    size: Size,
    /// The upper left corner of the next machine.
    next: Point,
    /// The height of the row of machines that is being filled.
    row: f64,
}

impl Page {
    /// Starts a page with the heading.
    fn new(graph: &Graph, sheet: &mut Sheet) -> Self {
        let title = fit(&graph.title, Face::HEADING, 640.0);
        let mut y = MARGIN + 16.0;
        sheet.text("heading", Point { x: MARGIN, y }, &title);
        let mut wide = width(&title, Face::HEADING);
        if !graph.about.is_empty() {
            let about = fit(&graph.about.join(" · "), Face::NOTE, 640.0);
            wide = wide.max(width(&about, Face::NOTE));
            y += 20.0;
            sheet.text("note", Point { x: MARGIN, y }, &about);
        }
        Self {
            size: Size {
                width: wide,
                height: y + 22.0,
            },
            next: Point {
                x: MARGIN,
                y: y + 22.0,
            },
            row: 0.0,
        }
    }

    fn outermost(&mut self, sheet: &mut Sheet, figure: &Figure) {
        let size = figure.size();
        figure.draw(sheet, self.next);
        self.size.width = self.size.width.max(size.width);
        self.next.y += size.height + MARGIN;
        self.size.height = self.next.y;
    }

    /// Draws a called machine in a frame of its own, next to the previous one if there is room.
    fn called(&mut self, sheet: &mut Sheet, figure: &Figure, id: &str) {
        let heading = fit(&format!("machine {id}"), Face::TITLE, 400.0);
        let inside = figure.size();
        let area = Area {
            x: self.next.x,
            y: self.next.y,
            width: inside.width.max(width(&heading, Face::TITLE)) + 2.0 * PANEL_PAD,
            height: inside.height + PANEL_HEAD + PANEL_PAD,
        };
        let limit = self.size.width.max(ROW_WIDTH);
        if area.x > MARGIN && area.x + area.width > limit + MARGIN {
            self.end_row();
            self.called(sheet, figure, id);
            return;
        }
        sheet.open(Group {
            what: GroupKind::Machine,
            class: "machine".to_owned(),
            title: heading.clone(),
        });
        sheet.rect("lane", area, 12.0);
        let at = Point {
            x: area.x + PANEL_PAD,
            y: area.y + 22.0,
        };
        sheet.text("title", at, &heading);
        let corner = Point {
            x: area.x + PANEL_PAD,
            y: area.y + PANEL_HEAD,
        };
        figure.draw(sheet, corner);
        sheet.close();
        self.next.x += area.width + MARGIN;
        self.row = self.row.max(area.height);
        self.size.width = self.size.width.max(area.x + area.width - MARGIN);
    }

    /// Continues below the machines that are side by side.
    fn end_row(&mut self) {
        if self.row > 0.0 {
            self.next = Point {
                x: MARGIN,
                y: self.next.y + self.row + MARGIN,
            };
            self.row = 0.0;
            self.size.height = self.next.y;
        }
    }

    /// Returns the size of the page so far, its margins included.
    fn size(&self) -> Size {
        Size {
            width: self.size.width + 2.0 * MARGIN,
            height: self.size.height,
        }
    }
}

/// Returns whether `wanted` is true for any plot of `graph`, branches included.
fn any_plot(graph: &Graph, wanted: &dyn Fn(&Plot) -> bool) -> bool {
    let mut open: Vec<&Plot> = graph.panels.iter().map(|panel| &panel.plot).collect();
    while let Some(plot) = open.pop() {
        if wanted(plot) {
            return true;
        }
        let branches = plot.nodes.iter().flat_map(|node| &node.branches);
        open.extend(branches.map(|branch| &branch.plot));
    }
    false
}
