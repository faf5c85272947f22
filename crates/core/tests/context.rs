//! Limits on the size of the context.

use interlock_core::{
    Reply,
    command::{Answer, Command, CommandKind, TransitionRequest},
    decide, evolve,
    machine::{Limits, Machine, Object},
    pending::pending,
    run::Run,
};
use serde_json::{Value, json};

use crate::support::started::started;

/// A run whose context is limited to 100 bytes.
struct Play {
    machine: Machine,
    run: Run,
}

impl Play {
    fn new() -> Self {
        let mut limits = json!(Limits::default());
        limits["context_bytes_max"] = json!(100);
        let machine: Machine = serde_json::from_value(json!({
            "id": "m", "initial": "a", "limits": limits,
            "states": {"a": {"safe_next": "a", "on": {
                "SET": {"transitions": [{"target": {"state": "a"}}]},
                "SHOW": {"transitions": [{"target": {"state": "a"}, "approval": {"message": "?"}}]},
            }}},
        }))
        .unwrap();
        let run = started(&machine);
        Self { machine, run }
    }

    fn ask(&mut self, command: CommandKind) -> bool {
        let decision = decide(
            &self.machine,
            &self.run,
            &Command {
                at_ms: 1,
                kind: command,
            },
        );
        self.run = decision.events.iter().fold(self.run.clone(), evolve);
        !matches!(decision.reply, Reply::Refused(_))
    }

    fn send(&mut self, event: &str, data: &Value) -> bool {
        self.ask(CommandKind::Transition(TransitionRequest {
            event: event.to_owned(),
            data: object(data),
            branch: None,
            agent: None,
            by: "agent".to_owned(),
            approved_by: None,
        }))
    }

    fn approve(&mut self, data: &Value) -> bool {
        self.ask(CommandKind::Approve(Answer {
            by: "ana".to_owned(),
            data: object(data),
            ..Answer::default()
        }))
    }
}

fn object(data: &Value) -> Object {
    data.as_object().unwrap().clone()
}

/// Returns data with a text of this many bytes under a key.
fn of(key: &str, bytes: usize) -> Value {
    json!({ key: "x".repeat(bytes) })
}

/// Sends each data in turn; returns which were accepted.
fn taken(data: &[Value]) -> Vec<bool> {
    let mut play = Play::new();
    data.iter().map(|data| play.send("SET", data)).collect()
}

#[test]
fn a_value_that_takes_the_place_of_another_counts_alone() {
    assert_eq!(taken(&[of("k", 80), of("k", 80)]), [true, true]);
    assert_eq!(taken(&[of("k", 80), of("l", 80)]), [true, false]);
    assert_eq!(taken(&[of("k", 80), of("k", 120)]), [true, false]);
    assert_eq!(taken(&[of("k", 80), of("k", 1), of("l", 80)]), [true; 3]);
}

#[test]
fn whichever_way_data_comes_in_the_context_is_bounded() {
    for (bytes, fits) in [(10, true), (80, false)] {
        for event in ["SET", "SHOW", "UNKNOWN"] {
            let mut play = Play::new();
            assert!(play.send("SET", &of("k", 30)));
            assert_eq!(play.send(event, &of("l", bytes)), fits, "{event} {bytes}");
            let waits = !pending(&play.machine, &play.run).is_empty();
            assert_eq!(waits, fits && event == "SHOW", "{event} {bytes}");
        }
    }
    // A person's data is added to the requested data, and the request stays open if the sum does not fit.
    for (asked, added, fits) in [(5, 5, true), (30, 30, false), (5, 80, false)] {
        let mut play = Play::new();
        assert!(play.send("SET", &of("k", 20)));
        assert!(play.send("SHOW", &of("l", asked)));
        let before = play.run.clone();
        assert_eq!(play.approve(&of("m", added)), fits, "{asked} {added}");
        let waits = !pending(&play.machine, &play.run).is_empty();
        assert_eq!(waits, !fits, "{asked} {added}");
        if !fits {
            assert_eq!(play.run, before, "{asked} {added}");
            assert!(play.approve(&json!({})), "{asked} {added}");
        }
    }
}

#[test]
fn the_limit_itself_still_fits() {
    // `{"k":"…"}` is 8 bytes around the text, and `{}` is stored besides.
    assert_eq!(taken(&[of("k", 90)]), [true]);
    assert_eq!(taken(&[of("k", 91)]), [false]);
}
