//! Limits are exact: the maximum passes, and one more does not; and comparisons in tests.

use interlock_core::{
    command::{ActivityOutcome, CommandKind},
    event::{Cause, Passing},
    machine::Limits,
    run::Phase,
};
use serde_json::{Value, json};

use crate::durable::driven::{Driven, called, end, key, machine, on_codes, plain, task, to};

/// Returns the machine with another limit.
fn limited(mut machine: Value, limit: &str, most: usize) -> Value {
    machine["limits"] = serde_json::to_value(Limits::default()).unwrap();
    machine["limits"][limit] = json!(most);
    machine
}

/// Returns states that continue by themselves, one after the other, and then a task.
fn chain(tests: usize) -> Value {
    let mut states = serde_json::Map::new();
    for number in 0..tests {
        let next = to(&format!("s{}", number + 1));
        let activity = json!({ "test": { "left": plain("x"), "op": "value" } });
        states.insert(
            format!("s{number}"),
            json!({ "activity": activity, "on": { "done": next } }),
        );
    }
    let last = task(&plain("last"), &json!({ "done": end() }), &json!({}));
    states.insert(format!("s{tests}"), last);
    machine(&json!({}), &Value::Object(states), &json!({}))
}

#[test]
fn so_many_states_follow_each_other_in_one_command_and_no_more() {
    let run = |tests: usize, steps_max: usize| {
        Driven::start(limited(chain(tests), "steps_max", steps_max))
    };
    assert_eq!(run(4, 4).running().len(), 1);
    let stopped = run(4, 3);
    assert!(stopped.running().is_empty(), "it never gets there");
    assert!(stopped.run.is_over());
}

#[test]
fn calls_nest_so_deep_and_no_deeper() {
    let call = |machine: &str, error: &Value| {
        json!({
            "in": {
                "activity": { "call": { "machine": machine } },
                "on": { "done": end(), "error": error },
            },
            "handler": task(&plain("too deep"), &json!({ "done": end() }), &json!({})),
        })
    };
    let handled = on_codes(&[], Some("handler"));
    let run = |depth_max: usize| {
        let work = json!({ "work": task(&plain("work"), &json!({ "done": end() }), &json!({})) });
        let machines = json!({
            "outer": called("outer", &call("inner", &handled)),
            "inner": called("inner", &work),
        });
        let whole = machine(&json!({}), &call("outer", &handled), &machines);
        let driven = Driven::start(limited(whole, "call_depth_max", depth_max));
        driven.running().pop().unwrap().1
    };
    assert_eq!(run(2), "work");
    assert_eq!(run(1), "too deep");
}

#[test]
fn what_is_compared_has_no_blanks_around_it() {
    let run = |left: &str, op: &str, right: &str| {
        let states = json!({
            "look": {
                "activity": { "test": { "left": plain(left), "op": op, "right": plain(right) } },
                "on": { "done": to("show") },
                "capture": { "key": "seen" },
            },
            "show": task(&key("seen"), &json!({ "done": end() }), &json!({})),
        });
        let driven = Driven::start(machine(&json!({ "seen": "" }), &states, &json!({})));
        driven.running().pop().unwrap().1
    };
    assert_eq!(run(" a\n", "equal", "a"), "true");
    assert_eq!(run("a", "not_equal", " a "), "false");
    assert_eq!(run("a b", "equal", "ab"), "false");
    assert_eq!(run(" 10\n", "greater", "9"), "true");
}

#[test]
fn how_often_something_was_tried_is_said_where_it_was_more_than_once() {
    let message = |attempts: u32| {
        let retry = json!({ "retry": { "attempts": attempts, "wait_ms": 1, "backoff": "1", "wait_max_ms": 1 } });
        let states = json!({ "one": task(&plain("a"), &json!({ "done": end() }), &retry) });
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        for _ in 0..attempts {
            driven.at_ms += 10;
            driven.ask(CommandKind::Advance);
            driven.accept(CommandKind::EndActivity {
                path: None,
                outcome: ActivityOutcome::Failed(Cause {
                    passing: Some(Passing::default()),
                    ..Cause::new(5, "no answer")
                }),
            });
        }
        let Phase::Ended {
            cause: Some(cause), ..
        } = driven.run.phase
        else {
            unreachable!("it fails")
        };
        cause.message
    };
    assert!(message(3).ends_with("no answer (3 attempts)"));
    assert!(message(1).ends_with("no answer"));
}

#[test]
fn calls_are_counted_along_the_way_to_where_they_stand() {
    let call = |machine: &str| json!({ "activity": { "call": { "machine": machine } }, "on": { "done": end(), "error": on_codes(&[], Some("handler")) } });
    let handler = task(&plain("too deep"), &json!({ "done": end() }), &json!({}));
    let work = |text: &str| task(&plain(text), &json!({ "done": end() }), &json!({}));
    let states = json!({
        "par": {
            "activity": { "parallel": {
                "over": { "branches": {
                    "a": { "initial": "par/a", "terminal": "" },
                    "b": { "initial": "par/b", "terminal": "" },
                } },
                "join": "settled", "merge": "captured",
            } },
            "on": { "done": end() },
        },
        "par/a": work("beside"), "par/b": call("outer"), "handler": handler,
    });
    let machines = json!({
        "outer": called("outer", &json!({ "in": call("inner"), "handler": handler })),
        "inner": called("inner", &json!({ "work": work("work") })),
    });
    let whole = machine(&json!({}), &states, &machines);
    for (depth_max, deepest) in [(2, "work"), (1, "too deep")] {
        let driven = Driven::start(limited(whole.clone(), "call_depth_max", depth_max));
        let running: Vec<String> = driven.running().into_iter().map(|(_, text)| text).collect();
        assert_eq!(running, ["beside", deepest]);
    }
}

#[test]
fn a_wait_ends_as_soon_as_its_time_is_over() {
    let states = json!({"rest": {"activity": {"wait": {"wait_ms": 500}}, "on": {"done": end()}}});
    for (at_ms, ends) in [(1_499, false), (1_500, true), (9_000, true)] {
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        driven.at_ms = at_ms;
        driven.accept(CommandKind::Advance);
        assert_eq!(driven.code() == Some(0), ends, "{at_ms}");
    }
}
