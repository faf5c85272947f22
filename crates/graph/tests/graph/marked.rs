//! The marks of a run: its current states, and its path.

use interlock_core::{
    event::{
        About, BranchStart, Event, Merged, PendingTransition, RegionKind, RegionOutcome,
        RegionsStart, TransitionKind,
    },
    machine::Object,
    names::FramePath,
    run::{Frame, Phase, Region, Request, Run, RunKind},
};
use interlock_graph::Graph;
use roxmltree::Document;

use crate::own;

pub(crate) fn frame(at: &str) -> Frame {
    Frame::entering(None, at.into(), std::sync::Arc::default(), 0, 0)
}

pub(crate) fn run(root: Frame) -> Run {
    Run {
        phase: Phase::Open,
        root,
        ..Run::new("r".into())
    }
}

pub(crate) fn started(initial: &str) -> Event {
    Event::RunStarted {
        run: "r".into(),
        machine: "m".into(),
        hash: String::new(),
        initial: initial.into(),
        context: Object::new(),
        by: "me".to_owned(),
        at_ms: 0,
        kind: RunKind::Guarded,
    }
}

pub(crate) fn taken(
    path: &FramePath,
    from: &str,
    event: &str,
    to: &str,
    how: TransitionKind,
) -> Event {
    Event::TransitionTaken {
        path: path.clone(),
        event: event.into(),
        from: from.into(),
        to: to.into(),
        how,
        data: Object::new(),
        by: "agent".to_owned(),
        at_ms: 0,
    }
}

/// Returns the classes of the groups whose title begins with `title`.
fn classes(text: &str, title: &str) -> Vec<String> {
    let document = Document::parse(text).unwrap();
    let titles = document
        .descendants()
        .filter(|node| node.has_tag_name("title"))
        .filter(|node| node.text().is_some_and(|text| text.starts_with(title)));
    titles
        .filter_map(|node| node.parent_element()?.attribute("class").map(str::to_owned))
        .filter(|classes| classes != "label")
        .collect()
}

/// Returns the classes of nodes only, without edges.
fn nodes(text: &str, title: &str) -> Vec<String> {
    let mut found = classes(text, title);
    found.retain(|classes| classes.starts_with("node"));
    found
}

#[test]
fn the_state_it_stands_in_and_the_edges_it_took_are_marked() {
    let root = FramePath::root();
    let events = [
        started("survey"),
        taken(&root, "survey", "OTHER", "check", TransitionKind::SafeNext),
        taken(&root, "check", "JUDGE", "mend", TransitionKind::Written),
        taken(&root, "mend", "DONE", "check", TransitionKind::Written),
        taken(&root, "check", "JUDGE", "mend", TransitionKind::Written),
    ];
    let graph = Graph::of(&own("ship"), Some(&run(frame("mend"))), &events);
    let svg = graph.svg();
    assert_eq!(classes(&svg, "mend – here"), ["node state visited here"]);
    assert_eq!(classes(&svg, "check – "), ["node state visited"]);
    assert_eq!(classes(&svg, "release – "), ["node state"]);
    assert_eq!(
        classes(&svg, "survey → check"),
        ["edge", "edge fallback taken"]
    );
    assert_eq!(classes(&svg, "check → mend"), ["edge taken"]);
    assert_eq!(classes(&svg, "check → broken"), ["edge"]);
    assert!(svg.contains("JUDGE ×2") && svg.contains("the run stands in mend"));
    assert!(graph.mermaid().contains("▶ here<br/>mend"));
    assert!(graph.dot().contains("▶ here\\nmend"));
}

#[test]
fn what_waits_for_a_person_says_so() {
    let mut parked = frame("release");
    parked.stay.request = Some(Box::new(Request {
        seq: 0,
        path: FramePath::root(),
        entered_seq: 0,
        about: About::Transition(PendingTransition {
            event: "DONE".into(),
            index: 0,
            data: Object::new(),
            message: String::new(),
            by: "agent".to_owned(),
        }),
        question: "q".into(),
        prompt: None,
        approval: interlock_core::event::ApprovalKind::Person,
        at_ms: 0,
        granted: None,
    }));
    let svg = Graph::of(&own("ship"), Some(&run(parked)), &[]).svg();
    assert_eq!(classes(&svg, "release – waits for approval").len(), 1);
}

