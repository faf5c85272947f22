//! The programs of agents: `claude`, `codex`, `gemini`, `claude-code`.
//!
//! They receive a prompt byte for byte, without a shell: as one argument, or on standard input if it is too long for one or looks
//! like an option.

use std::{ffi::OsString, path::Path, path::PathBuf};

use serde_json::Value;

use super::{Codes, Prepared, fields::Fields};
use crate::{order::Failed, run_context::RunContext};
use interlock_process::{Input, Program, WORD_BYTES_MAX, find_program};

const FORMATS: [&str; 3] = ["text", "json", "stream-json"];

/// How a program receives a prompt.
enum Prompt {
    Argument(String),
    Input(Vec<u8>),
}

pub(super) fn claude(input: &Value, context: &RunContext) -> Result<Prepared, Failed> {
    let fields = Fields::new("claude", input);
    let mut words = Words::default();
    words.push("-p");
    let input = match prompt(&fields)? {
        Prompt::Argument(prompt) => {
            words.push(prompt);
            Input::Rule
        }
        Prompt::Input(bytes) => Input::Bytes(bytes),
    };
    words.option("--model", fields.word("model")?);
    words.option("--resume", fields.word("resume")?);
    let appended = fields.filled("append-system-prompt")?;
    words.option("--append-system-prompt", appended);
    if fields
        .joined("allowed-tools")?
        .is_some_and(|tools| tools.starts_with('-'))
    {
        return Err(fields.wrong("allowed-tools", "may not begin with `-`"));
    }
    words.option("--allowedTools", fields.joined("allowed-tools")?);
    let format = fields.choice("output-format", &FORMATS)?;
    // Without it, this program refuses to stream.
    let verbose = format.as_deref() == Some("stream-json");
    words.option("--output-format", format);
    words.option("--json-schema", schema(&fields)?);
    if verbose {
        words.push("--verbose");
    }
    agent(&fields, "claude", 1, words.0, input, context)
}

pub(super) fn codex(input: &Value, context: &RunContext) -> Result<Prepared, Failed> {
    let fields = Fields::new("codex", input);
    let mut words = Words::default();
    words.push("exec");
    words.option("--model", fields.word("model")?);
    let input = match prompt(&fields)? {
        Prompt::Argument(prompt) => {
            words.push(prompt);
            Input::Rule
        }
        Prompt::Input(bytes) => {
            words.push("-");
            Input::Bytes(bytes)
        }
    };
    agent(&fields, "codex", 2, words.0, input, context)
}

pub(super) fn gemini(input: &Value, context: &RunContext) -> Result<Prepared, Failed> {
    let fields = Fields::new("gemini", input);
    let mut words = Words::default();
    words.option("--model", fields.word("model")?);
    let format = fields.choice("output-format", &FORMATS)?;
    words.option("--output-format", format);
    let input = match prompt(&fields)? {
        Prompt::Argument(prompt) => {
            words.option("-p", Some(prompt));
            Input::Rule
        }
        Prompt::Input(bytes) => Input::Bytes(bytes),
    };
    agent(&fields, "gemini", 2, words.0, input, context)
}

pub(super) fn claude_code(input: &Value, context: &RunContext) -> Result<Prepared, Failed> {
    let fields = Fields::new("claude-code", input);
    let mut words = Words::default();
    words.option("--model", fields.word("model")?);
    let prompt = fields.required("prompt")?;
    check_prompt(&fields, &prompt)?;
    if prompt.len() >= WORD_BYTES_MAX {
        let why = "is too long for an argument, and its input is the terminal; put it in a file";
        return Err(fields.wrong("prompt", why));
    }
    if prompt.starts_with('-') {
        words.push("--");
    }
    words.push(prompt);
    let prepared = agent(&fields, "claude", 1, words.0, Input::Rule, context)?;
    Ok(Prepared {
        codes: Codes::Own,
        owns_terminal: true,
        ..prepared
    })
}

fn prompt(fields: &Fields<'_>) -> Result<Prompt, Failed> {
    let prompt = fields.required("prompt")?;
    check_prompt(fields, &prompt)?;
    if prompt.len() >= WORD_BYTES_MAX || prompt.starts_with('-') {
        Ok(Prompt::Input(prompt.into_bytes()))
    } else {
        Ok(Prompt::Argument(prompt))
    }
}

fn check_prompt(fields: &Fields<'_>, prompt: &str) -> Result<(), Failed> {
    if prompt.trim().is_empty() {
        return Err(fields.wrong("prompt", "is empty"));
    }
    if prompt.contains('\0') {
        return Err(fields.wrong("prompt", "has a NUL byte"));
    }
    Ok(())
}

/// Returns the schema of an answer, which must be valid.
fn schema(fields: &Fields<'_>) -> Result<Option<String>, Failed> {
    let name = "json-output-schema";
    let text = match fields.get(name) {
        Some(value @ Value::Object(_)) => Some(value.to_string()),
        _ => fields.filled(name)?,
    };
    let Some(text) = text else {
        return Ok(None);
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| fields.wrong(name, &format!("is not JSON: {error}")))?;
    match interlock_formats::schema_fault(&value) {
        None => Ok(Some(text)),
        Some(fault) => Err(fields.wrong(name, &format!("is not a JSON Schema: {}", fault.message))),
    }
}

fn agent(
    fields: &Fields<'_>,
    name: &str,
    missing: i64,
    arguments: Vec<OsString>,
    input: Input,
    context: &RunContext,
) -> Result<Prepared, Failed> {
    let environment = fields.variables("env")?;
    let merged = fields.choice("capture", &["stdout", "both"])?.as_deref() == Some("both");
    let timeout_ms = fields.duration_ms("timeout")?;
    let project = Path::new(&context.places.project);
    let file = find(name, missing, &environment, project, context)?;
    let program = Program {
        file,
        arguments,
        directory: project.to_owned(),
        environment,
        names: Vec::new(),
        input,
        merged,
        timeout_ms,
    };
    Ok(Prepared {
        guard: fields.filled("guard")?,
        ..Prepared::new(program, &format!("`{name}`"), Codes::One)
    })
}

/// Finds a program on the `PATH` that it will have itself.
pub(super) fn find(
    name: &str,
    missing: i64,
    environment: &[(String, String)],
    directory: &Path,
    context: &RunContext,
) -> Result<PathBuf, Failed> {
    let set = environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = set
        .map(|(_, path)| OsString::from(path))
        .or_else(|| context.path.clone());
    find_program(name, path.as_deref(), directory).ok_or_else(|| {
        let place = if name.contains('/') {
            "it is not a program"
        } else {
            "it is not on PATH"
        };
        Failed::new(missing, format!("cannot start `{name}`: {place}"))
    })
}

/// List of arguments.
#[derive(Default)]
struct Words(Vec<OsString>);

impl Words {
    fn push(&mut self, word: impl Into<OsString>) {
        self.0.push(word.into());
    }

    fn option(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.push(name);
            self.push(value);
        }
    }
}
