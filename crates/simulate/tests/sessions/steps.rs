//! Generated machines of steps: programs, questions, tests, loops over lines, branches and calls of other machines.
//!
//! The workflows of the cases mostly contain agents or conversations. These contain the work of a runner.

use interlock_core::machine::Machine;
use interlock_testkit::dice::Dice;
use serde_json::{Map, Value, json};

/// States of the outermost machine, and of those that it calls.
const OUTER: &[&str] = &["a", "b", "c", "d", "e", "f"];
const INNER: &[&str] = &["a", "b", "c"];
/// Number of states that may open branches; branches begin at others, so that no fork begins with itself.
const FORKS: usize = 2;
/// Variables that states capture and texts name.
const KEYS: &[&str] = &["v", "w", "item", "index"];

/// Generates a random machine.
pub(crate) fn machine(dice: &mut Dice) -> Machine {
    let mut whole = part(dice, "steps", OUTER);
    whole["machines"] = json!({"body": part(dice, "body", INNER), "sub": part(dice, "sub", INNER)});
    whole["context"] = json!({"v": "x", "n": 1, "_o": 2});
    whole["limits"] = limits(dice);
    whole["durable"] = json!(true);
    serde_json::from_value(whole).unwrap()
}

fn limits(dice: &mut Dice) -> Value {
    let mut limits = json!({
        "call_depth_max": dice.number(&[1, 2, 3]), "steps_max": dice.number(&[4, 12]),
        "branches_max": dice.number(&[2, 3, 9]), "open_calls_max": 9, "queue_max": 9,
        "context_bytes_max": dice.number(&[120, 4_000]),
    });
    for (name, most) in [("at_once", 2), ("states_max", 14), ("line_states_max", 5)] {
        if dice.one_in(5) {
            limits[name] = json!(1 + dice.below(most));
        }
    }
    limits
}

fn part(dice: &mut Dice, id: &str, names: &[&str]) -> Value {
    let mut states = Map::new();
    for (at, name) in names.iter().enumerate() {
        // Each is reachable from the one before it.
        let next = names.get(at + 1).copied();
        let activity = match dice.below(3) {
            0 if at < FORKS => branches(dice, names),
            _ => activity(dice, id != "body"),
        };
        let state = state(dice, activity, names, next);
        states.insert((*name).to_owned(), state);
    }
    json!({"id": id, "initial": names.first(), "states": states, "durable": true})
}

fn text(dice: &mut Dice) -> Value {
    let key = dice.word(KEYS);
    match dice.below(8) {
        0 => json!([{"hole": {"key": key}}]),
        1 => {
            json!([{"plain": "p "}, {"hole": {"error": dice.word(&["code", "state", "stderr", "message"])}}])
        }
        2 => json!([{"hole": {"file": [{"plain": "/f"}]}}]),
        _ => json!([{"plain": dice.word(&["x", "y", "3"])}]),
    }
}

fn state(dice: &mut Dice, activity: Value, names: &[&str], next: Option<&str>) -> Value {
    let mut on = json!({"done": rule(dice, names, next)});
    if dice.one_in(2) {
        on["error"] = rule(dice, names, None);
    }
    let mut state = json!({
        "activity": activity, "on": on,
        "on_crash": dice.word(&["ask", "retry", "fail"]),
    });
    match dice.below(6) {
        0 | 1 => state["capture"] = json!({"key": dice.word(KEYS)}),
        2 => state["capture"] = json!({"file": [{"plain": "/out"}]}),
        _ => {}
    }
    if dice.one_in(3) {
        state["retry"] = json!({
            "attempts": 1 + dice.below(3), "wait_ms": 100, "backoff": dice.word(&["1", "2"]), "wait_max_ms": 300,
            "only_passing": dice.one_in(4),
        });
    }
    if dice.one_in(5) {
        state["timeout_ms"] = json!(1_000);
    }
    if dice.one_in(9) {
        state["approval_before"] =
            json!({"message": text(dice), "no": dice.word(&["fails", "cancels"])});
    }
    if dice.one_in(12) {
        state["shown_as"] = json!(dice.word(names));
    }
    if dice.one_in(12) {
        state["fails_with"] = json!(dice.below(9));
    }
    state
}

