//! Tools that a workflow declares: an argument list over arguments with a schema.

use std::{collections::BTreeMap, path::Path};

use interlock_core::machine::Object;
use interlock_expr::text::{Expr, Piece, Places, Text};
use interlock_formats::fit_arguments;
use interlock_process::{Input, Program};
use serde_json::{Value, json};

use super::{Codes, Prepared, agents::find, fields::Fields, texts::fill};
use crate::{order::Failed, run_context::RunContext};

/// Maximum number of schema findings in a message.
const FINDINGS_MAX: usize = 5;

pub(super) fn prepare(input: &Value, context: &RunContext) -> Result<Prepared, Failed> {
    let name = Fields::new("custom", input).required("tool")?;
    let fields = Fields::new(&name, input);
    let arguments = arguments(&fields)?;
    let places = &context.places;
    let command = command(&fields, &arguments, places)?;
    let Some((program, words)) = command.split_first() else {
        return Err(fields.wrong("command", "is empty"));
    };
    let mut variables = BTreeMap::new();
    if let Some(Value::Object(declared)) = fields.get("env") {
        for (variable, value) in declared {
            let value = filled(&fields, variable, value, &arguments, places)?;
            variables.insert(variable.clone(), value);
        }
    }
    // Variables of the state take precedence over those of its tool; they are already filled.
    if let Some(Value::Object(given)) = fields.get("extra-env") {
        for (variable, value) in given {
            let Value::String(value) = value else {
                return Err(fields.wrong(&format!("env.{variable}"), "is not text"));
            };
            variables.insert(variable.clone(), value.clone());
        }
    }
    let environment: Vec<_> = variables.into_iter().collect();
    let input = match fields.get("stdin") {
        Some(text) => {
            Input::Bytes(filled(&fields, "stdin", text, &arguments, places)?.into_bytes())
        }
        None => Input::Rule,
    };
    let timeout = fields.get("timeout");
    let timeout = timeout.map(|text| filled(&fields, "timeout", text, &arguments, places));
    let timeout_ms = match timeout.transpose()? {
        Some(text) => fields.read_duration_ms("timeout", &text)?,
        None => None,
    };
    let directory = match fields.get("cwd") {
        Some(path) => filled(&fields, "cwd", path, &arguments, places)?,
        None => places.project.clone(),
    };
    let directory = Path::new(&directory);
    let file = find(program, 2, &environment, directory, context)?;
    let program = Program {
        file,
        arguments: words.iter().map(Into::into).collect(),
        directory: directory.to_owned(),
        environment,
        input,
        names: Vec::new(),
        merged: false,
        timeout_ms,
    };
    Ok(Prepared::new(program, &format!("`{name}`"), Codes::Own))
}

/// Returns the arguments with the types and defaults of the schema.
fn arguments(fields: &Fields<'_>) -> Result<Object, Failed> {
    let anything = json!({});
    let schema = fields.get("schema").unwrap_or(&anything);
    let given = fields.get("arguments").cloned().unwrap_or(json!({}));
    let Value::Object(given) = given else {
        return Err(fields.wrong("arguments", "is not a map"));
    };
    fit_arguments(schema, &given).map_err(|misfits| {
        let findings: Vec<String> = misfits
            .iter()
            .take(FINDINGS_MAX)
            .map(|misfit| match misfit.path.trim_start_matches('/') {
                "" => misfit.message.clone(),
                place => format!("`{place}`: {}", misfit.message),
            })
            .collect();
        fields.wrong(
            "arguments",
            &format!("do not match its schema: {}", findings.join("; ")),
        )
    })
}

fn command(
    fields: &Fields<'_>,
    arguments: &Object,
    places: &Places,
) -> Result<Vec<String>, Failed> {
    let Some(Value::Array(items)) = fields.get("command") else {
        return Err(fields.wrong("command", "is missing"));
    };
    let mut words = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = format!("command.{index}");
        let text = text(fields, &place, item)?;
        if !is_absent(&text, arguments) {
            words.push(fill_named(fields, &place, &text, arguments, places)?);
        }
    }
    Ok(words)
}

/// Returns whether an item consists only of an argument that is not given.
fn is_absent(text: &Text, arguments: &Object) -> bool {
    match text.pieces.as_slice() {
        [Piece::Hole(Expr::Key(key))] => arguments.get(key).is_none_or(Value::is_null),
        _ => false,
    }
}

fn filled(
    fields: &Fields<'_>,
    place: &str,
    value: &Value,
    arguments: &Object,
    places: &Places,
) -> Result<String, Failed> {
    let text = text(fields, place, value)?;
    fill_named(fields, place, &text, arguments, places)
}

fn text(fields: &Fields<'_>, place: &str, value: &Value) -> Result<Text, Failed> {
    match value {
        Value::String(plain) => Ok(Text::plain(plain.clone())),
        _ => serde_json::from_value(value.clone()).map_err(|_| {
            fields.wrong(
                place,
                "cannot be read; the workflow was made by another version",
            )
        }),
    }
}

fn fill_named(
    fields: &Fields<'_>,
    place: &str,
    text: &Text,
    arguments: &Object,
    places: &Places,
) -> Result<String, Failed> {
    fill(text, arguments, places)
        .map_err(|why| fields.wrong(place, &format!("cannot be filled: {why}")))
}
