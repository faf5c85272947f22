//! Every row of the tables of transforms, from the `config` of a file to the output.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{fs, sync::Arc};

use interlock_core::{
    dialogue::{Conversation, Message, Speaker},
    machine::Object,
};
use interlock_expr::number::deep_equal;
use interlock_nodes::{Inputs, TransformNode, transform};
use serde::Deserialize;
use serde_json::{Value, json};

/// A line of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    config: Value,
    #[serde(default)]
    context: Object,
    #[serde(default)]
    input: Value,
    /// What persons (and, behind `model:`, models) said.
    #[serde(default)]
    said: Vec<String>,
    #[serde(default)]
    strict: bool,
    output: Option<Value>,
    error: Option<String>,
    /// Parts of what must be warned of; left out: of nothing.
    #[serde(default)]
    warned: Vec<String>,
}

fn faults(value: &Value, schema: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors = validator.iter_errors(value);
    errors.map(|error| error.to_string()).collect()
}

fn said(line: &str) -> Message {
    let (by, text) = match line.strip_prefix("model:") {
        Some(text) => (Speaker::Model, text),
        None => (Speaker::Person, line),
    };
    Message {
        by,
        text: text.to_owned(),
    }
}

fn check(case: &Case) {
    let name = &case.name;
    let node = super::transform(&case.config, case.strict).unwrap();
    // A machine read from a log has the same node.
    let kept = serde_json::to_string(&node).unwrap();
    let node: TransformNode = serde_json::from_str(&kept).unwrap();
    let given = Inputs {
        context: Arc::new(case.context.clone()),
        dialogue: Arc::new(Conversation {
            history: case.said.iter().map(|line| said(line)).collect(),
            task: json!("the task"),
            ..Conversation::default()
        }),
        input: case.input.clone(),
        beside: Object::new(),
    };
    let warnings = match (transform(&node, &given, faults), &case.output, &case.error) {
        (Ok(made), Some(wanted), None) => {
            assert!(
                deep_equal(&made.output, wanted),
                "{name}: {} instead of {wanted}",
                made.output
            );
            made.warnings
        }
        (Err(error), None, Some(wanted)) => {
            assert!(error.message.contains(wanted.as_str()), "{name}: {error}");
            assert_eq!(error.code, "transform_error", "{name}");
            Vec::new()
        }
        (found, ..) => unreachable!("{name}: {found:?}"),
    };
    assert_eq!(
        warnings.len(),
        case.warned.len(),
        "{name}: warned of {warnings:?}"
    );
    for (warning, wanted) in warnings.iter().zip(&case.warned) {
        assert!(warning.contains(wanted.as_str()), "{name}: {warning}");
    }
}

#[test]
fn transforms_do_what_their_tables_say() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/cases/codemie/transform.jsonl"
    );
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        check(&serde_json::from_str(line).unwrap());
        count += 1;
    }
    assert!(count >= 60, "only {count} cases");
}

#[test]
fn a_script_that_leaves_the_language_is_no_node() {
    for script in ["__import__('os')", "[x for x in y]", "open('f')", ""] {
        let config = json!({"mappings": [
            {"output_field": "a", "type": "script", "script": script},
        ]});
        assert_eq!(super::transform(&config, false), None, "{script}");
    }
}
