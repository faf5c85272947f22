//! Generated workflows of a given size.

use anyhow::{Result, bail};
use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load, render};
use serde_json::{Map, Value, json};

/// Returns a workflow of `states` states in a ring, each with a policy and two transitions.
pub(crate) fn ring(states: usize) -> String {
    let mut all = Map::new();
    for number in 0..states {
        let next = format!("state_{}", (number + 1) % states);
        let ready = json!({"target": next, "guard": "covered"});
        let state = json!({
            "allowed_tools": ["Read", "Grep", "Glob", "Edit", "Bash", "mcp__docs__*"],
            "allowed_commands": ["cargo test", "git status", "git diff", "git log", "npm run"],
            "blocked_env": ["AWS_SECRET_ACCESS_KEY"],
            "max_iterations": 1_000_000,
            "max_edit_lines": 200,
            "instructions": format!("Do what step {number} of the plan asks for, and nothing else."),
            "on": {"READY": ready, "GIVE_UP": "over"},
        });
        all.insert(format!("state_{number}"), state);
    }
    all.insert("over".to_owned(), json!({"type": "final"}));
    json!({
        "id": "ring", "initial": "state_0", "states": all,
        "context": {"coverage": 90},
        "guards": {"covered": {"field": "coverage", "op": "gte", "value": 80}},
    })
    .to_string()
}

/// Returns the workflow that the compared library runs, too.
pub(crate) fn rounds() -> String {
    let go = |target: &str| -> Value {
        json!({"GO": {"target": target, "guard": "covered"}, "STOP": "over"})
    };
    json!({
        "id": "rounds", "initial": "planning",
        "context": {"coverage": 90, "round": 0},
        "guards": {"covered": {"field": "coverage", "op": "gte", "value": 80}},
        "states": {
            "planning": {"on": go("building")},
            "building": {"on": go("testing")},
            "testing": {"on": go("planning")},
            "over": {"type": "final"},
        },
    })
    .to_string()
}

/// Compiles a workflow.
pub(crate) fn machine(text: &str) -> Result<Machine> {
    match load(&Source::new("bench.json", text), None, &NoWorkflows) {
        Ok(loaded) => Ok(loaded.machine),
        Err(found) => bail!("{}", render(&found, false)),
    }
}
