#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::{
    command::{Command, CommandKind, TransitionRequest},
    decide, evolve,
    machine::{Machine, Object},
    names::RunId,
    run::Run,
};
use serde_json::json;

use super::*;

fn machine() -> Machine {
    let to = |state: &str| json!({"transitions": [{"target": {"state": state}}]});
    serde_json::from_value(json!({
        "id": "w", "initial": "a",
        "states": {
            "a": {"on": {"SPLIT": to("a.SPLIT"), "SHIP": {"transitions": [{"target": {"state": "end"}, "approval": {}}]}}},
            "a.SPLIT": {
                "activity": {"parallel": {"over": {"branches": {
                    "left": {"initial": "one", "terminal": "ok"},
                    "right": {"initial": "one", "terminal": "ok"},
                }}}},
                "on": {"done": to("a"), "error": to("end")},
            },
            "one": {"on": {"OK": to("ok")}},
            "ok": {},
            "end": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap()
}

/// Plays transitions, one a second, and returns the log.
fn log(asks: Vec<CommandKind>) -> Vec<Happened> {
    let machine = machine();
    let mut run = Run::new(RunId::new("r"));
    let mut recorded = Vec::new();
    let start = CommandKind::Start {
        input: Object::new(),
        by: "ana".to_owned(),
        durable: None,
    };
    for (second, command) in std::iter::once(start).chain(asks).enumerate() {
        let at_ms = u64::try_from(second).unwrap() * 1000;
        for event in decide(
            &machine,
            &run,
            &Command {
                at_ms,
                kind: command,
            },
        )
        .events
        {
            recorded.push(Happened {
                seq: run.seq,
                at_ms,
                event: event.clone(),
            });
            run = evolve(run, &event);
        }
    }
    recorded
}

fn send(event: &str, branch: Option<&str>) -> CommandKind {
    CommandKind::Transition(TransitionRequest {
        event: event.to_owned(),
        data: serde_json::from_value(json!({"secret": "s3cret"})).unwrap(),
        branch: branch.map(str::to_owned),
        agent: None,
        by: "agent".to_owned(),
        approved_by: None,
    })
}

fn about() -> RunLabel {
    RunLabel {
        run: "r".to_owned(),
        workflow: "w".to_owned(),
        ..RunLabel::default()
    }
}

fn whole() -> Vec<Happened> {
    log(vec![
        send("SPLIT", None),
        send("OK", Some("right")),
        send("OK", Some("left")),
        send("SHIP", None),
        CommandKind::Approve(interlock_core::command::Answer {
            by: "ana".to_owned(),
            ..Default::default()
        }),
    ])
}

#[test]
fn every_visit_lies_in_the_one_it_belongs_to() {
    let spans = spans(&about(), whole());
    let run = spans.last().unwrap();
    assert_eq!(run.name, "invoke_agent w");
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "state a",
            "state one",
            "state ok",
            "state one",
            "state ok",
            "state a.SPLIT",
            "state a",
            "state end",
            "invoke_agent w"
        ]
    );
    let of = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    assert_eq!(of("state a").parent.as_ref(), Some(&run.id));
    assert_eq!(
        of("state one").parent.as_ref(),
        Some(&of("state a.SPLIT").id)
    );
    assert_eq!((run.began_ms, run.ended_ms), (0, 5000));
    assert!(
        spans
            .iter()
            .all(|span| span.trace == run.trace && span.ended_ms >= span.began_ms)
    );
}

#[test]
fn ids_are_the_same_each_time_and_never_twice() {
    let (first, second) = (spans(&about(), whole()), spans(&about(), whole()));
    assert_eq!(first, second);
    let ids: std::collections::BTreeSet<&String> = first.iter().map(|span| &span.id).collect();
    assert_eq!(ids.len(), first.len());
    let part: Vec<Happened> = whole().into_iter().take(6).collect();
    let early = spans(&about(), part);
    assert_eq!(early.as_slice(), first.get(..early.len()).unwrap());
}

#[test]
fn nothing_written_by_an_agent_is_told_unasked() {
    let quiet = format!("{:?}", spans(&about(), whole()));
    assert!(!quiet.contains("s3cret"));
    let loud = RunLabel {
        content: true,
        ..about()
    };
    assert!(format!("{:?}", spans(&loud, whole())).contains("s3cret"));
}

#[test]
fn a_run_belongs_to_the_trace_it_was_started_in() {
    let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let parent = Parent::parse(text).unwrap();
    let below = RunLabel {
        parent: Some(parent),
        ..about()
    };
    let all = spans(&below, whole());
    let run = all.last().unwrap();
    assert_eq!(run.trace, "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(run.parent.as_deref(), Some("b7ad6b7169203331"));
}

#[test]
fn a_parent_that_is_none_is_left_out() {
    for text in [
        "",
        "00",
        "00-0-1-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
    ] {
        assert_eq!(Parent::parse(text), None, "{text}");
    }
}

#[test]
fn a_clock_set_back_ends_nothing_before_it_began() {
    let mut events = whole();
    for event in events.iter_mut().skip(3) {
        event.at_ms = 0;
    }
    assert!(
        spans(&about(), events)
            .iter()
            .all(|span| span.ended_ms >= span.began_ms)
    );
}
