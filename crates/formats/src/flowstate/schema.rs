//! The JSON Schema of FlowState files, for editors.
//!
//! An editor reads scalars with their types; here they are the text that is
//! written, so a text may be a number or a truth value to the schema.

use serde_json::{Map, Value, json};

use super::tools::{Argument, Shape, TESTS, TOOLS, Tool};

/// One key of an object: its name, its schema, what it does.
type Row = (&'static str, Value, &'static str);

/// Returns the JSON Schema (draft 2020-12) of a FlowState file.
pub(crate) fn schema() -> Value {
    let mut definitions = Map::from_iter([
        ("state".to_owned(), state()),
        ("task".to_owned(), task()),
        ("tool".to_owned(), object(tool_rows(), &["command"])),
        ("retry".to_owned(), retry()),
        ("text".to_owned(), text()),
        ("output".to_owned(), output()),
        ("source".to_owned(), with_tools(source_rows(), &["tool"])),
    ]);
    for (name, arguments) in every_tool() {
        definitions.insert(format!("{name} arguments"), arguments);
    }
    let mut schema = object(top_rows(), &[]);
    if let Value::Object(top) = &mut schema {
        top.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        top.insert("$id".to_owned(), json!(crate::schema::id("flowstate")));
        top.insert("title".to_owned(), json!("FlowState workflow"));
        top.insert(
            "anyOf".to_owned(),
            json!([{ "required": ["start-at", "states"] }, { "required": ["extends"] }]),
        );
        top.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn reference(key: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{}", key.replace(' ', "%20")) })
}

/// Any scalar: it is read as the text that is written.
fn text() -> Value {
    json!({ "type": ["string", "number", "boolean", "null"] })
}

/// A scalar that names something, and takes no template.
fn name() -> Value {
    json!({ "type": ["string", "number", "boolean"], "not": { "pattern": "\\{\\{" } })
}

fn flag() -> Value {
    json!({ "type": ["boolean", "string"] })
}

fn map_of(value: Value) -> Value {
    json!({ "type": ["object", "null"], "additionalProperties": value })
}

/// A value that may as well be left empty.
fn or_null(value: Value) -> Value {
    json!({ "anyOf": [value, { "type": "null" }] })
}

fn object(rows: Vec<Row>, required: &[&str]) -> Value {
    let properties: Map<String, Value> = rows
        .into_iter()
        .map(|(name, mut value, doc)| {
            if let Value::Object(value) = &mut value {
                value.insert("description".to_owned(), json!(doc));
            }
            (name.to_owned(), value)
        })
        .collect();
    let mut object = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if let (Value::Object(object), false) = (&mut object, required.is_empty()) {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn top_rows() -> Vec<Row> {
    vec![
        (
            "name",
            or_null(name()),
            "The name of the workflow. Default: that of its file.",
        ),
        ("start-at", or_null(name()), "The initial state."),
        ("states", states(), "Every state by name; the order counts."),
        (
            "variables",
            map_of(text()),
            "Variables with their initial texts.",
        ),
        (
            "extends",
            or_null(name()),
            "The workflow whose states, variables and tools this one inherits.",
        ),
        (
            "description",
            or_null(name()),
            "A description, shown in lists.",
        ),
        (
            "shell-safe",
            or_null(flag()),
            "Whether values reach bash as environment variables only.",
        ),
        (
            "cwd",
            or_null(name()),
            "Where bash runs unless a state says otherwise: `@/` is the project.",
        ),
        (
            "tools",
            map_of(reference("tool")),
            "Tools that this file defines.",
        ),
        (
            "max-transitions",
            or_null(json!({ "type": ["integer", "string"], "minimum": 1 })),
            "Maximum number of states that a run enters.",
        ),
    ]
}

fn states() -> Value {
    json!({
        "type": "object", "minProperties": 1,
        "propertyNames": { "pattern": "^[^/]+$" },
        "additionalProperties": reference("state"),
    })
}

fn state_rows() -> Vec<Row> {
    let mut rows = source_rows();
    rows.extend([
        (
            "output",
            or_null(reference("output")),
            "Where the output goes.",
        ),
        (
            "next",
            or_null(name()),
            "The state after success. Default: the run ends.",
        ),
        ("on-error", on_error(), "The state after each failing code."),
        (
            "goto",
            map_of(name()),
            "The state for each output; `_` is for the rest.",
        ),
        (
            "start-at",
            name(),
            "The initial state of the body of `for-each`.",
        ),
        ("states", states(), "The body of `for-each`."),
        (
            "on-crash",
            or_null(json!({ "enum": ["ask", "retry", "fail"] })),
            "What happens to the state if the run is interrupted here.",
        ),
        ("description", or_null(name()), "A description."),
    ]);
    rows
}

fn on_error() -> Value {
    let codes = "^(_|0*([1-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]))$";
    json!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": codes },
        "additionalProperties": name(),
    })
}

fn source_rows() -> Vec<Row> {
    vec![
        (
            "tool",
            name(),
            "What the state does: a built-in tool or one of `tools`.",
        ),
        (
            "arguments",
            json!({ "type": ["object", "null"] }),
            "The arguments of the tool.",
        ),
    ]
}

fn state() -> Value {
    let mut state = with_tools(state_rows(), &["tool"]);
    if let Some(Value::Array(rules)) = state.get_mut("allOf") {
        rules.push(rule(
            "switch",
            json!({ "required": ["goto"], "properties": { "goto": { "required": ["_"] } } }),
        ));
        for place in ["start-at", "states"] {
            rules.push(rule("for-each", json!({ "oneOf": [
                { "required": [place] },
                { "required": ["arguments"], "properties": { "arguments": { "required": [place] } } },
            ] })));
        }
    }
    state
}

fn task() -> Value {
    let mut rows = source_rows();
    rows.extend([
        (
            "output",
            or_null(reference("output")),
            "Where the output goes.",
        ),
        (
            "name",
            or_null(name()),
            "Its name. Default: its number, from 0.",
        ),
        (
            "start-at",
            name(),
            "The initial state of the body of `for-each`.",
        ),
        ("states", states(), "The body of `for-each`."),
    ]);
    let mut task = with_tools(rows, &["tool"]);
    if let Some(tool) = task.pointer_mut("/properties/tool") {
        *tool = json!({
            "description": "The tool of the task.",
            "allOf": [name(), { "not": { "enum": ["switch", "pause", "ask-user", "claude-code"] } }],
        });
    }
    task
}

/// Adds to an object with `tool` and `arguments` what each tool takes.
fn with_tools(rows: Vec<Row>, required: &[&str]) -> Value {
    let mut value = object(rows, required);
    let rules = every_tool().map(|(name, arguments)| {
        let needs = arguments.get("required").is_some();
        let mut then =
            json!({ "properties": { "arguments": reference(&format!("{name} arguments")) } });
        if let (Value::Object(then), true) = (&mut then, needs) {
            then.insert("required".to_owned(), json!(["arguments"]));
        }
        rule(name, then)
    });
    let rules = rules.collect();
    if let Value::Object(object) = &mut value {
        object.insert("allOf".to_owned(), Value::Array(rules));
    }
    value
}

/// Demands `then` where the tool is `name`.
fn rule(name: &str, then: Value) -> Value {
    json!({
        "if": { "required": ["tool"], "properties": { "tool": { "const": name } } },
        "then": then,
    })
}

/// Returns what every tool that each file has takes.
fn every_tool() -> impl Iterator<Item = (&'static str, Value)> {
    let tests = TESTS.iter().map(|(name, _)| (*name, test(name)));
    TOOLS
        .iter()
        .map(|tool| (tool.name, arguments(tool)))
        .chain(tests)
        .chain([
            (
                "sub-flow",
                object(
                    vec![
                        ("workflow", name(), "The workflow: a name or a path."),
                        (
                            "variables",
                            map_of(text()),
                            "Values in place of its defaults.",
                        ),
                        ("as", or_null(name()), "The name under which its variables are found."),
                    ],
                    &["workflow"],
                ),
            ),
            (
                "parallel",
                object(
                    vec![
                        (
                            "tasks",
                            json!({ "type": "array", "minItems": 1, "items": reference("task") }),
                            "The parallel tasks.",
                        ),
                        (
                            "max-concurrency",
                            or_null(
                                json!({ "type": ["integer", "string"], "minimum": 1, "maximum": 10_000 }),
                            ),
                            "How many run at the same time.",
                        ),
                        (
                            "fail-fast",
                            or_null(flag()),
                            "Whether the first failure cancels the rest.",
                        ),
                    ],
                    &["tasks"],
                ),
            ),
            ("for-each", for_each()),
        ])
}

fn test(tool: &str) -> Value {
    let one = matches!(tool, "if-empty" | "if-not-empty" | "switch");
    if one {
        return object(
            vec![("value", text(), "The value that is examined.")],
            &["value"],
        );
    }
    object(
        vec![
            ("left", text(), "The first value."),
            ("right", text(), "The second value."),
        ],
        &["left", "right"],
    )
}

fn for_each() -> Value {
    object(
        vec![
            (
                "items-from",
                json!({ "anyOf": [
                    { "type": ["string", "number", "boolean"] },
                    reference("source"),
                ] }),
                "A command, or a tool with an output, whose lines are the items.",
            ),
            ("start-at", name(), "The initial state of the body."),
            (
                "states",
                states(),
                "The body, which runs once for each item.",
            ),
            (
                "on-empty",
                or_null(json!({ "enum": ["continue", "fail"] })),
                "What happens if there is no item.",
            ),
            (
                "on-iteration-error",
                or_null(json!({ "enum": ["stop", "continue"] })),
                "What happens if an item fails.",
            ),
        ],
        &["items-from"],
    )
}

fn arguments(tool: &Tool) -> Value {
    let rows = tool.arguments.iter().map(|argument| {
        let value = shape(argument.shape);
        let value = if argument.required {
            value
        } else {
            or_null(value)
        };
        (argument.name, value, argument.doc)
    });
    let required = tool.arguments.iter().filter(|argument| argument.required);
    let required: Vec<&str> = required.map(|Argument { name, .. }| *name).collect();
    object(rows.collect(), &required)
}

fn shape(shape: Shape) -> Value {
    match shape {
        Shape::Text => text(),
        Shape::Json => json!({ "type": ["string", "object"] }),
        Shape::Duration => json!({ "type": "string", "pattern": "^\\s*[0-9]+[smh]\\s*$|\\{\\{" }),
        Shape::Boolean | Shape::Flag => flag(),
        Shape::OneOf(words) => {
            json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "\\{\\{" }] })
        }
        Shape::Texts => json!({ "anyOf": [text(), { "type": "array", "items": text() }] }),
        Shape::Env => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            "additionalProperties": text(),
        }),
        Shape::Options => json!({ "type": "array", "minItems": 1, "items": { "anyOf": [
            text(),
            object(
                vec![
                    ("value", text(), "The value that is stored."),
                    ("description", text(), "A text that is shown with it."),
                ],
                &["value"],
            ),
        ] } }),
        Shape::Condition => object(
            vec![
                ("tool", json!({ "const": "bash" }), "Always `bash`."),
                ("command", text(), "The command that must succeed."),
                (
                    "timeout",
                    or_null(self::shape(Shape::Duration)),
                    "The timeout.",
                ),
            ],
            &["command"],
        ),
        Shape::Name => name(),
        Shape::Retry => reference("retry"),
    }
}

