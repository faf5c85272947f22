//! Arguments of tool states, and outputs from their results: one case per line.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::sync::Arc;

use interlock_core::machine::Object;
use interlock_expr::number::deep_equal;
use interlock_nodes::{
    Inputs, NodeError, NodeOutput, ToolWork,
    tool::{arguments, output},
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    work: ToolWork,
    #[serde(default)]
    context: Object,
    #[serde(default)]
    beside: Object,
    #[serde(default)]
    schema: Value,
    arguments: Option<Value>,
    result: Option<String>,
    output: Option<Value>,
    error: Option<String>,
    says: Option<String>,
    /// Parts of the expected warnings; if left out, there must be none.
    #[serde(default)]
    warned: Vec<String>,
}

fn made(case: &Case) -> Result<NodeOutput, NodeError> {
    let given = Inputs {
        context: Arc::new(case.context.clone()),
        beside: case.beside.clone(),
        ..Inputs::default()
    };
    match &case.result {
        None => arguments(&case.work, &case.schema, &given),
        Some(result) => output(&case.work, result, &given),
    }
}

fn check(case: &Case) {
    let name = &case.name;
    let wanted = case.arguments.as_ref().or(case.output.as_ref());
    match (made(case), wanted, &case.error) {
        (Ok(made), Some(wanted), None) => {
            let found = &made.output;
            assert!(deep_equal(found, wanted), "{name}: {found}");
            assert_eq!(
                made.warnings.len(),
                case.warned.len(),
                "{name}: warned of {:?}",
                made.warnings
            );
            for (warning, part) in made.warnings.iter().zip(&case.warned) {
                assert!(warning.contains(part.as_str()), "{name}: {warning}");
            }
        }
        (Err(error), None, Some(code)) => {
            assert_eq!(error.code, code, "{name}: {error}");
            let part = case.says.as_deref().unwrap_or_default();
            assert!(error.message.contains(part), "{name}: {error}");
        }
        (found, ..) => unreachable!("{name}: {found:?}"),
    }
}

#[test]
fn tool_states_do_what_their_table_says() {
    let text = include_str!("../../../tests/cases/codemie/tool-states.jsonl");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= 40, "only {} cases", lines.len());
    for line in lines {
        check(&serde_json::from_str(line).unwrap());
    }
}
