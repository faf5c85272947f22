//! Composed guards: unknown results stay unknown, and repeated guards are evaluated once.

use std::sync::Arc;

use interlock_core::{
    command::{Command, CommandKind},
    decide,
    event::Event,
    guard::{Guard, GuardRef},
    holds::{Scope, evidence_holds, field_value, leaves, read, unmet},
    machine::Outcome,
    names::RunId,
    run::{Phase, Run},
};
use interlock_expr::expression::{Comparison, Expression, Node};
use serde_json::{Map, Value, json};

use crate::support::choice::choice;
use crate::support::started::started;

/// Returns a guard that holds.
fn yes() -> Value {
    json!({ "inline": { "field": { "field": "one", "op": "eq", "value": 1 } } })
}

/// Returns a guard that does not hold.
fn no() -> Value {
    json!({ "inline": { "field": { "field": "one", "op": "eq", "value": 2 } } })
}

/// Returns a guard that cannot be evaluated, because `absent` does not exist.
fn unknown() -> Value {
    let mut expression = Expression::default();
    let name = expression.push(Node::Name("absent".to_owned()));
    let ten = expression.push(Node::Literal(json!(10)));
    expression.push(Node::Compare(name, vec![(Comparison::Greater, ten)]));
    json!({ "inline": { "expression": { "text": "absent > 10", "expression": expression } } })
}

fn all(items: &[Value]) -> Value {
    json!({ "inline": { "all": items } })
}

fn any(items: &[Value]) -> Value {
    json!({ "inline": { "any": items } })
}

fn not(item: Value) -> Value {
    json!({ "inline": { "not": item } })
}

fn named(name: &str) -> Value {
    json!({ "named": name })
}

/// Returns whether a transition with this guard is taken.
fn holds(guard: &Value, guards: &Map<String, Value>) -> bool {
    let run = started(&choice(guard, &json!(guards), &json!({ "one": 1 })));
    matches!(
        run.phase,
        Phase::Ended {
            outcome: Outcome::Success,
            ..
        }
    )
}

/// Returns guards `g0`, `g1`, …, each composed of the next, and the last of `last`.
fn chain(length: usize, of: impl Fn(Value) -> Value, last: Value) -> Map<String, Value> {
    let mut guards = Map::new();
    for at in 0..length {
        let next = match at + 1 {
            next if next == length => last.clone(),
            next => named(&format!("g{next}")),
        };
        guards.insert(
            format!("g{at}"),
            of(next).pointer("/inline").unwrap().clone(),
        );
    }
    guards
}

#[test]
fn what_cannot_be_evaluated_holds_neither_way() {
    let rows = [
        (yes(), true),
        (no(), false),
        (not(no()), true),
        (unknown(), false),
        (not(unknown()), false),
        (not(not(unknown())), false),
        (any(&[unknown(), yes()]), true),
        (any(&[unknown(), no()]), false),
        (not(any(&[unknown(), no()])), false),
        (not(any(&[no(), unknown()])), false),
        (not(any(&[unknown(), yes()])), false),
        (all(&[unknown(), yes()]), false),
        (not(all(&[unknown(), yes()])), false),
        // One part that does not hold is sufficient, at any position.
        (not(all(&[unknown(), no()])), true),
        (not(all(&[no(), unknown()])), true),
        (named("nobody"), false),
        (not(named("nobody")), false),
    ];
    for (guard, wanted) in rows {
        assert_eq!(holds(&guard, &Map::new()), wanted, "{guard}");
    }
}

/// The result of a guard; `None` if it is unknown.
type Known = Option<bool>;

/// Returns a guard with this result.
fn guard_of(known: Known) -> Value {
    match known {
        Some(true) => yes(),
        Some(false) => no(),
        None => unknown(),
    }
}

