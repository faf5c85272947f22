//! Requirements for every picture: all names are included, it is well-formed, and nothing overlaps.

use interlock_core::machine::Machine;
use interlock_graph::{ColourScheme, Graph};
use roxmltree::{Document, Node};

use crate::{OWN, machine, own};

/// A rectangle in a picture.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn of(rect: Node<'_, '_>) -> Self {
        let number = |name| rect.attribute(name).unwrap().parse::<f64>().unwrap();
        let (left, top) = (number("x"), number("y"));
        Self {
            left,
            top,
            right: left + number("width"),
            bottom: top + number("height"),
        }
    }

    /// Returns whether they share more than an edge; coordinates in a picture are rounded to a tenth.
    fn meets(self, other: Self) -> bool {
        self.left + 0.2 < other.right
            && other.left + 0.2 < self.right
            && self.top + 0.2 < other.bottom
            && other.top + 0.2 < self.bottom
    }

    fn holds(self, other: Self) -> bool {
        self.left - 0.2 <= other.left
            && self.top - 0.2 <= other.top
            && self.right + 0.2 >= other.right
            && self.bottom + 0.2 >= other.bottom
    }
}

/// Returns the rectangles with a class, except those in the legend.
fn areas(document: &Document<'_>, class: &str) -> Vec<Area> {
    let rects = document.descendants().filter(|node| {
        node.has_tag_name("rect")
            && node.attribute("class") == Some(class)
            && node
                .parent()
                .and_then(|parent| parent.attribute("class"))
                .is_some()
            && node.parent().is_some_and(|parent| parent.has_tag_name("g"))
    });
    rects.map(Area::of).collect()
}

/// Draws `machine` and checks the requirements for every picture.
pub(crate) fn check(machine: &Machine) -> String {
    let text = Graph::of(machine, None, &[]).svg();
    let document = Document::parse(&text).expect("the picture is well-formed");
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    assert!(root.first_element_child().unwrap().has_tag_name("title"));
    let told: Vec<&str> = document
        .descendants()
        .filter(|node| node.has_tag_name("title"))
        .filter_map(|node| node.text())
        .collect();
    for one in std::iter::once(machine).chain(machine.machines.values()) {
        for (name, state) in &one.states {
            let shown = plain(name.as_str());
            assert!(
                state.shown_as.is_some() || told.iter().any(|told| told.starts_with(&shown)),
                "the state {shown:?} is missing"
            );
            for event in state.on.keys() {
                let shown = plain(event.as_str());
                assert!(
                    told.iter()
                        .any(|told| told.contains(&format!(" – {shown}"))),
                    "the event {shown:?} is missing"
                );
            }
        }
    }
    check_places(&document);
    text
}

/// Returns a name as pictures show it: on one line, without invisible characters.
fn plain(name: &str) -> String {
    interlock_core::visible::visible(&name.replace(['\n', '\t'], " "))
}

fn check_places(document: &Document<'_>) {
    let boxes = areas(document, "box");
    let frames: Vec<Area> = ["frame", "lane"]
        .iter()
        .flat_map(|class| areas(document, class))
        .collect();
    let labels: Vec<Area> = ["pill", "behind"]
        .iter()
        .flat_map(|class| areas(document, class))
        .collect();
    for (index, one) in boxes.iter().enumerate() {
        for other in boxes.iter().skip(index + 1) {
            assert!(!one.meets(*other), "{one:?} lies upon {other:?}");
        }
        for label in &labels {
            assert!(!one.meets(*label), "the label {label:?} lies upon {one:?}");
        }
    }
    for frame in &frames {
        for inner in boxes.iter().chain(&labels).chain(&frames) {
            let nested = frame.holds(*inner) || inner.holds(*frame);
            assert!(
                nested || !frame.meets(*inner),
                "{inner:?} crosses {frame:?}"
            );
        }
    }
    for (index, one) in labels.iter().enumerate() {
        for other in labels.iter().skip(index + 1) {
            assert!(!one.meets(*other), "the label {one:?} lies upon {other:?}");
        }
    }
}

#[test]
fn every_name_is_there_and_nothing_lies_upon_anything_else() {
    for name in OWN {
        check(&own(name));
    }
    for name in [
        "bugfix",
        "feature",
        "migration",
        "refactor",
        "release",
        "research",
        "review",
    ] {
        check(&machine(&format!("../../workflows/{name}.yaml")));
    }
}

#[test]
fn a_scheme_decides_the_colours() {
    let graph = Graph::of(&own("ship"), None, &[]);
    let asks = |text: &str| text.contains("prefers-color-scheme:dark");
    assert!(asks(&graph.svg()));
    let [light, dark] = [ColourScheme::Light, ColourScheme::Dark].map(|to| graph.svg_in(to));
    assert!(!asks(&light) && !asks(&dark));
    assert_ne!(light, dark);
}

#[test]
fn success_and_failure_differ_without_colour() {
    let text = Graph::of(&own("ship"), None, &[]).svg();
    let document = Document::parse(&text).unwrap();
    let end = |class: &str| {
        let group = document.descendants().find(|node| {
            let classes = node.attribute("class").unwrap_or_default();
            node.has_tag_name("g") && classes.split(' ').any(|found| found == class)
        });
        let group = group.unwrap();
        let frames = group
            .children()
            .filter(|node| node.has_tag_name("rect"))
            .count();
        let sign = group.children().find(|node| node.has_tag_name("path"));
        let way = sign.and_then(|sign| sign.attribute("d")).unwrap();
        // The text after the place is the shape.
        let shape = way.split_once(" m").unwrap().1.to_owned();
        (frames, shape)
    };
    let (success, failure) = (end("success"), end("failure"));
    assert_eq!((success.0, failure.0), (2, 2));
    assert_ne!(success.1, failure.1);
}

#[test]
fn what_a_person_must_approve_and_interrupts_are_marked() {
    let marked = |name: &str, class: &str| {
        let text = Graph::of(&own(name), None, &[]).svg();
        text.contains(&format!("<g class=\"edge {class}\">"))
    };
    assert!(marked("ship", "approval") && marked("ship", "fallback"));
    assert!(marked("detour", "interrupt") && !marked("detour", "approval"));
}

#[test]
fn branches_lie_inside_their_fork_and_called_machines_are_named() {
    let text = Graph::of(&own("branches"), None, &[]).svg();
    let document = Document::parse(&text).unwrap();
    let inside = |group: Node<'_, '_>, name: &str| {
        let mut titles = group
            .descendants()
            .filter(|node| node.has_tag_name("title"));
        titles.any(|title| title.text().unwrap_or_default().starts_with(name))
    };
    let fork = document
        .descendants()
        .find(|node| node.attribute("class") == Some("node fork"))
        .unwrap();
    for name in ["lint_run", "probe_run", "slow_run", "fast_done"] {
        assert!(inside(fork, name), "{name} is not in the fork");
    }
    assert!(!inside(fork, "suite") && !inside(fork, "finished"));
    assert!(text.contains("calls suite-of-tests") && text.contains("machine suite-of-tests"));
}
