//! The same graph shown differently: what is folded, opened or put together stays complete.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{event::TransitionKind, machine::Machine, names::FramePath};
use interlock_graph::{Graph, View};
use serde_json::{Value, json};

use crate::{
    marked::taken,
    own,
    scene::{items, standing},
};

/// The nodes of a machine shown so, by key, and its edges.
struct Shown {
    nodes: BTreeMap<String, Value>,
    edges: Vec<Value>,
    /// Every id, also of what is drawn as one with another.
    ids: BTreeSet<String>,
}

fn shown(machine: &Machine, view: &View) -> Shown {
    let scene = Graph::of(machine, None, &[]).viewed(view).scene();
    let mut shown = Shown {
        nodes: BTreeMap::new(),
        edges: Vec::new(),
        ids: BTreeSet::new(),
    };
    for item in items(&scene) {
        let kind = item["group"].as_str().unwrap_or_default();
        if !matches!(kind, "node" | "edge") {
            continue;
        }
        let also = item["also"].as_array().into_iter().flatten();
        for id in also.chain([&item["id"]]).filter_map(Value::as_str) {
            assert!(shown.ids.insert(id.to_owned()), "{id} stands twice");
        }
        if kind == "edge" {
            shown.edges.push(item.clone());
        } else if let Some(key) = item["key"].as_str() {
            let before = shown.nodes.insert(key.to_owned(), item.clone());
            assert!(before.is_none(), "`{key}` stands twice");
        }
    }
    shown
}

impl Shown {
    /// Returns the keys of the nodes that can be opened or folded, and whether they are open.
    fn folds(&self, what: &str) -> Vec<(String, bool)> {
        let of = |(key, node): (&String, &Value)| {
            let open = node["fold"]["open"].as_bool()?;
            (node["fold"]["what"] == what).then(|| (key.clone(), open))
        };
        self.nodes.iter().filter_map(of).collect()
    }

