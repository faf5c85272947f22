//! The times of retries after failed attempts.

use interlock_core::{
    Reply,
    command::{ActivityOutcome, CommandKind, EffectStatus},
    event::{Cause, Passing},
};
use serde_json::{Value, json};

use crate::durable::driven::{Driven, end, machine, plain, task};

/// Fails the only task of a run at a moment; returns the delay until the next attempt.
fn wait(jitter: bool, at_ms: u64) -> u64 {
    let retry = json!({ "attempts": 3, "wait_ms": 2_000, "backoff": "1", "wait_max_ms": 9_000, "jitter": jitter });
    let states: Value = json!({
        "step": task(&plain("ls"), &json!({ "done": end() }), &json!({ "retry": retry })),
    });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    driven.at_ms = at_ms;
    let failed = Cause {
        passing: Some(Passing::default()),
        ..Cause::new(1, "busy")
    };
    let reply = driven.ask(CommandKind::EndActivity {
        path: None,
        outcome: ActivityOutcome::Failed(failed),
    });
    assert_eq!(reply, Reply::Accepted);
    let effects = driven.effects();
    let [effect] = effects.as_slice() else {
        unreachable!("{effects:?}");
    };
    let EffectStatus::Waiting(until) = effect.status else {
        unreachable!("{effect:?}");
    };
    until - at_ms
}

#[test]
fn jitter_adds_less_than_a_second_and_is_the_same_for_the_same_attempt() {
    let moments = [1_000, 2_000, 50_000, 1_000_000];
    assert_eq!(moments.map(|at_ms| wait(false, at_ms)), [2_000; 4]);
    let waits = moments.map(|at_ms| wait(true, at_ms));
    assert_eq!(moments.map(|at_ms| wait(true, at_ms)), waits);
    assert!(
        waits.iter().all(|wait| (2_000..3_000).contains(wait)),
        "{waits:?}"
    );
    assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
}
