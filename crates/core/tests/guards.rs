//! Guards made of guards: what cannot be told stays so, and what repeats is asked once.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "support/choice.rs"]
mod choice;
#[path = "support/started.rs"]
mod started;

use interlock_core::{machine::Outcome, run::Phase};
use interlock_expr::expression::{Comparison, Expression, Node};
use serde_json::{Map, Value, json};

use choice::choice;
use started::started;

/// A guard that holds.
fn yes() -> Value {
    json!({ "inline": { "field": { "field": "one", "op": "eq", "value": 1 } } })
}

/// A guard that does not.
fn no() -> Value {
    json!({ "inline": { "field": { "field": "one", "op": "eq", "value": 2 } } })
}

/// A guard that cannot be evaluated: nothing is called `absent`.
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

/// Tells whether a transition with this guard is taken.
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

/// Returns guards `g0`, `g1`, … of which each is made of the next, the last of `last`.
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
        // One part that does not hold is enough, wherever it stands.
        (not(all(&[unknown(), no()])), true),
        (not(all(&[no(), unknown()])), true),
        (named("nobody"), false),
        (not(named("nobody")), false),
    ];
    for (guard, wanted) in rows {
        assert_eq!(holds(&guard, &Map::new()), wanted, "{guard}");
    }
}

#[test]
fn guards_nested_too_deep_hold_neither_way() {
    for (length, wanted) in [(60, true), (100, false)] {
        let guards = chain(length, |next| all(&[next]), yes());
        assert_eq!(holds(&named("g0"), &guards), wanted, "{length}");
        assert!(!holds(&not(named("g0")), &guards), "{length}");
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
