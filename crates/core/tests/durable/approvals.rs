//! Transitions by a state's own events that a person has to approve.

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Answer, CommandKind},
    event::Event,
    pending::pending,
};
use serde_json::{Value, json};

use crate::durable::driven::{Driven, called, end, machine, plain, task};

fn approved(state: &str) -> Value {
    json!({"transitions": [{"target": {"state": state}, "approval": {"message": "go on?"}}]})
}

fn answer(yes: bool, note: Option<&str>) -> CommandKind {
    let answer = Answer {
        by: "ana".to_owned(),
        note: note.map(str::to_owned),
        ..Answer::default()
    };
    if yes {
        CommandKind::Approve(answer)
    } else {
        CommandKind::Reject(answer)
    }
}

/// Returns a task, a called machine and a fork, each of which continues after an approval, with the path of its last
/// step.
fn shapes() -> [(Value, &'static str); 3] {
    let after = task(&plain("after"), &json!({"done": end()}), &json!({}));
    let one = task(
        &plain("one"),
        &json!({"done": approved("after")}),
        &json!({}),
    );
    let inner = json!({"in": task(&plain("in"), &json!({"done": end()}), &json!({}))});
    let call = json!({
        "activity": {"call": {"machine": "sub"}},
        "on": {"done": approved("after")},
    });
    let fork = json!({
        "activity": {"parallel": {
            "over": {"branches": {"x": {"initial": "x", "terminal": ""}}},
            "join": "settled", "merge": "captured",
        }},
        "on": {"done": approved("after")},
    });
    let branch = task(&plain("x"), &json!({"done": end()}), &json!({}));
    let machines = json!({"sub": called("sub", &inner)});
    let whole = |states: Value| machine(&json!({}), &states, &machines);
    [
        (whole(json!({"one": one, "after": after})), "one"),
        (whole(json!({"call": call, "after": after})), "call/in"),
        (
            whole(json!({"fork": fork, "after": after, "x": branch})),
            "fork/x/x",
        ),
    ]
}

#[test]
fn what_ended_waits_for_a_person_before_it_goes_on() {
    for (whole, last) in shapes() {
        let mut driven = Driven::start(whole);
        let (path, _) = driven.running().pop().unwrap();
        driven.done(&path, "");
        assert!(driven.running().is_empty(), "{last}");
        assert!(driven.run.root.regions.is_empty(), "{last}");
        let waiting = pending(&driven.machine, &driven.run);
        assert_eq!(waiting.len(), 1, "{last}");
        assert_eq!(waiting[0].request.transition().unwrap().message, "go on?");
        // It has ended, and cannot end again.
        for path in [None, Some(path.clone())] {
            let again = driven.ask(CommandKind::EndActivity {
                path,
                outcome: ActivityOutcome::done(""),
            });
            assert!(matches!(again, Reply::Refused(_)), "{last}: {again:?}");
        }
        driven.accept(answer(true, None));
        assert_eq!(driven.running(), [("after".to_owned(), "after".to_owned())]);
        driven.done("after", "");
        assert_eq!(driven.code(), Some(0), "{last}");
    }
}

#[test]
fn after_a_no_it_stands_with_the_note() {
    for (whole, last) in shapes() {
        let mut driven = Driven::start(whole);
        let (path, _) = driven.running().pop().unwrap();
        driven.done(&path, "");
        driven.accept(answer(false, Some("not yet")));
        assert!(pending(&driven.machine, &driven.run).is_empty(), "{last}");
        assert_eq!(driven.run.root.stay.note.as_deref(), Some("not yet"));
        let taken = driven
            .log
            .iter()
            .filter(|event| event.name() == "TransitionTaken");
        assert_eq!(taken.count(), 0, "{last}");
        let answered = driven.log.last();
        assert!(
            matches!(answered, Some(Event::RequestAnswered { yes: false, .. })),
            "{last}: {answered:?}"
        );
    }
}

#[test]
fn where_there_is_no_conversation_nobody_is_told_and_nothing_is_edited() {
    let asked = json!({"approval_before": {"message": plain("begin?")}});
    let one = task(&plain("one"), &json!({"done": end()}), &asked);
    let mut driven = Driven::start(machine(&json!({}), &json!({"one": one}), &json!({})));
    let text = || Some("other".to_owned());
    for (message, edit) in [(text(), None), (None, text()), (text(), text())] {
        let reply = driven.ask(CommandKind::Approve(Answer {
            by: "ana".to_owned(),
            message,
            edit,
            ..Answer::default()
        }));
        let Reply::Refused(refusal) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(refusal.code.as_str(), "invalid_arguments");
    }
    driven.accept(answer(true, None));
    assert_eq!(driven.running()[0].0, "one");
}

#[test]
fn a_cancelled_run_asks_nothing_any_more() {
    for (whole, last) in shapes() {
        let mut driven = Driven::start(whole);
        let (path, _) = driven.running().pop().unwrap();
        driven.done(&path, "");
        let by = || "ana".to_owned();
        driven.accept(CommandKind::Cancel { by: by() });
        assert!(pending(&driven.machine, &driven.run).is_empty(), "{last}");
        let late = driven.ask(answer(true, None));
        assert!(matches!(late, Reply::Refused(_)), "{last}: {late:?}");
        assert!(driven.running().is_empty(), "{last}");
    }
}
