//! Pending matches of interrupts, and their limit.

use interlock_core::{
    call::WrittenPath,
    call::{CallFacts, CallKind, CallResult, FileWrite, PathArea, ToolCall},
    command::{Answer, Command, CommandKind, TransitionRequest},
    decide, evolve,
    machine::Machine,
    names::{CallId, Digest},
    run::Run,
};
use serde_json::json;

use crate::support::started::started;

/// Writes a file and reports the end of the call.
fn wrote(machine: &Machine, run: Run, id: &str, path: &str) -> Run {
    plays(machine, run, id, &[path], &[])
}

/// Writes the expected files, and reports the end of the call with the files observed to be written.
fn plays(machine: &Machine, run: Run, id: &str, foreseen: &[&str], seen: &[&str]) -> Run {
    ends(machine, begins(machine, run, id, foreseen), id, seen)
}

/// Begins a call that is expected to write files.
fn begins(machine: &Machine, run: Run, id: &str, foreseen: &[&str]) -> Run {
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
    asks(machine, run, CommandKind::Propose(Box::new(call)))
}

/// Ends a call that was observed to write files.
fn ends(machine: &Machine, run: Run, id: &str, seen: &[&str]) -> Run {
    let written = |path: &&str| WrittenPath {
        path: format!("/p/{path}"),
        relative: Some((*path).to_owned()),
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
    asks(machine, run, CommandKind::Record(ended))
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
    // Each file is expected, observed afterwards, both, or not written; in either order.
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

/// Submits a command, which must be accepted.
fn asks(machine: &Machine, run: Run, kind: CommandKind) -> Run {
    let decision = decide(machine, &run, &Command { at_ms: 1, kind });
    assert!(
        !matches!(decision.reply, interlock_core::Reply::Refused(_)),
        "{:?}",
        decision.reply
    );
    decision.events.iter().fold(run, evolve)
}

fn sends(machine: &Machine, run: Run, event: &str) -> Run {
    let request = TransitionRequest {
        event: event.to_owned(),
        data: Default::default(),
        branch: None,
        agent: None,
        by: "agent".to_owned(),
        approved_by: None,
    };
    asks(machine, run, CommandKind::Transition(request))
}

fn approves(machine: &Machine, run: Run) -> Run {
    let yes = Answer {
        by: "ana".to_owned(),
        ..Answer::default()
    };
    asks(machine, run, CommandKind::Approve(yes))
}

/// Returns a machine with the states `one` and `two` for reviews; each leads back, or out with a person's approval.
fn reviewed() -> Machine {
    let interrupt = |file: &str| json!({"file_pattern": file, "target": file});
    let approved =
        |target: serde_json::Value| json!({"transitions": [{"target": target, "approval": {}}]});
    let away = json!({"on": {"OK": approved(json!("return")), "LEAVE": approved(json!({"state": "other"}))}});
    serde_json::from_value(json!({
        "id": "m", "initial": "work", "limits": interlock_core::machine::Limits::default(),
        "interrupts": {"one": interrupt("one"), "two": interrupt("two")},
        "states": {
            "work": {"on": {"SHIP": approved(json!({"state": "other"}))}},
            "other": {"on": {}}, "one": away, "two": away,
        },
    }))
    .unwrap()
}

#[test]
fn a_match_that_waits_is_raised_behind_the_approved_return_and_forgotten_by_any_other_way() {
    for (event, at) in [("OK", "two"), ("LEAVE", "other")] {
        let machine = reviewed();
        let run = wrote(&machine, started(&machine), "1", "one");
        let run = wrote(&machine, run, "2", "two");
        assert_eq!(run.root.line.queue.len(), 1, "{event}");
        let run = sends(&machine, run, event);
        assert_eq!(run.root.at.as_str(), "one", "{event}: it waits");
        let run = approves(&machine, run);
        assert_eq!(run.root.at.as_str(), at, "{event}");
        assert!(run.root.line.queue.is_empty(), "{event}");
        let back = run.root.line.handling.as_ref();
        let back = back.map(|handling| handling.return_to.as_str());
        assert_eq!(back, (event == "OK").then_some("work"), "{event}");
    }
}

#[test]
fn what_matches_while_a_person_is_asked_is_raised_after_the_answer() {
    for yes in [true, false] {
        let machine = reviewed();
        // It runs already when the person is asked, and is observed to have written afterwards.
        let run = begins(&machine, started(&machine), "1", &[]);
        let run = sends(&machine, run, "SHIP");
        let run = ends(&machine, run, "1", &["two"]);
        assert_eq!(run.root.at.as_str(), "work", "it waits");
        assert_eq!(run.root.line.queue.len(), 1);
        let run = if yes {
            approves(&machine, run)
        } else {
            let no = Answer {
                by: "ana".to_owned(),
                ..Answer::default()
            };
            asks(&machine, run, CommandKind::Reject(no))
        };
        assert_eq!(run.root.at.as_str(), "two", "{yes}");
        let back = run.root.line.handling.as_ref().unwrap();
        assert_eq!(back.return_to.as_str(), if yes { "other" } else { "work" });
        assert!(run.root.line.queue.is_empty(), "{yes}");
    }
}

#[test]
fn a_called_machine_has_interrupts_of_its_own() {
    let away = json!({"on": {"OK": {"transitions": [{"target": "return"}]}}});
    let raised = |own: bool, outer: bool| {
        let interrupts = |has: bool| match has {
            true => json!({"one": {"file_pattern": "one", "target": "one"}}),
            false => json!({}),
        };
        let machine: Machine = serde_json::from_value(json!({
            "id": "m", "initial": "call", "limits": interlock_core::machine::Limits::default(),
            "interrupts": interrupts(outer),
            "states": {
                "call": {"activity": {"call": {"machine": "sub"}}, "on": {"done": {"transitions": [{"target": {"state": "one"}}]}}},
                "one": away,
            },
            "machines": {"sub": {
                "id": "sub", "initial": "work", "interrupts": interrupts(own),
                "states": {"work": {"on": {}}, "one": away},
            }},
        }))
        .unwrap();
        // Expected, and only observed afterwards.
        let foreseen = plays(&machine, started(&machine), "c", &["one"], &[]);
        let seen = plays(&machine, started(&machine), "c", &[], &["one"]);
        let at = |run: &Run| run.root.regions.first().unwrap().frame.at.to_string();
        assert_eq!(at(&foreseen), at(&seen));
        at(&foreseen)
    };
    assert_eq!(raised(true, false), "one");
    assert_eq!(raised(true, true), "one");
    assert_eq!(raised(false, true), "work");
    assert_eq!(raised(false, false), "work");
}

#[test]
fn a_no_raises_nothing_while_another_match_is_handled() {
    let machine = reviewed();
    let run = wrote(&machine, started(&machine), "1", "one");
    let run = sends(&machine, wrote(&machine, run, "2", "two"), "OK");
    let no = CommandKind::Reject(Answer {
        by: "ana".to_owned(),
        ..Answer::default()
    });
    let decision = decide(&machine, &run, &Command { at_ms: 1, kind: no });
    let names: Vec<&str> = decision.events.iter().map(|event| event.name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let run = decision.events.iter().fold(run, evolve);
    assert_eq!(run.root.at.as_str(), "one");
    assert_eq!(run.root.line.queue.len(), 1);
}
