//! A choice between two ends by one guard.

use interlock_core::machine::Machine;
use serde_json::{Value, json};

/// Returns a machine that succeeds if `guard` holds, and fails otherwise.
pub(crate) fn choice(guard: &Value, guards: &Value, context: &Value) -> Machine {
    let end = |outcome: &str| json!({ "activity": { "final": { "outcome": outcome } } });
    let machine = json!({
        "id": "m", "initial": "a", "context": context, "guards": guards,
        "states": {
            "a": { "activity": "choice", "on": { "done": { "transitions": [
                { "guards": [guard], "target": { "state": "yes" } },
                { "target": { "state": "no" } },
            ] } } },
            "yes": end("success"),
            "no": end("failure"),
        },
    });
    serde_json::from_value(machine).unwrap()
}