fn activity(dice: &mut Dice, loops: bool) -> Value {
    let given = json!({"object": {"command": {"text": text(dice)}}});
    match dice.below(18) {
        0 => json!({"ask": given}),
        1 => json!({"pause": given}),
        2 => {
            json!({"test": {"left": text(dice), "op": dice.word(&["equal", "less", "empty", "value"]), "right": text(dice)}})
        }
        3 => json!("choice"),
        4 => json!({"wait": {"wait_ms": dice.number(&[0, 900])}}),
        5 | 6 => called(dice),
        7..=9 if loops => json!({"parallel": {
            "over": {"lines": {"machine": "body", "item": "item", "index": "index", "wants_items": dice.one_in(3)}},
            "join": "settled", "merge": "shared", "concurrency": 1,
            "on_error": dice.word(&["fail", "skip"]),
        }}),
        10 if dice.one_in(2) => json!({"final": {"outcome": dice.word(&["success", "failure"])}}),
        _ => json!({"task": {"kind": {"program": "bash"}, "input": given}}),
    }
}

fn called(dice: &mut Dice) -> Value {
    let mut call = json!({"machine": dice.word(&["sub", "sub", "nowhere"]), "input": {"w": 7}});
    match dice.below(3) {
        0 => call["output"] = json!(["v"]),
        1 => {
            call["passed"] = json!({"v": text(dice)});
            call["namespace"] = json!("sub");
        }
        _ => {}
    }
    json!({"call": call})
}

fn branches(dice: &mut Dice, names: &[&str]) -> Value {
    let mut branches = Map::new();
    for name in ["x", "y", "z"].iter().take(dice.below(4)) {
        let terminal = if dice.one_in(2) {
            dice.word(names)
        } else {
            String::new()
        };
        branches.insert(
            (*name).to_owned(),
            json!({"initial": dice.word(names.get(FORKS..).unwrap()), "terminal": terminal}),
        );
    }
    let mut parallel = json!({
        "over": {"branches": branches},
        "join": dice.word(&["all", "any", "settled", "fail_fast"]),
        "merge": dice.word(&["captured", "changed"]),
    });
    if dice.one_in(2) {
        parallel["concurrency"] = json!(1 + dice.below(2));
    }
    if dice.one_in(4) {
        parallel["fails_as"] = json!("branches");
    }
    json!({"parallel": parallel})
}

fn rule(dice: &mut Dice, names: &[&str], next: Option<&str>) -> Value {
    let mut transitions = Vec::new();
    if dice.one_in(3) {
        let guard = match dice.below(4) {
            0 => json!({"code": dice.below(3)}),
            1 => json!("uncancelled"),
            2 => json!({"output": "yes"}),
            _ => json!({"field": {"field": "n", "op": "eq", "value": dice.below(3)}}),
        };
        transitions.push(transition(dice, names, None, Some(guard)));
    }
    transitions.push(transition(dice, names, next, None));
    json!({"branched": transitions.len() > 1, "transitions": transitions})
}

fn transition(dice: &mut Dice, names: &[&str], next: Option<&str>, guard: Option<Value>) -> Value {
    let target = match (dice.below(8), next) {
        (0, _) | (1..=5, None) => json!({"end": dice.word(&["success", "success", "failure"])}),
        (1..=5, Some(next)) => json!({"state": next}),
        // No state leads back to one that may open branches, because they would nest endlessly.
        _ => json!({"state": dice.word(names.get(FORKS..).unwrap())}),
    };
    let mut transition = json!({"target": target});
    if let Some(guard) = guard {
        transition["guards"] = json!([{"inline": guard}]);
    }
    if dice.one_in(10) {
        transition["approval"] = json!({"kind": dice.word(&["person", "person", "passkey"])});
    }
    transition
}