fn retry_rows() -> Vec<Row> {
    let attempts = json!({ "type": ["integer", "string"], "minimum": 1, "maximum": 100 });
    let duration = || or_null(shape(Shape::Duration));
    let codes = json!({ "type": ["integer", "string"], "minimum": 1, "maximum": 255 });
    vec![
        (
            "attempts",
            attempts,
            "Maximum attempts, including the first.",
        ),
        ("wait", duration(), "The wait before the second attempt."),
        (
            "backoff",
            json!({ "type": ["number", "string"] }),
            "The factor for each further wait.",
        ),
        ("max-wait", duration(), "The longest wait."),
        (
            "codes",
            or_null(json!({ "anyOf": [codes, { "type": "array", "items": codes }] })),
            "The exit codes that are retried. Default: all but 130.",
        ),
    ]
}

fn retry() -> Value {
    let count = json!({ "type": ["integer", "string"], "minimum": 1, "maximum": 100 });
    json!({ "anyOf": [count, object(retry_rows(), &["attempts"])] })
}

fn tool_rows() -> Vec<Row> {
    vec![
        (
            "command",
            json!({ "type": "array", "minItems": 1, "items": text() }),
            "The program and its arguments; no shell reads them.",
        ),
        (
            "arguments",
            json!({ "type": ["object", "null"], "properties": { "type": { "const": "object" } } }),
            "A JSON Schema of the arguments it takes.",
        ),
        ("timeout", or_null(shape(Shape::Duration)), "The timeout."),
        ("cwd", text(), "Where it runs. Default: the project."),
        (
            "env",
            shape(Shape::Env),
            "Environment variables that it finds.",
        ),
        ("stdin", text(), "Its standard input."),
    ]
}

fn output() -> Value {
    let variable = "var\\s*\\(\\s*[A-Za-z0-9_][A-Za-z0-9_-]*\\s*\\)";
    json!({
        "type": "string",
        "pattern": format!("^\\s*({variable}|file\\s*\\([^)].*\\))\\s*$"),
    })
}

#[cfg(test)]
mod tests;
