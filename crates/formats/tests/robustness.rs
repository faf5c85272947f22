//! Reading any text terminates with a result.

use std::sync::LazyLock;

use interlock_formats::{NoWorkflows, Source, Workflows, check, render};
use proptest::prelude::*;

use crate::support::mutations::mutated;

/// A workflow that uses every feature.
const YAML: &str = r#"
id: everything
initial: a
context: &c {x: 1, y: [1.5, "zwei", null, ~], z: {deep: {er: true}}}
meta: {danger_level: safe, requires_human_approval: false, more: *c}
guards:
  one: {field: x, op: gte, value: 1}
  two: {all: [one, {not: {field: /z/deep/er, op: eq, value: false}}]}
  three: {any: [two, {evidence: {command: cargo test, exit: 0, since: state_entry}}]}
interrupts:
  sql: {trigger: {file_pattern: "db/**/*.{sql,ddl}"}, target: h}
machines:
  m: {initial: x, states: {x: {allowed_tools: [Read], on: {OK: y, AGAIN: {invoke: everything, on_complete: y}}}, y: {type: final}}}
states:
  a: # a comment
    allowed_tools: [Read, Bash, "mcp__*"]
    allowed_commands: [cargo test, "npm test *"]
    blocked_env: [SECRET]
    env: {A: 'b'}
    max_iterations: 10
    instructions: >-
      Folded
      text.
    safe_next: b
    on:
      GO: {target: b, guards: [one, two], requires_approval: true, approval_message: "Sure?"}
      EITHER:
        - {target: end, guard: three}
        - target: b
      FORK: {fork: {branches: {l: {initial: c, terminal: d}, r: {initial: c, terminal: d}}, join: all, on_complete: b, on_fail: end}}
      CALL: {invoke: m, input: {x: 2}, output: [x], on_complete: b}
  b: {allowed_tools: [Edit], on: {DONE: end, AGAIN: a}}
  c: {allowed_tools: [Read], on: {OK: d}}
  d: {}
  h: {allowed_tools: [Read], on: {OK: $return, FAIL: end}}
  end: {type: final, outcome: failure}
"#;

/// A pipeline that uses every feature.
const PIPELINE: &str = r#"
id: everything
entry: A
settings: {mode: ask, tools: [Read, Edit], parallelStageCap: 2, retry: {maxAttempts: 2, initialInterval: 1s}, budget: {usd: 1.5}}
input: {task: {type: string}, n: {type: integer, default: 3}}
context: {lang: {name: rust}}
guards: {good: {field: v, op: eq, value: yes}}
stages:
  A:
    body: |
      Do ${ctx.task} in ${ctx.lang.name}, $${ctx.x} and ${HOME}.
    allowedTools: [Read]
    completionTool: submit
    completionSchema: {$defs: {d: {type: string}}, properties: {v: {enum: [yes, no]}, d: {$ref: '#/$defs/d'}, l: {type: array, items: {type: object, properties: {f: {}}}}}, required: [v]}
    turnCap: 3
    gate: [{field: task, op: exists}]
    assert: [{any: [good, {field: /l/0/f, op: exists}], else: retry, message: none}]
    modelOptions: {thinking: low}
    approvalBefore: "Begin ${ctx.task}?"
    on: {CAP: fail, SKIP: J}
    next: {parallel: [B, C], join: J, onFail: fail}
  B: {body: "${ctx.upstream.A.l.0.f}", allowedTools: [], completionTool: b, completionSchema: {}, turnCap: 1, next: {stages: [D], execution: sequential}}
  D: {body: "", allowedTools: [], completionTool: b, completionSchema: {}, turnCap: 1, next: end}
  C: {body: "${ctx.error.code}", allowed_tools: [], completion_tool: c, completion_schema: {}, turn_cap: 1, next: J}
  J: {body: "${ctx.upstream.B} ${ctx.upstream.C}", allowedTools: [], completionTool: j, completionSchema: {}, turnCap: 1, next: [{guard: {not: good}, target: A}, {target: end}]}
"#;

static JSON: LazyLock<String> = LazyLock::new(|| {
    let text = include_str!("cases/pages/complete.json");
    text.replace("\"id\"", "\"x\\u00e9\\n\": -1.5e3, \"id\"")
});

/// Resolves every name to the same workflow.
struct Everything;

impl Workflows for Everything {
    fn find(&self, _id: &str) -> Option<Result<Source, String>> {
        Some(Ok(Source::new("other.yaml", YAML)))
    }
}

fn survives(name: &str, text: String) {
    let others: [&dyn Workflows; 2] = [&NoWorkflows, &Everything];
    for others in others {
        let said = check(&Source::new(name, text.clone()), others);
        assert!(said.iter().all(|found| found.line > 0 && found.column > 0));
        let _ = render(&said, text.len().is_multiple_of(2));
    }
}

/// Changes some places of a text.
fn changed(text: &'static str) -> impl Strategy<Value = String> {
    mutated(
        text,
        "[-{}\\[\\]:,#&*!|>'\"%@`?~ \\n]{1,4}",
        &[
            "\u{feff}",
            "\r\n",
            "null",
            "99999999999999999999",
            "$return",
        ],
        5,
    )
}

#[test]
fn the_workflow_the_mutations_start_from_is_in_order() {
    let said = check(&Source::new("w.yaml", YAML), &NoWorkflows);
    assert!(
        said.iter()
            .all(|found| found.code == "unbounded_loop" || found.code == "privilege_jump"),
        "{}",
        render(&said, false)
    );
}

#[test]
fn the_pipeline_the_mutations_start_from_is_in_order() {
    let said = check(&Source::new("w.yaml", PIPELINE), &NoWorkflows);
    let errors = said
        .iter()
        .filter(|found| found.severity == interlock_formats::Severity::Error);
    assert_eq!(errors.count(), 0, "{}", render(&said, false));
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        survives("w.yaml", text.clone());
        survives("w.json", text);
    }

    #[test]
    fn any_text_of_signs_is_answered(text in "[-a{}\\[\\]:,#&*!|>'\"%@`?~ \\n\\t\\\\0-9.]{0,60}") {
        survives("w.yaml", text.clone());
        survives("w.json", text);
    }

    #[test]
    fn any_mutated_yaml_is_answered(text in changed(YAML)) {
        survives("w.yaml", text);
    }

    #[test]
    fn any_mutated_pipeline_is_answered(text in changed(PIPELINE)) {
        survives("w.yaml", text);
    }

    #[test]
    fn any_mutated_json_is_answered(text in changed(&JSON)) {
        survives("w.json", text.clone());
        survives("w.yaml", text);
    }
}
