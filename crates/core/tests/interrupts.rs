//! Matches of interrupts that wait for their turn, and how many may.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "support/started.rs"]
mod started;

use interlock_core::{
    call::WrittenPath,
    call::{CallFacts, CallKind, CallResult, FileWrite, PathArea, ToolCall},
    command::{Command, CommandKind},
    decide, evolve,
    machine::Machine,
    names::{CallId, Digest},
    run::Run,
};
use serde_json::json;
use started::started;

/// Writes a file and tells that this ended.
fn wrote(machine: &Machine, run: Run, id: &str, path: &str) -> Run {
    plays(machine, run, id, &[path], &[])
}

/// Writes files, and tells that this ended and which others were seen to be written.
fn plays(machine: &Machine, mut run: Run, id: &str, foreseen: &[&str], seen: &[&str]) -> Run {
    let write = |path: &&str| FileWrite {
        path: Some(format!("/p/{path}")),
        relative: Some((*path).to_owned()),
        place: PathArea::Project,
        by: "the tool".to_owned(),
        removes: false,
        recursive: false,
        lines: Some(1),
        before: None,
    };
    let written = |path: &&str| WrittenPath {
        path: format!("/p/{path}"),
        relative: Some((*path).to_owned()),
    };
    let call = ToolCall {
        id: CallId::new(id),
        tool: "writer".to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: CallKind::Edit,
        digest: Digest::new(id),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: CallFacts {
            writes: foreseen.iter().map(write).collect(),
            ..CallFacts::default()
        },
    };
    let ended = CallResult {
        id: Some(CallId::new(id)),
        ok: true,
        exit: None,
        bytes: 0,
        wrote: seen.iter().map(written).collect(),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    };
    for command in [
        CommandKind::Propose(Box::new(call)),
        CommandKind::Record(ended),
    ] {
        let decision = decide(
            machine,
            &run,
            &Command {
                at_ms: 1,
                kind: command,
            },
        );
        run = decision.events.iter().fold(run, evolve);
    }
    run
}

#[test]
fn no_more_matches_wait_than_the_limit_says() {
    let interrupt = |file: &str| json!({"file_pattern": file, "target": file});
    let away = json!({"on": {"OK": {"branched": false, "transitions": [{"target": "return"}]}}});
    let mut limits = json!(interlock_core::machine::Limits::default());
    limits.as_object_mut().unwrap()["queue_max"] = json!(1);
    let machine: Machine = serde_json::from_value(json!({
        "id": "m", "initial": "work", "limits": limits,
        "interrupts": {"one": interrupt("one"), "two": interrupt("two"), "three": interrupt("three")},
        "states": {"work": {"on": {}}, "one": away, "two": away, "three": away},
    }))
    .unwrap();
    let run = wrote(&machine, started(&machine), "1", "one");
    assert_eq!(run.root.at.as_str(), "one");
    let run = wrote(&machine, run, "2", "two");
    let run = wrote(&machine, run, "3", "three");
    let waiting: Vec<&str> = run
        .root
        .line
        .queue
        .iter()
        .map(|hit| hit.interrupt.as_str())
        .collect();
    assert_eq!(waiting, ["two"]);
}

#[test]
fn matches_of_one_call_are_raised_in_the_order_of_the_workflow_however_each_was_seen() {
    let interrupt = |file: &str| json!({"file_pattern": file, "target": file});
    let away = json!({"on": {"OK": {"branched": false, "transitions": [{"target": "return"}]}}});
    let names = ["one", "two", "three"];
    let machine: Machine = serde_json::from_value(json!({
        "id": "m", "initial": "work", "limits": interlock_core::machine::Limits::default(),
        "interrupts": {"one": interrupt("one"), "two": interrupt("two"), "three": interrupt("three")},
        "states": {"work": {"on": {}}, "one": away, "two": away, "three": away},
    }))
    .unwrap();
    // Each file is foreseen, seen afterwards, both, or not written; in either order.
    for case in 0..64_usize {
        let of = |bit: usize| {
            let all = names.iter().enumerate();
            all.filter(move |(at, _)| case >> (2 * at + bit) & 1 == 1)
                .map(|(_, name)| *name)
        };
        let (mut foreseen, mut seen): (Vec<&str>, Vec<&str>) = (of(0).collect(), of(1).collect());
        let mut wanted: Vec<&str> = names.to_vec();
        wanted.retain(|name| foreseen.contains(name) || seen.contains(name));
        for _ in 0..2 {
            let run = plays(&machine, started(&machine), "c", &foreseen, &seen);
            let waiting = run.root.line.queue.iter().map(|hit| hit.interrupt.as_str());
            let raised = run.root.line.handling.as_ref();
            let raised = raised.map(|handling| handling.interrupt.as_str());
            let found: Vec<&str> = raised.into_iter().chain(waiting).collect();
            assert_eq!(found, wanted, "{foreseen:?} {seen:?}");
            foreseen.reverse();
            seen.reverse();
        }
    }
}