#[test]
fn guards_of_guards_come_to_what_logic_of_three_values_says() {
    let values = [Some(true), Some(false), None];
    let mut lists: Vec<Vec<Known>> = vec![Vec::new()];
    for length in 0..3 {
        let longer = lists.iter().filter(|list| list.len() == length);
        let longer: Vec<Vec<Known>> = longer
            .flat_map(|list| values.map(|value| [list.as_slice(), &[value]].concat()))
            .collect();
        lists.extend(longer);
    }
    // The value that decides alone, and the result if no part has it and none is unknown.
    let comes_to = |list: &[Known], decides: bool| match list {
        list if list.contains(&Some(decides)) => Some(decides),
        list if list.contains(&None) => None,
        _ => Some(!decides),
    };
    for list in lists.iter().filter(|list| !list.is_empty()) {
        let items: Vec<Value> = list.iter().map(|known| guard_of(*known)).collect();
        for (guard, known) in [
            (any(&items), comes_to(list, true)),
            (all(&items), comes_to(list, false)),
        ] {
            let holds_now = |guard: &Value| holds(guard, &Map::new());
            assert_eq!(holds_now(&guard), known == Some(true), "{list:?} {guard}");
            let negated = not(guard.clone());
            assert_eq!(
                holds_now(&negated),
                known == Some(false),
                "{list:?} {negated}"
            );
            // The same inside one more guard, of either kind.
            for inner in [
                any(std::slice::from_ref(&guard)),
                all(std::slice::from_ref(&guard)),
            ] {
                let negated = not(inner);
                assert_eq!(
                    holds_now(&negated),
                    known == Some(false),
                    "{list:?} {negated}"
                );
            }
        }
    }
}

#[test]
fn guards_nested_too_deep_hold_neither_way() {
    for (length, wanted) in [(64, true), (65, false), (100, false)] {
        let guards = chain(length, |next| all(&[next]), yes());
        assert_eq!(holds(&named("g0"), &guards), wanted, "{length}");
        assert!(!holds(&not(named("g0")), &guards), "{length}");
        let written_out = (0..length).fold(yes(), |inner, _| all(&[inner]));
        assert_eq!(holds(&written_out, &Map::new()), wanted, "{length}");
    }
}

#[test]
fn guards_whose_parts_repeat_are_asked_once() {
    let twice = |next: Value| all(&[next.clone(), next]);
    let either = |next: Value| any(&[next.clone(), next]);
    assert!(holds(&named("g0"), &chain(60, twice, yes())));
    assert!(!holds(&named("g0"), &chain(60, either, no())));
    assert!(!holds(&named("g0"), &chain(60, either, unknown())));
}

