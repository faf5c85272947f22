//! The scene as JSON has the same content as the SVG, and the marks of a run refer to its parts.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    event::{Event, TransitionKind},
    names::FramePath,
    run::Run,
};
use interlock_graph::{Graph, Trace};
use roxmltree::Document;
use serde_json::Value;

use crate::{
    OWN,
    marked::{frame, run, started, taken},
    own,
};

/// Lists all items of a scene, in all groups.
pub(crate) fn items(scene: &Value) -> Vec<&Value> {
    let mut open: Vec<&Value> = scene["items"].as_array().unwrap().iter().collect();
    let mut all = Vec::new();
    while let Some(item) = open.pop() {
        open.extend(item["items"].as_array().into_iter().flatten());
        all.push(item);
    }
    all
}

/// Returns the name or the ends of each numbered node and edge.
fn numbered(scene: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in items(scene) {
        let kind = item["group"].as_str().unwrap_or_default();
        if let (Some(id), "node" | "edge") = (item["id"].as_str(), kind) {
            let told = format!("{kind} {} {} {}", item["name"], item["from"], item["to"]);
            assert!(
                found.insert(id.to_owned(), told).is_none(),
                "{id} stands twice"
            );
        }
    }
    found
}

#[test]
fn it_has_every_shape_of_the_svg() {
    for name in OWN {
        let graph = Graph::of(&own(name), None, &[]);
        let (scene, svg) = (graph.scene(), graph.svg());
        let document = Document::parse(&svg).unwrap();
        for (tag, key) in [
            ("circle", "circle"),
            ("text", "text"),
            ("path", "path"),
            ("rect", "rect"),
        ] {
            let drawn = document.descendants().filter(|node| node.has_tag_name(tag));
            // The background page belongs to the viewer.
            let drawn = drawn
                .filter(|node| node.attribute("class") != Some("page"))
                .count();
            let told = items(&scene)
                .iter()
                .filter(|item| !item[key].is_null())
                .count();
            assert_eq!(told, drawn, "{name}: {tag}");
        }
        let root = document.root_element();
        for side in ["width", "height"] {
            let wanted: f64 = root.attribute(side).unwrap().parse().unwrap();
            assert_eq!(scene[side].as_f64(), Some(wanted), "{name}: {side}");
        }
    }
}

/// Returns a run of `ship` in its second state.
pub(crate) fn standing() -> (Run, Vec<Event>) {
    let root = FramePath::root();
    let moved = taken(&root, "survey", "READY", "check", TransitionKind::Written);
    (run(frame("check")), vec![started("survey"), moved])
}

#[test]
fn marks_name_parts_of_the_unmarked_picture() {
    let machine = own("ship");
    let (run, events) = standing();
    let plain = Graph::of(&machine, None, &[]);
    let marked = Graph::of(&machine, Some(&run), &events);
    let parts = numbered(&plain.scene());
    assert_eq!(
        parts,
        numbered(&marked.scene()),
        "the numbers are those of the machine"
    );
    let marks = marked.marks();
    let nodes = marks["nodes"].as_object().unwrap();
    let named = |wanted: &str| -> BTreeSet<&str> {
        let fits = |(_, mark): &(&String, &Value)| {
            mark[wanted].as_bool() == Some(true) || mark[wanted].as_u64() > Some(0)
        };
        nodes
            .iter()
            .filter(fits)
            .map(|(id, _)| parts[id].as_str())
            .collect()
    };
    assert!(
        named("here").iter().all(|part| part.contains("\"check\"")),
        "{marks:#}"
    );
    assert_eq!(
        (named("here").len(), named("visited").len()),
        (1, 2),
        "{marks:#}"
    );
    let edges = marks["edges"].as_object().unwrap();
    assert_eq!(edges.len(), 2, "{marks:#}");
    assert!(
        edges.keys().all(|id| parts[id].starts_with("edge")),
        "{marks:#}"
    );
    assert_eq!(
        plain.marks(),
        serde_json::json!({ "nodes": {}, "edges": {} })
    );
}

#[test]
fn events_may_be_followed_one_by_one() {
    let machine = own("ship");
    let (run, events) = standing();
    let mut trace = Trace::default();
    for (index, event) in events.iter().enumerate() {
        trace.follow(event);
        let at_once = Graph::of(&machine, Some(&run), &events[..=index]);
        assert_eq!(
            Graph::at(&machine, Some(&run), &trace).marks(),
            at_once.marks()
        );
    }
}
