//! Machines with random policies and guards.

use interlock_core::machine::Limits;
use interlock_testkit::dice::Dice;
use serde_json::{Value, json};

/// Returns some of these, in their order.
pub(super) fn some(dice: &mut Dice, of: &[&str], one_in: usize) -> Vec<String> {
    let drawn = of.iter().filter(|_| dice.one_in(one_in));
    drawn.map(|word| (*word).to_owned()).collect()
}

/// Returns a machine: two states with policies, possibly after a fork or in a called machine.
pub(super) fn machine(dice: &mut Dice) -> Value {
    let mut whole = alone(dice);
    if dice.one_in(4) {
        let mut called = alone(dice);
        called["id"] = json!("sub");
        if dice.one_in(2) {
            forks(&mut called, "work");
        }
        whole["machines"] = json!({"sub": called});
        whole["states"]["called"] = json!({
            "activity": {"call": {"machine": "sub"}},
            "on": {"done": {"transitions": [{"target": {"state": "done"}}]}},
        });
        match dice.one_in(2) {
            true => whole["initial"] = json!("called"),
            false => forks(&mut whole, "called"),
        }
    } else if dice.one_in(4) {
        forks(&mut whole, "work");
    }
    whole
}

/// Makes a machine begin with a fork, whose first branch contains another fork.
fn forks(machine: &mut Value, second: &str) {
    let branches = |[first, inner]: [&str; 2], [other, begins]: [&str; 2]| {
        json!({
            "activity": {"parallel": {"over": {"branches": {
                first: {"initial": inner, "terminal": "done"}, other: {"initial": begins, "terminal": "done"},
            }}}},
            "on": {"done": {"transitions": [{"target": {"state": "done"}}]}},
        })
    };
    machine["initial"] = json!("fork");
    machine["states"]["fork"] = branches(["a", "inner"], ["b", second]);
    machine["states"]["inner"] = branches(["c", "work"], ["d", "work"]);
}

/// Returns a machine of two states with policies.
fn alone(dice: &mut Dice) -> Value {
    let states = json!({
        "work": state(dice, "next"),
        "next": state(dice, "work"),
        "review": {"policy": {"allowed_tools": ["Read"]}, "on": {
            "NEXT": {"branched": false, "transitions": [{"target": "return", "guards": []}]},
        }},
        "done": {"activity": {"final": {"outcome": "success"}}},
    });
    json!({
        "id": "m", "initial": "work", "limits": Limits::default(), "states": states, "guards": guards(dice),
        "interrupts": {"schema": {"file_pattern": "db/*", "target": "review"}},
        "context": {"n": dice.below(4), "text": "Some text", "list": [1, "a"], "deep": {"a/b": 1}},
    })
}

fn state(dice: &mut Dice, next: &str) -> Value {
    let transition = |target: &str, guards: Vec<String>| {
        let guards: Vec<Value> = guards.iter().map(|name| json!({"named": name})).collect();
        json!({"target": {"state": target}, "guards": guards})
    };
    let done = transition("done", some(dice, &["tested", "checked", "reported"], 2));
    let mut asked = transition(next, some(dice, &["tested", "entered", "size"], 3));
    asked["approval"] = json!({"message": "May it?"});
    json!({"policy": policy(dice), "on": {
        "DONE": {"branched": false, "transitions": [done]},
        "ASK": {"branched": false, "transitions": [asked]},
        "NEXT": {"branched": false, "transitions": [transition(next, some(dice, &["entered", "none"], 3))]},
    }})
}

fn entries(words: &[String]) -> Vec<Value> {
    words.iter().map(|text| json!({"text": text})).collect()
}

/// The commands that policies list.
const COMMANDS: &[&str] = &[
    "npm test",
    "npm",
    "make",
    "make all",
    "git commit -m",
    "git status",
    "cat",
    "env CI=1 npm test",
    "timeout 5 npm test",
    "node -e",
];

fn policy(dice: &mut Dice) -> Value {
    let mut policy = json!({});
    let tools = &[
        "Bash",
        "Edit",
        "Write",
        "Read",
        "Check",
        "WebFetch",
        "Task",
        "mcp__s__t",
    ];
    match dice.below(6) {
        0 => {}
        1 | 2 => policy["allowed_tools"] = json!(["Bash", "Read", "Check"]),
        3 => policy["allowed_tools"] = json!(["Bash", "Edit", "Write", "Read", "Task", "Other"]),
        _ => policy["allowed_tools"] = json!(some(dice, tools, 2)),
    }
    if dice.one_in(8) {
        policy["disallowed_tools"] = json!(some(dice, &["Edit", "Bash", "Check", "AskUser"], 3));
    }
    if dice.one_in(3) {
        policy["on_denied"] = json!("ask");
    }
    if dice.one_in(3) {
        policy["allowed_commands"] = json!(entries(&some(dice, COMMANDS, 2)));
    }
    if dice.one_in(3) {
        policy["background"] = json!(entries(&["npm test".to_owned()]));
    }
    for (key, of) in [
        ("iterations_max", [2, 5]),
        ("result_bytes_max", [10, 70]),
        ("edit_lines_max", [2, 5]),
        ("files_max", [1, 2]),
    ] {
        if dice.one_in(6) {
            policy[key] = json!(dice.number(&of));
        }
    }
    if dice.one_in(4) {
        policy["blocked_env"] = json!(["KEY"]);
    }
    if dice.one_in(6) {
        policy["secrets"] = json!("deny");
    }
    policy["shell_writes"] = json!(dice.one_in(8));
    policy
}

fn since(dice: &mut Dice) -> String {
    dice.word(&["last_edit", "last_edit", "state_entry", "run_start"])
}

fn guards(dice: &mut Dice) -> Value {
    let command = |text: &str| json!({"command": {"text": text, "words": text.split(' ').collect::<Vec<_>>(), "exit": 0}});
    let mut reported = json!({"of": command("make"), "since": since(dice),
        "report": {"source": {"format": "junit", "path": "r.xml"}, "passed": {"count": dice.below(3)}, "none_removed": dice.one_in(2)}});
    if dice.one_in(2) {
        reported["report"]["passed"] = json!("start");
    }
    if dice.one_in(3) {
        reported["frozen"] = json!(["tests/*"]);
    }
    let mut of = command("npm test");
    if dice.one_in(4) {
        of["command"]["directory"] = json!("sub");
    }
    if dice.one_in(4) {
        of["command"]["exit"] = json!(1);
    }
    let field = |field: &str, op: &str, value: Value| json!({"field": {"field": field, "op": op, "value": value}});
    let op = dice.word(&["eq", "neq", "gt", "gte", "lt", "lte", "in", "contains"]);
    json!({
        "tested": {"evidence": {"of": of, "since": since(dice)}},
        "checked": {"evidence": {"of": {"tool": {"tool": dice.word(&["Check", "mcp__*"]), "path": dice.one_in(2).then_some("./a")}}, "since": since(dice)}},
        "reported": {"evidence": reported},
        "entered": {"any": [{"named": "tested"}, {"inline": {"evidence": {"of": command("npm test"), "since": "state_entry"}}}]},
        "size": {"all": [{"inline": field("n", &op, json!(2))}, {"inline": {"not": {"named": "none"}}}]},
        "none": field("/deep/a~1b", "gt", json!(dice.below(2))),
        "text": field("text", &op, json!("Some")),
        "list": field("list", &op, json!("a")),
        "absent": field("absent", &op, json!(null)),
        "either": {"any": [{"named": "none"}, {"named": "unknown"}, {"named": "text"}, {"named": "list"}, {"named": "absent"}]},
    })
}