    fn has(&self, key: &str) -> bool {
        self.nodes.contains_key(key)
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_folded_fork_hides_its_branches_and_keeps_their_ids() {
    let machine = own("branches");
    let plain = shown(&machine, &View::default());
    let forks = plain.folds("fork");
    assert_eq!(forks.len(), 2, "{forks:?}");
    assert!(forks.iter().all(|(_, open)| *open));
    for state in [
        "lint_run",
        "probe_run",
        "slow_run",
        "suite",
        "suite-of-tests>unit",
    ] {
        assert!(plain.has(state), "{state}");
    }
    for (fork, hidden) in [
        (&forks[0].0, &["lint_run", "probe_run", "slow_run"][..]),
        (&forks[1].0, &["slow_run", "fast_run"]),
    ] {
        let view = View {
            folded: set(&[fork.as_str()]),
            ..View::default()
        };
        let folded = shown(&machine, &view);
        assert!(
            folded.folds("fork").contains(&(fork.clone(), false)),
            "{fork}"
        );
        for state in hidden {
            assert!(!folded.has(state), "{fork}: {state}");
        }
        assert!(folded.has("suite"), "{fork}");
        let nodes = |shown: &Shown| -> BTreeSet<String> {
            let also = |node: &Value| node["also"].as_array().cloned().unwrap_or_default();
            let all = shown
                .nodes
                .values()
                .flat_map(|node| [vec![node["id"].clone()], also(node)]);
            let ids = all
                .flatten()
                .filter_map(|id| id.as_str().map(str::to_owned));
            ids.collect()
        };
        let lost: Vec<String> = nodes(&plain).difference(&nodes(&folded)).cloned().collect();
        assert!(lost.is_empty(), "{fork}: {lost:?}");
    }
}

#[test]
fn an_opened_call_has_its_machine_inside_and_nowhere_else() {
    let machine = own("branches");
    let plain = shown(&machine, &View::default());
    let calls = plain.folds("call");
    let [(call, false)] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    let view = View {
        opened: set(&[call.as_str()]),
        ..View::default()
    };
    let opened = shown(&machine, &view);
    assert_eq!(opened.folds("call"), [(call.clone(), true)]);
    let number = opened.nodes[call]["id"].as_str().unwrap();
    assert_eq!(plain.nodes[call]["id"], number);
    for state in ["unit", "passed", "failed"] {
        assert!(!opened.has(&format!("suite-of-tests>{state}")), "{state}");
        let inner = &opened.nodes[&format!("{call}>{state}")]["id"];
        let alone = &plain.nodes[&format!("suite-of-tests>{state}")]["id"];
        let (inner, alone) = (inner.as_str().unwrap(), alone.as_str().unwrap());
        assert_eq!(inner, format!("{number}>{alone}"), "{state}");
    }
    // Another call that is not opened needs the machine beside it.
    let other = View {
        opened: set(&["no such call"]),
        ..View::default()
    };
    assert!(shown(&machine, &other).has("suite-of-tests>unit"));
}

#[test]
fn states_put_together_keep_their_ways_in_and_out() {
    let machine = own("ship");
    let plain = shown(&machine, &View::default());
    let view = View {
        groups: vec![set(&["check", "mend"])],
        ..View::default()
    };
    let grouped = shown(&machine, &view);
    let one = &grouped.nodes["check\nmend"];
    assert_eq!(one["fold"], json!({"what": "group", "open": false}));
    assert!(!grouped.has("check") && !grouped.has("mend"));
    assert_eq!(grouped.nodes.len(), plain.nodes.len() - 1);
    let number = |state: &str| plain.nodes[state]["id"].as_str().unwrap();
    let members = [number("check"), number("mend")];
    assert_eq!(
        (&one["id"], &one["also"]),
        (&json!(members[0]), &json!([members[1]]))
    );

    let is_member = |end: &Value| members.iter().any(|member| end == member);
    let mut inside = 0;
    for edge in &plain.edges {
        let within = is_member(&edge["from"]) && is_member(&edge["to"]);
        inside += usize::from(within);
        let id = edge["id"].as_str().unwrap();
        let kept = grouped.ids.contains(id);
        assert_eq!(kept, !within, "{edge}");
    }
    assert!(inside > 0, "some transitions are between the two");
    for edge in &grouped.edges {
        let told = format!("{edge}");
        for (end, other) in [("from", "to"), ("to", "from")] {
            assert_ne!(edge[end], json!(members[1]), "{told}");
            assert!(edge[end] != one["id"] || edge[other] != one["id"], "{told}");
        }
    }
    let taken = |ends: (&str, &str)| {
        let is = |edge: &&Value| edge["from"] == ends.0 && edge["to"] == ends.1;
        grouped.edges.iter().filter(is).count()
    };
    assert!(taken((number("survey"), members[0])) > 0);
    assert!(taken((members[0], number("release"))) > 0);
    // Both lead to `broken`, and are drawn as one.
    assert_eq!(taken((members[0], number("broken"))), 1);
}

#[test]
fn a_group_of_one_or_of_nothing_changes_nothing() {
    let machine = own("ship");
    let plain = Graph::of(&machine, None, &[]).viewed(&View::default());
    for names in [&["check"][..], &["check", "no such state"], &[]] {
        let view = View {
            groups: vec![set(names)],
            ..View::default()
        };
        let grouped = Graph::of(&machine, None, &[]).viewed(&view);
        assert_eq!(grouped.scene(), plain.scene(), "{names:?}");
    }
}

#[test]
fn a_group_is_marked_as_its_states_are() {
    let machine = own("ship");
    let (run, mut events) = standing();
    // Both ways are drawn as one, and each was taken.
    for (from, event) in [("check", "JUDGE"), ("mend", "FAIL")] {
        let root = FramePath::root();
        events.push(taken(&root, from, event, "broken", TransitionKind::Written));
    }
    let plain = Graph::of(&machine, Some(&run), &events);
    let number = shown(&machine, &View::default()).nodes["check"]["id"].clone();
    let number = number.as_str().unwrap();
    let view = View {
        groups: vec![set(&["check", "mend"])],
        ..View::default()
    };
    let grouped = plain.clone().viewed(&view).marks();
    let mark = |marks: &Value| marks["nodes"][number].clone();
    assert_eq!(mark(&grouped)["here"], json!(1));
    assert_eq!(mark(&grouped), mark(&plain.marks()));
    let count = |marks: &Value| -> u64 {
        let edges = marks["edges"].as_object().unwrap().values();
        edges.filter_map(Value::as_u64).sum()
    };
    assert_eq!(count(&plain.marks()), 4);
    assert_eq!(count(&grouped), 4);
}
