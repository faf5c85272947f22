//! The JSON Schema of FlowState files, for editors.

use serde_json::{Map, Value, json};

use super::{
    keys::{
        CONDITION, FOR_EACH, Key, ONE_VALUE, OPTION, PARALLEL, RETRY, SOURCE, STATE, SUB_FLOW,
        TASK, TOOL, TOP, TWO_VALUES,
    },
    shapes::{count, duration, environment, flag, name, one_or_many, or_null, reference, text},
    tools::{Shape, TESTS, TOOLS, Tool},
};

/// Returns the JSON Schema (draft 2020-12) of a FlowState file.
pub(crate) fn schema() -> Value {
    let mut definitions = Map::from_iter([
        ("state".to_owned(), state()),
        ("task".to_owned(), task()),
        ("tool".to_owned(), object(TOOL)),
        ("retry".to_owned(), retry()),
        ("text".to_owned(), text()),
        ("output".to_owned(), output()),
        ("source".to_owned(), with_tools(SOURCE)),
    ]);
    for (name, arguments) in every_tool() {
        definitions.insert(format!("{name} arguments"), arguments);
    }
    let mut schema = object(TOP);
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

/// Describes an object with exactly these keys.
fn object(keys: &[Key]) -> Value {
    object_of(keys.iter().map(|key| {
        let Key { name, doc, .. } = *key;
        (name, key.required, (key.schema)(), doc)
    }))
}

/// Describes an object by its keys: name, whether it is required, allowed values and description.
fn object_of(rows: impl Iterator<Item = (&'static str, bool, Value, &'static str)>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, must, mut value, doc) in rows {
        if let Value::Object(value) = &mut value {
            value.insert("description".to_owned(), json!(doc));
        }
        properties.insert(name.to_owned(), value);
        required.extend(must.then_some(name));
    }
    let mut object = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if let (Value::Object(object), false) = (&mut object, required.is_empty()) {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn state() -> Value {
    let mut state = with_tools(STATE);
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
    let mut task = with_tools(TASK);
    if let Some(tool) = task.pointer_mut("/properties/tool") {
        *tool = json!({
            "description": "The tool of the task.",
            "allOf": [name(), { "not": { "enum": ["switch", "pause", "ask-user", "claude-code"] } }],
        });
    }
    task
}

/// Adds the arguments of each tool to an object with `tool` and `arguments`.
fn with_tools(keys: &[Key]) -> Value {
    let mut value = object(keys);
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

/// Requires `then` if the tool is `name`.
fn rule(name: &str, then: Value) -> Value {
    json!({
        "if": { "required": ["tool"], "properties": { "tool": { "const": name } } },
        "then": then,
    })
}

/// Returns the arguments of every tool that is available in each file.
fn every_tool() -> impl Iterator<Item = (&'static str, Value)> {
    let tests = TESTS.iter().map(|(name, _)| (*name, test(name)));
    let tools = TOOLS.iter().map(|tool| (tool.name, arguments(tool)));
    tools.chain(tests).chain([
        ("sub-flow", object(SUB_FLOW)),
        ("parallel", object(PARALLEL)),
        ("for-each", object(FOR_EACH)),
    ])
}

fn test(tool: &str) -> Value {
    let one = matches!(tool, "if-empty" | "if-not-empty" | "switch");
    object(if one { ONE_VALUE } else { TWO_VALUES })
}

fn arguments(tool: &Tool) -> Value {
    object_of(tool.arguments.iter().map(|argument| {
        let value = shape(argument.shape);
        let value = if argument.required {
            value
        } else {
            or_null(value)
        };
        (argument.name, argument.required, value, argument.doc)
    }))
}

fn shape(shape: Shape) -> Value {
    match shape {
        Shape::Text => text(),
        Shape::Json => json!({ "type": ["string", "object"] }),
        Shape::Duration => duration(),
        Shape::Boolean | Shape::Flag => flag(),
        Shape::OneOf(words) => {
            json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "\\{\\{" }] })
        }
        Shape::Texts => one_or_many(&text()),
        Shape::Env => environment(),
        Shape::Options => {
            json!({ "type": "array", "minItems": 1, "items": { "anyOf": [text(), object(OPTION)] } })
        }
        Shape::Condition => object(CONDITION),
        Shape::Name => name(),
        Shape::Retry => reference("retry"),
    }
}

fn retry() -> Value {
    json!({ "anyOf": [count(100), object(RETRY)] })
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