#[test]
fn every_open_branch_and_called_machine_is_marked() {
    let child = |name: &str, frame| std::sync::Arc::new(Region::open(name, frame));
    let forked = Frame {
        regions: vec![
            child("lint", frame("lint_run")),
            child("probe", frame("probe_run")),
        ],
        ..frame("build#BUILT")
    };
    let events = [
        started("build"),
        taken(
            &FramePath::root(),
            "build",
            "BUILT",
            "build#BUILT",
            TransitionKind::Written,
        ),
        Event::RegionsStarted {
            path: FramePath::root(),
            start: RegionsStart::Branches(
                ["lint_run", "probe_run"]
                    .map(|initial| BranchStart {
                        name: initial.to_owned(),
                        initial: initial.into(),
                    })
                    .into(),
            ),
        },
    ];
    let svg = Graph::of(&own("branches"), Some(&run(forked)), &events).svg();
    assert_eq!(
        classes(&svg, "lint_run – here"),
        ["node state visited here"]
    );
    assert_eq!(
        classes(&svg, "probe_run – here"),
        ["node state visited here"]
    );
    assert_eq!(
        nodes(&svg, "fork, joins when all"),
        ["node fork visited here"]
    );

    let called = Frame {
        regions: vec![child(
            "suite-of-tests",
            Frame {
                machine: Some("suite-of-tests".into()),
                ..frame("failed")
            },
        )],
        ..frame("suite#RUN")
    };
    let svg = Graph::of(&own("branches"), Some(&run(called)), &[]).svg();
    // The state with that name in the called machine, not the caller's.
    assert_eq!(classes(&svg, "failed – ends with failure – here").len(), 1);
    assert_eq!(nodes(&svg, "calls suite-of-tests"), ["node state here"]);
}

#[test]
fn a_run_that_has_not_begun_marks_nothing() {
    let fresh = Run::new("r".into());
    let machine = own("ship");
    assert_eq!(
        Graph::of(&machine, Some(&fresh), &[]).svg(),
        Graph::of(&machine, None, &[]).svg()
    );
}

/// Returns a chain `a`, `b` whose end is an event of `b`, with branches or a called machine in between.
fn steps(text: &str) -> interlock_core::machine::Machine {
    let source = interlock_formats::Source::new("steps.yaml", text);
    let loaded = interlock_formats::load(&source, None, &interlock_formats::NoWorkflows);
    loaded.unwrap().machine
}

fn ended(path: &FramePath, ok: bool) -> Event {
    let error = (!ok).then(|| interlock_core::event::Cause::new(1, "no"));
    Event::ActivityEnded {
        path: path.clone(),
        output: serde_json::Value::Null,
        error,
        key: None,
        stderr: String::new(),
    }
}

#[test]
fn the_way_out_of_a_run_and_of_its_items_is_marked() {
    let machine = steps(
        "start-at: each
states:
  each:
    tool: for-each
    arguments:
      items-from: ls
      start-at: one
      states: {one: {tool: bash, arguments: {command: ls}}}
    next: last
  last: {tool: bash, arguments: {command: ls}}
",
    );
    let root = FramePath::root();
    let items = machine.states.get_index(1).unwrap().0.clone();
    let inner = machine.machines.keys().next().unwrap().clone();
    let mut events = vec![
        started("each"),
        ended(&root, true),
        taken(
            &root,
            "each",
            "done",
            items.as_str(),
            TransitionKind::Written,
        ),
    ];
    for index in 0..2 {
        events.extend([
            Event::RegionsStarted {
                path: root.clone(),
                start: RegionsStart::Line {
                    index,
                    machine: inner.clone(),
                    initial: "one".into(),
                    keys: ("item".to_owned(), "index".to_owned()),
                    at_ms: 0,
                },
            },
            ended(&root.child(&index.to_string()), true),
            Event::RegionEnded {
                path: root.child(&index.to_string()),
                kind: RegionKind::Line,
                outcome: RegionOutcome::Succeeded,
                exits: Vec::new(),
                cause: None,
            },
        ]);
    }
    events.extend([
        Event::Joined {
            path: root.clone(),
            lines: Vec::new(),
            outcome: interlock_core::machine::Outcome::Success,
            merged: Merged::default(),
            failed: 0,
            cause: None,
            next: None,
            may_part: false,
        },
        taken(
            &root,
            items.as_str(),
            "done",
            "last",
            TransitionKind::Written,
        ),
        ended(&root, true),
        Event::RunEnded {
            outcome: interlock_core::machine::Outcome::Success,
            cause: None,
        },
    ]);
    let over = Run {
        phase: Phase::Ended {
            outcome: interlock_core::machine::Outcome::Success,
            cause: None,
        },
        ..run(frame("last"))
    };
    let svg = Graph::of(&machine, Some(&over), &events).svg();
    assert_eq!(classes(&svg, "last → end"), ["edge taken"]);
    assert_eq!(classes(&svg, "one → end"), ["edge taken"]);
    assert!(svg.contains("done ×2"), "both items took it");
    assert!(svg.contains("the run ended in last"), "{svg}");
    assert_eq!(nodes(&svg, "one"), ["node state visited"]);
}