/// Returns what a guard lacks: its name, the reason, and the key it read.
fn missed(guard: &Value, context: &Value, output: Value) -> String {
    let machine = choice(guard, &json!({ "g": no()["inline"] }), context);
    let mut run = started(&machine);
    run.root.line.output = Arc::new(output);
    let scope = Scope {
        machine: &machine,
        run: &run,
        frame: &run.root,
    };
    let guards: Vec<GuardRef> = serde_json::from_value(json!([guard])).unwrap();
    let told = unmet(scope, &guards).into_iter().map(|unmet| {
        let key = unmet
            .key
            .map_or_else(String::new, |key| format!(" ({key})"));
        format!("{}: {}{key}", unmet.guard, unmet.reason)
    });
    told.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_guard_says_what_it_saw_and_what_it_wanted() {
    let field = |field: &str, op: &str, value: Option<Value>, from: &str| {
        let mut guard = json!({ "field": field, "op": op, "from": from });
        if let Some(value) = value {
            guard["value"] = value;
        }
        json!({ "inline": { "field": guard } })
    };
    let context = json!({ "one": 1, "text": "abc", "a/b": { "c": null }, "list": [1, "x"] });
    let of_context = |name: &str, op: &str, value: Value| field(name, op, Some(value), "context");
    let output = |wanted: &str| json!({ "inline": { "output": wanted } });
    let long = "y".repeat(80);
    let several = |count: usize| {
        let parts: Vec<Value> = (2..2 + count)
            .map(|wanted| of_context("one", "eq", json!(wanted)))
            .collect();
        any(&parts)
    };
    let reason = |wanted: usize| format!("`one` is 1, wanted eq {wanted}");
    let rows = [
        (
            of_context("one", "eq", json!(1)),
            json!(null),
            String::new(),
        ),
        (
            of_context("one", "eq", json!(2)),
            json!(null),
            "one: `one` is 1, wanted eq 2 (one)".into(),
        ),
        (
            of_context("one", "neq", json!(1)),
            json!(null),
            "one: `one` is 1, wanted neq 1 (one)".into(),
        ),
        (
            of_context("one", "gt", json!(1)),
            json!(null),
            "one: `one` is 1, wanted gt 1 (one)".into(),
        ),
        (
            of_context("one", "gte", json!(2)),
            json!(null),
            "one: `one` is 1, wanted gte 2 (one)".into(),
        ),
        (
            of_context("one", "gte", json!(1)),
            json!(null),
            String::new(),
        ),
        (
            of_context("one", "lt", json!(1)),
            json!(null),
            "one: `one` is 1, wanted lt 1 (one)".into(),
        ),
        (
            of_context("one", "lte", json!(0)),
            json!(null),
            "one: `one` is 1, wanted lte 0 (one)".into(),
        ),
        (
            of_context("one", "lte", json!(1)),
            json!(null),
            String::new(),
        ),
        // Texts cannot be ordered.
        (
            of_context("text", "gt", json!("abb")),
            json!(null),
            "text: `text` is \"abc\", wanted gt \"abb\" (text)".into(),
        ),
        (
            of_context("one", "in", json!([2, 3])),
            json!(null),
            "one: `one` is 1, wanted in [2,3] (one)".into(),
        ),
        (
            of_context("one", "in", json!([2, 1.0])),
            json!(null),
            String::new(),
        ),
        (
            of_context("one", "in", json!(1)),
            json!(null),
            "one: `one` is 1, wanted in 1 (one)".into(),
        ),
        (
            of_context("text", "contains", json!("bc")),
            json!(null),
            String::new(),
        ),
        (
            of_context("list", "contains", json!("x")),
            json!(null),
            String::new(),
        ),
        (
            of_context("list", "contains", json!("y")),
            json!(null),
            "list: `list` is [1,\"x\"], wanted contains \"y\" (list)".into(),
        ),
        (
            of_context("one", "contains", json!(1)),
            json!(null),
            "one: `one` is 1, wanted contains 1 (one)".into(),
        ),
        (
            field("one", "exists", None, "context"),
            json!(null),
            String::new(),
        ),
        (
            field("none", "exists", None, "context"),
            json!(null),
            "none: `none` is missing, wanted exists (none)".into(),
        ),
        (
            field("/a~1b/c", "exists", None, "context"),
            json!(null),
            "/a~1b/c: `/a~1b/c` is null, wanted exists (a/b)".into(),
        ),
        (
            field("/a~1b/c", "not_exists", None, "context"),
            json!(null),
            String::new(),
        ),
        (
            field("one", "not_exists", None, "context"),
            json!(null),
            "one: `one` is 1, wanted not_exists (one)".into(),
        ),
        (
            of_context("/list/1", "eq", json!("x")),
            json!(null),
            String::new(),
        ),
        (
            of_context("/list/1", "eq", json!("z")),
            json!(null),
            "/list/1: `/list/1` is \"x\", wanted eq \"z\" (list)".into(),
        ),
        // A field of the output is not a key of the context.
        (
            field("code", "eq", Some(json!(0)), "output"),
            json!({"code": 1}),
            "code: `code` is 1, wanted eq 0".into(),
        ),
        (
            field("/code", "eq", Some(json!(1)), "output"),
            json!({"code": 1}),
            String::new(),
        ),
        (output("Yes"), json!(" yes\n"), String::new()),
        (
            output("Yes"),
            json!("no"),
            "output: it is \"no\", wanted `Yes`".into(),
        ),
        (output("1"), json!(1), "output: it is 1, wanted `1`".into()),
        // A value is shown with at most 60 characters.
        (
            output("x"),
            json!("y".repeat(58)),
            format!("output: it is \"{}\", wanted `x`", "y".repeat(58)),
        ),
        (
            output("x"),
            json!(long),
            format!("output: it is \"{}..., wanted `x`", "y".repeat(56)),
        ),
        (
            named("g"),
            json!(null),
            "g: `one` is 1, wanted eq 2 (one)".into(),
        ),
        (
            several(2),
            json!(null),
            format!("any: none of its parts holds: {}; {}", reason(2), reason(3)),
        ),
        (
            several(3),
            json!(null),
            format!(
                "any: none of its parts holds: {}; {}; {}",
                reason(2),
                reason(3),
                reason(4)
            ),
        ),
        (
            several(5),
            json!(null),
            format!(
                "any: none of its parts holds: {}; {}; {}; and 2 more",
                reason(2),
                reason(3),
                reason(4)
            ),
        ),
        (
            any(&[any(&[several(4), several(4), several(4)]), no()]),
            json!(null),
            {
                let inner = format!(
                    "none of its parts holds: {}; {}; {}; and 1 more",
                    reason(2),
                    reason(3),
                    reason(4)
                );
                let outer = format!("none of its parts holds: {inner}; {inner}; {inner}");
                let cut: String = outer.chars().take(240).collect();
                format!("any: none of its parts holds: {cut}…; {}", reason(2))
            },
        ),
        (
            json!({ "inline": { "code": 3 } }),
            json!(null),
            "code: it is none, wanted 3".into(),
        ),
        // The absence of a failure is not a failure with code 0.
        (
            json!({ "inline": { "code": 0 } }),
            json!(null),
            "code: it is none, wanted 0".into(),
        ),
        (
            json!({ "inline": "uncancelled" }),
            json!(null),
            "code: nothing failed".into(),
        ),
        (
            unknown(),
            json!(null),
            "absent > 10: it cannot be evaluated: `absent` has no value here".into(),
        ),
    ];
    for (guard, output, wanted) in rows {
        assert_eq!(missed(&guard, &context, output), wanted, "{guard}");
    }
}

#[test]
fn a_failure_is_read_by_its_code_and_by_whether_somebody_cancelled() {
    let machine = choice(&yes(), &json!({}), &json!({}));
    let mut run = started(&machine);
    for (cause, code_three, uncancelled) in [
        (None, false, false),
        (Some(json!({ "code": 3, "message": "" })), true, true),
        (Some(json!({ "code": 4, "message": "" })), false, true),
        (
            Some(json!({ "code": 3, "message": "", "cancelled": true })),
            true,
            false,
        ),
    ] {
        run.root.stay.failure = cause.map(|cause| serde_json::from_value(cause).unwrap());
        let holds = |guard: Value| {
            let scope = Scope {
                machine: &machine,
                run: &run,
                frame: &run.root,
            };
            let guards: Vec<GuardRef> = serde_json::from_value(json!([guard])).unwrap();
            unmet(scope, &guards).is_empty()
        };
        assert_eq!(holds(json!({ "inline": { "code": 3 } })), code_three);
        assert_eq!(holds(json!({ "inline": "uncancelled" })), uncancelled);
    }
}

#[test]
fn the_conditions_of_guards_are_told_one_by_one() {
    let checked = json!({ "inline": { "evidence": { "of": { "tool": { "tool": "Check", "path": null } } } } });
    let guard = all(&[checked, not(named("g")), named("g"), any(&[yes()])]);
    let machine = choice(
        &guard,
        &json!({ "g": no()["inline"] }),
        &json!({ "one": 1 }),
    );
    let mut run = started(&machine);
    let guards: Vec<GuardRef> = serde_json::from_value(json!([guard])).unwrap();
    let found = leaves(&machine, &guards);
    let [Guard::Evidence(evidence), Guard::Field(no), Guard::Field(_)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(field_value(&run.root, no), Some(json!(1)));
    let seen = json!({ "begun_seq": 1, "exit": 0, "ended_seq": null });
    for evidence_is_there in [false, true] {
        if evidence_is_there {
            let key = evidence.of.key();
            run.evidence
                .insert(key, serde_json::from_value(seen.clone()).unwrap());
        }
        let scope = Scope {
            machine: &machine,
            run: &run,
            frame: &run.root,
        };
        assert_eq!(evidence_holds(scope, evidence), evidence_is_there);
    }
}

#[test]
fn what_conditions_saw_is_told_up_to_the_way_that_was_taken() {
    let condition = |text: &str, name: &str, limit: i64| {
        let mut expression = Expression::default();
        let name = expression.push(Node::Name(name.to_owned()));
        let limit = expression.push(Node::Literal(json!(limit)));
        expression.push(Node::Compare(name, vec![(Comparison::Greater, limit)]));
        json!({ "inline": { "expression": { "text": text, "expression": expression } } })
    };
    let end = json!({ "activity": { "final": { "outcome": "success" } } });
    let way = |guards: Value, to: &str| json!({ "guards": guards, "target": { "state": to } });
    let machine = serde_json::from_value(json!({
        "id": "m", "initial": "a", "context": { "n": 5 },
        "guards": { "named": condition("not told", "n", 0)["inline"] },
        "states": {
            "a": { "activity": "choice", "on": { "done": { "transitions": [
                way(json!([condition("n > 10", "n", 10)]), "x"),
                way(json!([yes(), named("named"), condition("m > 1", "m", 1)]), "x"),
                way(json!([condition("n > 4", "n", 4)]), "y"),
                way(json!([condition("n > 3", "n", 3)]), "x"),
            ] } } },
            "x": end, "y": end,
        },
    }))
    .unwrap();
    let command = CommandKind::Start {
        input: Default::default(),
        by: "ana".to_owned(),
        durable: None,
    };
    let decision = decide(
        &machine,
        &Run::new(RunId::new("r")),
        &Command {
            at_ms: 1,
            kind: command,
        },
    );
    let seen: Vec<_> = decision
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TransitionSelected { conditions, .. } => Some(conditions),
            _ => None,
        })
        .flatten()
        .map(|seen| (seen.condition.as_str(), seen.holds, json!(seen.saw)))
        .collect();
    let wanted = [
        ("n > 10", Some(false), json!({ "n": 5 })),
        ("m > 1", None, json!({})),
        ("n > 4", Some(true), json!({ "n": 5 })),
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn a_question_rests_on_all_that_its_guards_read() {
    let machine = choice(&yes(), &json!({}), &json!({ "one": 1, "absent": 7 }));
    let run = started(&machine);
    let scope = Scope {
        machine: &machine,
        run: &run,
        frame: &run.root,
    };
    let output = json!(run.root.line.output.as_ref());
    let missing = json!({ "inline": { "field": { "field": "two", "op": "exists" } } });
    for (guard, wanted) in [
        (yes(), json!([[1]])),
        (missing, json!([[]])),
        (unknown(), json!([output, 7])),
        (all(&[yes(), not(unknown())]), json!([[1], output, 7])),
        (json!({ "inline": { "output": "x" } }), json!([output])),
        (json!({ "inline": { "code": 1 } }), json!([null])),
        (json!({ "inline": "uncancelled" }), json!([null])),
    ] {
        let guards: Vec<GuardRef> = vec![serde_json::from_value(guard.clone()).unwrap()];
        assert_eq!(json!(read(scope, &guards)), wanted, "{guard}");
    }
}
