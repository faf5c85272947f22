//! How much the context may hold.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(clippy::indexing_slicing, reason = "a failed test panics")]

#[path = "support/started.rs"]
mod started;

use interlock_core::{
    Reply,
    command::{Ask, Command, TransitionRequest},
    decide, evolve,
    machine::{Limits, Machine},
};
use serde_json::{Value, json};
use started::started;

/// Sends each data in turn, where the context may hold 100 bytes; tells which were taken.
fn taken(data: &[Value]) -> Vec<bool> {
    let mut limits = json!(Limits::default());
    limits["context_bytes_max"] = json!(100);
    let machine: Machine = serde_json::from_value(json!({
        "id": "m", "initial": "a", "limits": limits,
        "states": {"a": {"on": {"SET": {"transitions": [{"target": {"state": "a"}}]}}}},
    }))
    .unwrap();
    let mut run = started(&machine);
    let mut ask = |ask: Ask| {
        let decision = decide(&machine, &run, &Command { at_ms: 1, ask });
        run = decision.events.iter().fold(run.clone(), evolve);
        decision.reply
    };
    let sent = data.iter().map(|data| {
        let reply = ask(Ask::Transition(TransitionRequest {
            event: "SET".to_owned(),
            data: data.as_object().unwrap().clone(),
            branch: None,
            agent: None,
            by: "agent".to_owned(),
            approved_by: None,
        }));
        !matches!(reply, Reply::Refused(_))
    });
    sent.collect()
}

#[test]
fn a_value_that_takes_the_place_of_another_counts_alone() {
    let of = |key: &str, bytes: usize| json!({ key: "x".repeat(bytes) });
    assert_eq!(taken(&[of("k", 80), of("k", 80)]), [true, true]);
    assert_eq!(taken(&[of("k", 80), of("l", 80)]), [true, false]);
    assert_eq!(taken(&[of("k", 80), of("k", 120)]), [true, false]);
    assert_eq!(taken(&[of("k", 80), of("k", 1), of("l", 80)]), [true; 3]);
}
