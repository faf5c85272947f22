//! The files of a machine, and their places in a plan.

use std::path::PathBuf;

use interlock_confine::{AllowedLine, Decided, plan};
use interlock_core::{
    LineConfinement,
    facts::{ShellFacts, SimpleCommand, Word},
    machine::{Limits, Machine},
    names::FramePath,
    policy::{CommandEntry, Policy, Stance},
};
use interlock_facts::{CallContext, RealDisk};
use serde_json::{Value, json};

/// Returns a machine with an interrupt and a report in the folder with its name.
fn machine(name: &str, called: &Value) -> Value {
    let make = json!({"command": {"text": "make", "words": ["make"], "exit": 0}});
    let source = json!({"format": "junit", "path": format!("{name}/reports/r.xml")});
    json!({
        "id": name, "initial": "a", "limits": Limits::default(), "machines": called,
        "guards": {"g": {"evidence": {
            "of": make,
            "report": {"source": source, "passed": {"count": 1}, "none_removed": false},
        }}},
        "interrupts": {"i": {"file_pattern": format!("{name}/*"), "target": "a"}},
        "states": {"a": {}},
    })
}

#[test]
fn what_a_called_machine_says_of_files_counts_as_what_its_caller_says() {
    let called = json!({"one": machine("one", &json!({})), "two": machine("two", &json!({}))});
    let machine: Machine = serde_json::from_value(machine("outer", &called)).unwrap();
    let policy = Policy {
        allowed_tools: Some(vec!["Bash".to_owned()]),
        allowed_commands: Some(vec![CommandEntry {
            text: "make".to_owned(),
            words: vec!["make".to_owned()],
        }]),
        ..Policy::default()
    };
    let make = SimpleCommand {
        words: vec![Word::Literal("make".to_owned())],
        ..SimpleCommand::default()
    };
    let facts = ShellFacts {
        commands: vec![make.clone()],
        ..ShellFacts::default()
    };
    let confinement = LineConfinement {
        path: FramePath::root(),
        policy: &policy,
        stance: Stance::NoWrite,
        listed: vec![&make],
        by_person: false,
        reads: false,
        contained: false,
        nothing: false,
        fetches: false,
        probes: Vec::new(),
    };
    let line = AllowedLine {
        text: "make",
        directory: "/p",
        facts: &facts,
        confinement: &confinement,
        machine: &machine,
        context: &CallContext::of_project("/p"),
        decided: &Decided::default(),
    };
    let plan = plan(&line, &RealDisk);
    assert_eq!(plan.post_check.reported, ["outer/*", "one/*", "two/*"]);
    let writable = plan.confinement.unwrap().writable;
    let places: Vec<PathBuf> = writable.into_iter().map(|place| place.path).collect();
    for name in ["outer", "one", "two"] {
        let place = PathBuf::from(format!("/p/{name}/reports"));
        assert!(places.contains(&place), "{name}: {places:?}");
    }
}
