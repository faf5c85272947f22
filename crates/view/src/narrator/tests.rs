#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(
    clippy::disallowed_methods,
    reason = "the test reads recorded files, what it tests does not"
)]

use std::{collections::BTreeMap, fs, path::Path};

use interlock_core::event::Event;
use serde_json::{Value, json};

use super::{Description, Severity, describe};

fn told(event: &Value) -> Description {
    describe(7, &serde_json::from_value(event.clone()).unwrap())
}

/// What people are asked has one life, and each kind of it its own words.
#[test]
fn requests_are_told_by_what_they_are_about() {
    let call = json!({"id": "t1", "tool": "Edit", "digest": "d", "summary": "a.rs"});
    let refusal = json!({"code": "grant_denied", "message": "no"});
    let transition =
        json!({"event": "SHIP", "index": 0, "data": {}, "message": "Ship?", "by": "agent"});
    let opened = |about: Value| json!({"RequestOpened": {"path": [], "about": about, "question": "q", "at_ms": 0}});
    let answered = |about: &str, yes: bool| {
        json!({"RequestAnswered": {"path": [], "id": "a3", "about": about, "question": "q", "yes": yes,
            "by": "ana", "note": "not today", "at_ms": 0}})
    };
    let voided = |why: Value| json!({"RequestVoided": {"path": [], "id": "a3", "question": "q", "why": why, "at_ms": 0}});
    let grant = json!({"call": call, "refusal": refusal, "marks": {}});
    let rows = [
        (
            opened(json!({"transition": transition})),
            "ApprovalRequested a7 SHIP: Ship?",
            Severity::Notable,
        ),
        (
            opened(json!({"entry": {"message": "May it begin?"}})),
            "PersonAsked May it begin?",
            Severity::Notable,
        ),
        (
            opened(json!({"call": grant})),
            "GrantRequested a7 Edit a.rs",
            Severity::Notable,
        ),
        (
            answered("transition", true),
            "ApprovalGranted a3 ana not today",
            Severity::Notable,
        ),
        (
            answered("transition", false),
            "ApprovalRejected a3 ana not today",
            Severity::Alarming,
        ),
        (
            answered("entry", false),
            "PersonAnswered no by ana: not today",
            Severity::Notable,
        ),
        (
            answered("call", true),
            "GrantIssued a3 ana not today",
            Severity::Notable,
        ),
        (
            answered("call", false),
            "GrantDenied a3 ana not today",
            Severity::Alarming,
        ),
        (
            voided(json!({"refused": refusal})),
            "ApprovalDropped a3 (no)",
            Severity::Notable,
        ),
        (
            voided(json!("cancelled")),
            "PersonDismissed its state is cancelled",
            Severity::Notable,
        ),
        (
            voided(json!({"prompt": "next_call"})),
            "PromptClosed a3 (no person said yes in the client's prompt)",
            Severity::Notable,
        ),
        (
            voided(json!({"no_answer": "timeout"})),
            "GrantDenied a3 (timeout: nobody answered in time)",
            Severity::Alarming,
        ),
        (
            json!({"RequestUsed": {"path": [], "id": "a3", "question": "q"}}),
            "GrantConsumed a3",
            Severity::Notable,
        ),
    ];
    for (event, wanted, severity) in rows {
        let told = told(&event);
        assert_eq!(format!("{} {}", told.title, told.detail), wanted);
        assert_eq!(told.severity, severity, "{wanted}");
    }
}

/// Of each event that was ever recorded: who only reads the log is told what it is about.
#[test]
fn recorded_events_say_more_than_their_name() {
    // Their frame says it all, or what an activity put out is nobody's business here.
    let silent = [
        "ActivityEnded",
        "BranchReopened",
        "InterruptDequeued",
        "LineWaits",
        "StageStarted",
    ];
    let mut said: BTreeMap<&'static str, bool> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/histories");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let (events, _) = text.trim_end().rsplit_once('\n').unwrap();
        for (seq, line) in (0..).zip(events.lines()) {
            let event: Event = serde_json::from_str(line).unwrap();
            let told = describe(seq, &event);
            *said.entry(told.title).or_default() |= !told.detail.is_empty();
        }
    }
    let missing: Vec<&str> = said
        .into_iter()
        .filter(|(title, said)| !said && !silent.contains(title))
        .map(|(title, _)| title)
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
