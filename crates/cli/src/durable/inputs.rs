//! The inputs of a pipeline, from the command line to its context.

use std::{
    fs,
    io::{self, Read as _},
};

use anyhow::{Context as _, anyhow};
use interlock_core::machine::Object;
use interlock_expr::nearest::nearest;
use interlock_formats::{Input, InputKind};
use serde_json::Value;

use crate::{args::CarryArgs, failure::Failure};

/// Input that receives a free text.
const TASK: &str = "task";

/// Reads the inputs of a pipeline with `inputs`.
///
/// Returns a usage error for an unknown input, a wrong type, or a missing input.
pub(super) fn of_pipeline(args: &CarryArgs, inputs: &[Input]) -> Result<Object, Failure> {
    let mut given = match &args.input {
        Some(input) => object(&text_of(input)?)?,
        None => Object::new(),
    };
    if let Some(text) = &args.text {
        given.insert(TASK.to_owned(), Value::from(text.as_str()));
    }
    for (name, text) in &args.variables {
        let input = known(name, inputs)?;
        given.insert(name.clone(), value(input, text)?);
    }
    for (name, value) in &given {
        let input = known(name, inputs)?;
        if !is_of(input.kind, value) {
            return Err(wrong(input, &value.to_string()));
        }
    }
    let missing = inputs
        .iter()
        .find(|input| input.required && !given.contains_key(&input.name));
    match missing {
        Some(input) => Err(usage(missing_input(input))),
        None => Ok(given),
    }
}

fn missing_input(input: &Input) -> String {
    let what = input.description.as_deref();
    let what = what.map_or_else(String::new, |what| format!(" ({what})"));
    let name = &input.name;
    if name == TASK {
        return format!("the input `{TASK}` is missing{what}: give it as text after the name");
    }
    format!("the input `{name}` is missing{what}: give it with `--var {name}=VALUE`")
}

/// Reads an option that is a text, a file or standard input.
pub(crate) fn text_of(input: &str) -> Result<String, Failure> {
    if input == "-" {
        let mut text = String::new();
        io::stdin()
            .read_to_string(&mut text)
            .context("standard input cannot be read")
            .map_err(Failure::usage)?;
        return Ok(text);
    }
    match input.strip_prefix('@') {
        Some(path) => fs::read_to_string(path)
            .with_context(|| format!("`{path}` cannot be read"))
            .map_err(Failure::usage),
        None => Ok(input.to_owned()),
    }
}

fn object(text: &str) -> Result<Object, Failure> {
    serde_json::from_str(text)
        .map_err(|error| usage(format!("`--input` needs a JSON object: {error}")))
}

fn known<'i>(name: &str, inputs: &'i [Input]) -> Result<&'i Input, Failure> {
    if let Some(input) = inputs.iter().find(|input| input.name == name) {
        return Ok(input);
    }
    let names = inputs.iter().map(|input| input.name.as_str());
    let help = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if inputs.is_empty() => "it has none".to_owned(),
        None => {
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            format!("it has {}", names.join(", "))
        }
    };
    Err(usage(format!("the workflow has no input `{name}`: {help}")))
}

/// Parses the value of an input: text unchanged, anything else as JSON.
fn value(input: &Input, text: &str) -> Result<Value, Failure> {
    if input.kind == InputKind::String {
        return Ok(Value::from(text));
    }
    if input.kind == InputKind::Any {
        return Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)));
    }
    serde_json::from_str(text).map_err(|_| wrong(input, text))
}

fn is_of(kind: InputKind, value: &Value) -> bool {
    match kind {
        InputKind::String => value.is_string(),
        InputKind::Number => value.is_number(),
        InputKind::Integer => value.as_i64().is_some() || value.as_u64().is_some(),
        InputKind::Boolean => value.is_boolean(),
        InputKind::Array => value.is_array(),
        InputKind::Object => value.is_object(),
        InputKind::Any => true,
    }
}

fn wrong(input: &Input, text: &str) -> Failure {
    let shown: String = text.chars().take(60).collect();
    let kind = match input.kind {
        InputKind::String => "text",
        InputKind::Number => "a number",
        InputKind::Integer => "a whole number",
        InputKind::Boolean => "`true` or `false`",
        InputKind::Array => "a JSON list",
        InputKind::Object => "a JSON object",
        InputKind::Any => "any value",
    };
    usage(format!(
        "the input `{}` is {kind}, not `{shown}`",
        input.name
    ))
}

fn usage(message: String) -> Failure {
    Failure::usage(anyhow!(message))
}
