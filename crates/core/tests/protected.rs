//! Changes of protected things: recorded once, and accepted by a person who resumes the run.

use interlock_core::{
    command::{Command, CommandKind},
    decide,
    event::{Event, ProtectedChange, ProtectedFate},
    evolve,
    machine::{Machine, Object},
    names::RunId,
    run::Run,
};
use serde_json::json;

fn machine() -> Machine {
    serde_json::from_value(json!({ "id": "m", "initial": "a", "states": {"a": {}} })).unwrap()
}

fn started() -> Run {
    let by = "ana".to_owned();
    let input = Object::new();
    let (run, _) = ask(
        Run::new(RunId::new("r")),
        CommandKind::Start {
            input,
            by,
            durable: None,
        },
    );
    run
}

/// Submits a command; returns the run and the names of the events.
fn ask(run: Run, command: CommandKind) -> (Run, Vec<&'static str>) {
    let command = Command {
        at_ms: 0,
        kind: command,
    };
    let events = decide(&machine(), &run, &command).events;
    let names = events.iter().map(Event::name).collect();
    (events.iter().fold(run, evolve), names)
}

fn change(path: &str, digest: Option<&str>) -> ProtectedChange {
    ProtectedChange {
        path: path.to_owned(),
        what: "settings of a client".to_owned(),
        fate: ProtectedFate::Changed,
        digest: digest.map(str::to_owned),
        undone: false,
    }
}

fn report(changes: &[ProtectedChange]) -> CommandKind {
    CommandKind::ReportProtected {
        changes: changes.to_vec(),
    }
}

fn resume() -> CommandKind {
    CommandKind::Resume {
        by: "ana".to_owned(),
        seen: None,
    }
}

#[test]
fn a_change_is_recorded_once_and_pauses_the_run() {
    let changes = [change("/p/.mcp.json", Some("1"))];
    let (run, events) = ask(started(), report(&changes));
    assert_eq!(events, ["ProtectedChanged", "RunPaused"]);
    let reason = run.paused.clone().unwrap().reason.unwrap();
    assert!(reason.contains("`/p/.mcp.json` (settings of a client) was changed"));
    assert!(reason.contains("interlock resume"));
    let (run, events) = ask(run, report(&changes));
    assert!(events.is_empty(), "{events:?}");
    // Another change is reported; the run is paused already.
    let (run, events) = ask(run, report(&[change("/p/.mcp.json", Some("2"))]));
    assert_eq!(events, ["ProtectedChanged"]);
    assert_eq!(run.changed.len(), 1);
}

#[test]
fn who_resumes_accepts_what_was_reported_and_nothing_else() {
    let (run, _) = ask(started(), report(&[change("/p/.envrc", None)]));
    let (run, events) = ask(run, resume());
    assert_eq!(events, ["RunResumed"]);
    assert!(run.paused.is_none() && run.changed.is_empty());
    let (run, events) = ask(run, report(&[change("/p/.envrc", None)]));
    assert!(events.is_empty(), "{events:?}");
    let (_, events) = ask(run, report(&[change("/p/.envrc", Some("1"))]));
    assert_eq!(events, ["ProtectedChanged", "RunPaused"]);
}

#[test]
fn only_what_was_seen_is_accepted() {
    let resume = |seen: &[ProtectedChange]| CommandKind::Resume {
        by: "ana".to_owned(),
        seen: Some(seen.to_vec()),
    };
    let (shown, newer) = (change("/p/.envrc", None), change("/p/.envrc", Some("1")));
    let (run, _) = ask(started(), report(std::slice::from_ref(&shown)));
    // Later changes were not seen: the same file again, another one, or any file.
    let (moved, _) = ask(run.clone(), report(std::slice::from_ref(&newer)));
    let (more, _) = ask(run.clone(), report(&[change("/p/.mcp.json", None)]));
    for (run, seen) in [
        (&moved, std::slice::from_ref(&shown)),
        (&more, std::slice::from_ref(&shown)),
        (&run, &[]),
    ] {
        let (after, events) = ask(run.clone(), resume(seen));
        assert!(events.is_empty(), "{events:?}");
        assert!(after.paused.is_some() && after.accepted.is_empty());
    }
    let (run, events) = ask(run, resume(&[shown]));
    assert_eq!(events, ["RunResumed"]);
    assert!(run.accepted.contains_key("/p/.envrc"));
}

#[test]
fn what_was_put_back_is_told_each_time() {
    let undone = ProtectedChange {
        undone: true,
        ..change("/p/.envrc", Some("1"))
    };
    let (run, events) = ask(started(), report(std::slice::from_ref(&undone)));
    assert_eq!(events, ["ProtectedChanged", "RunPaused"]);
    let (run, _) = ask(run, resume());
    assert!(run.accepted.is_empty());
    let (_, events) = ask(run, report(&[undone]));
    assert_eq!(events, ["ProtectedChanged", "RunPaused"]);
}

#[test]
fn a_persons_own_pause_stays_the_reason() {
    let pause = CommandKind::Pause {
        by: "ana".to_owned(),
        reason: Some("lunch".to_owned()),
    };
    let (run, _) = ask(started(), pause);
    let (run, events) = ask(run, report(&[change("/p/.envrc", None)]));
    assert_eq!(events, ["ProtectedChanged"]);
    assert_eq!(run.paused.unwrap().by, "ana");
}

#[test]
fn no_more_changes_wait_than_a_person_can_look_at() {
    let of = |from: usize, to: usize| -> Vec<ProtectedChange> {
        let all = from..to;
        all.map(|number| change(&format!("/p/{number}"), None))
            .collect()
    };
    let (run, _) = ask(started(), report(&of(0, 200)));
    let (run, events) = ask(run, report(&of(200, 400)));
    assert_eq!(events, ["ProtectedChanged"]);
    assert_eq!(run.changed.len(), 256);
    let (run, _) = ask(started(), report(&of(0, 300)));
    assert_eq!(run.changed.len(), 256);
}
