//! Whatever interrupts it, a durable run reaches the same end, and no finished work is repeated.

use std::collections::BTreeMap;

use interlock_core::{
    command::{ActivityOutcome, CommandKind, Effect, EffectSettlement, EffectStatus},
    event::{Cause, Event},
    machine::Machine,
};
use serde_json::{Value, json};

use crate::durable::{
    driven::{Driven, called, end, key, machine, on_codes, plain, task, to},
    items::each,
};

/// An interruption between two steps of a run.
#[derive(Debug, Clone, Copy)]
enum Between {
    /// The runner ends, and another takes over.
    Crash,
    /// A person cancels the run, and reopens it.
    Cancel,
    /// A person moves the run to another version of its workflow, with the same states.
    Adopt,
    /// A person pauses the run, and resumes it.
    Pause,
}

/// Returns a command's outcome: `fails CODE TRIES` fails with that code this many times, all others output themselves.
fn outcome(effect: &Effect) -> ActivityOutcome {
    let command = effect.input.get("command").and_then(Value::as_str);
    let words: Vec<&str> = command.unwrap_or_default().split(' ').collect();
    match words.as_slice() {
        ["fails", code, tries] if effect.attempt <= tries.parse().unwrap() => {
            ActivityOutcome::Failed(Cause::new(code.parse::<i64>().unwrap(), "no"))
        }
        ["list"] => ActivityOutcome::done("a\nb\nc"),
        words => ActivityOutcome::done(format!("<{}>", words.join(" "))),
    }
}

fn interrupt(driven: &mut Driven, between: Between) {
    let by = || "ana".to_owned();
    match between {
        Between::Crash => {
            driven.accept(CommandKind::LoseEffects);
            let lost = |driven: &Driven| {
                let mut all = driven.effects().into_iter();
                all.find(|effect| effect.status == EffectStatus::Lost)
            };
            while let Some(effect) = lost(driven) {
                driven.accept(CommandKind::SettleEffect {
                    path: Some(effect.path),
                    how: EffectSettlement::Again,
                    by: by(),
                });
            }
        }
        Between::Cancel => {
            driven.accept(CommandKind::Cancel { by: by() });
            assert!(driven.effects().is_empty(), "nothing is carried out");
            driven.accept(CommandKind::Reopen { by: by() });
        }
        Between::Adopt => {
            let mut machine: Machine = driven.machine.clone();
            machine.meta.insert("version".to_owned(), json!(2));
            let machine = machine.seal();
            driven.accept(CommandKind::Adopt {
                machine: Box::new(machine.clone()),
                by: by(),
            });
            driven.machine = machine;
        }
        Between::Pause => {
            driven.accept(CommandKind::Pause {
                by: by(),
                reason: None,
            });
            driven.accept(CommandKind::Resume {
                by: by(),
                seen: None,
            });
        }
    }
}

/// The end of a run.
#[derive(Debug, PartialEq)]
struct End {
    code: Option<u8>,
    context: Value,
    /// How often the activity of each frame succeeded.
    done: BTreeMap<String, usize>,
}

/// Plays a run to its end, with an interruption after `at` steps; returns `None` if it had ended before.
fn played(whole: &Value, between: Option<(Between, usize)>) -> Option<End> {
    let mut driven = Driven::start(whole.clone());
    let mut interrupted = between.is_none();
    for step in 0.. {
        assert!(step < 1_000, "it does not end");
        if let Some((between, at)) = between
            && at == step
            && driven.code().is_none()
        {
            interrupt(&mut driven, between);
            interrupted = true;
        }
        let effects = driven.effects();
        let running = |effect: &&Effect| effect.status == EffectStatus::Running;
        // The one that began last, because branches need not end in the order in which they began.
        if let Some(effect) = effects.iter().rev().find(running) {
            driven.accept(CommandKind::EndActivity {
                path: Some(effect.path.clone()),
                outcome: outcome(effect),
            });
            continue;
        }
        let Some(due) = effects.iter().find_map(|effect| match effect.status {
            EffectStatus::Waiting(due) => Some(due),
            _ => None,
        }) else {
            break;
        };
        driven.at_ms = driven.at_ms.max(due);
        driven.accept(CommandKind::Advance);
    }
    let mut done = BTreeMap::new();
    for event in &driven.log {
        if let Event::ActivityEnded {
            path, error: None, ..
        } = event
        {
            *done.entry(path.to_string()).or_default() += 1;
        }
    }
    let end = End {
        code: driven.code(),
        context: json!(driven.run.root.line.context.as_ref()),
        done,
    };
    assert!(driven.run.is_over(), "{:?}", driven.effects());
    interrupted.then_some(end)
}

