//! Conditions written as text route a run, by the output and the context.

use interlock_core::{
    command::{Command, CommandKind},
    decide,
    event::Event,
    evolve,
    machine::Outcome,
    names::RunId,
    run::{Phase, Run},
};
use interlock_expr::expression::{Comparison, Expression, Node};
use serde_json::{Value, json};

use crate::support::choice::choice;

/// Returns the expression `NAME > 10`.
fn over_ten(name: &str) -> Expression {
    let mut expression = Expression::default();
    let name = expression.push(Node::Name(name.to_owned()));
    let ten = expression.push(Node::Literal(json!(10)));
    expression.push(Node::Compare(name, vec![(Comparison::Greater, ten)]));
    expression
}

/// Starts a run that succeeds if the guard holds, and returns its outcome.
fn outcome(expression: &Expression, context: &Value) -> Outcome {
    let guard =
        json!({ "inline": { "expression": { "text": "n > 10", "expression": expression } } });
    let machine = choice(&guard, &json!({}), context);
    let run = Run::new(RunId::new("r"));
    let command = CommandKind::Start {
        input: json!({}).as_object().unwrap().clone(),
        by: "ana".to_owned(),
        durable: None,
    };
    let decision = decide(
        &machine,
        &run,
        &Command {
            at_ms: 1,
            kind: command,
        },
    );
    let ended = decision.events.iter().fold(run, |run, event| {
        let text = serde_json::to_string(event).unwrap();
        evolve(run, &serde_json::from_str::<Event>(&text).unwrap())
    });
    match ended.phase {
        Phase::Ended { outcome, .. } => Some(outcome),
        _ => None,
    }
    .unwrap()
}

#[test]
fn an_expression_chooses_the_way() {
    let n = over_ten("n");
    assert_eq!(outcome(&n, &json!({ "n": 15 })), Outcome::Success);
    assert_eq!(outcome(&n, &json!({ "n": "15" })), Outcome::Success);
    assert_eq!(outcome(&n, &json!({ "n": 9 })), Outcome::Failure);
}

#[test]
fn an_expression_without_a_value_does_not_hold() {
    assert_eq!(
        outcome(&over_ten("missing"), &json!({ "n": 15 })),
        Outcome::Failure
    );
    assert_eq!(
        outcome(&over_ten("n"), &json!({ "n": "prose" })),
        Outcome::Failure
    );
    assert_eq!(
        outcome(&Expression::default(), &json!({})),
        Outcome::Failure
    );
}

#[test]
fn a_damaged_expression_ends_as_one_that_does_not_hold() {
    let circle: Expression = serde_json::from_value(json!([{ "not": 0 }])).unwrap();
    assert_eq!(outcome(&circle, &json!({})), Outcome::Failure);
}