/// Returns durable runs of each shape.
fn shapes(on_crash: &str) -> Vec<(&'static str, Value)> {
    let step = |command: &Value, on: &Value, name: &str| {
        let more = json!({
            "capture": {"key": name}, "on_crash": on_crash,
            "retry": {"attempts": 2, "wait_ms": 100, "backoff": "1", "wait_max_ms": 100, "codes": [7]},
        });
        task(command, on, &more)
    };
    let branch = |name: &str, command: &str, states: &mut Value| {
        let next = format!("par/{name}2");
        let on = json!({"done": to(&next)});
        states[format!("par/{name}")] = step(&plain(command), &on, &format!("{name}1"));
        states[&next] = step(&key(&format!("{name}1")), &json!({"done": end()}), name);
    };
    let fork = |join: &str, at_once: usize, y: &str, on: &Value| {
        let mut states = json!({
            "par": {
                "activity": {"parallel": {
                    "over": {"branches": {
                        "x": {"initial": "par/x", "terminal": ""},
                        "y": {"initial": "par/y", "terminal": ""},
                        "z": {"initial": "par/z", "terminal": ""},
                    }},
                    "join": join, "merge": "captured", "concurrency": at_once,
                }},
                "on": on,
            },
        });
        branch("x", "x", &mut states);
        branch("y", y, &mut states);
        branch("z", "fails 7 1", &mut states);
        states["after"] = step(&plain("after"), &json!({"done": end()}), "last");
        states["handler"] = step(
            &json!([{"hole": {"error": "code"}}, {"plain": " "}, {"hole": {"error": "state"}}]),
            &json!({"done": end()}),
            "caught",
        );
        states
    };
    let on = json!({"done": to("after"), "error": on_codes(&[(4, "handler")], None)});
    let whole = |states: &Value, machines: &Value| machine(&json!({}), states, machines);
    let chain = json!({
        "one": step(&plain("fails 7 1"), &json!({"done": to("two")}), "one"),
        "two": step(&key("one"), &json!({"done": end()}), "two"),
    });
    let calls = json!({
        "call": {
            "activity": {"call": {"machine": "sub", "passed": {"who": plain("ana")}, "namespace": "sub"}},
            "capture": {"key": "handed"},
            "on": {"done": to("after")},
        },
        "after": step(&key("handed"), &json!({"done": end()}), "last"),
    });
    let body = json!({
        "step": step(&key("item"), &json!({"done": to("next")}), "seen"),
        "next": step(&plain("fails 7 1"), &json!({"done": end()}), "index_seen"),
    });
    let calls_in_items = json!({
        "step": {
            "activity": {"call": {"machine": "sub", "passed": {"who": key("item")}, "namespace": "sub"}},
            "capture": {"key": "seen"},
            "on": {"done": end()},
        },
    });
    let list = |body: &Value| {
        let mut whole = each(false, body, &json!({"done": to("after")}));
        for state in ["list", "after"] {
            whole["states"][state]["on_crash"] = json!(on_crash);
        }
        whole
    };
    let mut forks_in_items = list(&calls_in_items);
    forks_in_items["machines"]["sub"] = called(
        "sub",
        &fork("settled", 2, "y", &json!({"done": to("after")})),
    );
    vec![
        ("chain", whole(&chain, &json!({}))),
        ("fork", whole(&fork("settled", 3, "y", &on), &json!({}))),
        (
            "fork, one at a time",
            whole(&fork("settled", 1, "y", &on), &json!({})),
        ),
        (
            "fork that fails",
            whole(&fork("settled", 2, "fails 4 9", &on), &json!({})),
        ),
        (
            "call",
            whole(&calls, &json!({"sub": called("sub", &chain)})),
        ),
        ("items", list(&body)),
        ("forks in calls in items", forks_in_items),
    ]
}

#[test]
fn whatever_comes_between_a_run_comes_to_the_same_end() {
    for on_crash in ["ask", "retry"] {
        for (name, whole) in shapes(on_crash) {
            let straight = played(&whole, None).unwrap();
            assert_eq!(straight.code, Some(0), "{name}");
            for between in [
                Between::Crash,
                Between::Cancel,
                Between::Adopt,
                Between::Pause,
            ] {
                let mut at = 0;
                while let Some(end) = played(&whole, Some((between, at))) {
                    assert_eq!(end, straight, "{name}, {between:?} after {at} steps");
                    at += 1;
                }
                assert!(at > 2, "{name}: {at} steps");
            }
        }
    }
}
