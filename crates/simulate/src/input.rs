//! Input lines of a simulation.

mod checked;
mod fields;
mod short;

use interlock_core::{
    call::{CallResult, WrittenPath},
    command::ActivityOutcome,
    event::{Cause, Passing, ProbedCommand},
    machine::Object,
    names::CallId,
    substance::Checked,
};
use serde_json::Value;

use crate::duration;
use fields::Fields;

pub use checked::{GivenReport, GivenTests};
pub use short::short_form;

/// An input line of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub enum InputLine {
    /// The agent proposes a tool call.
    Tool(ToolLine),
    /// A model sends a message.
    Message(MessageLine),
    /// The outcome of a call: the one with its id, or the last allowed one.
    Result(ResultLine),
    /// `interlock exec` has started the line of a call, by the call's id.
    LineStarted(String),
    /// `interlock exec` saw the line of a call end.
    LineEnded(LineEndLine),
    /// The agent requests a transition.
    Transition(TransitionLine),
    /// A person approves.
    Approve(AnswerLine),
    /// A person rejects.
    Reject(AnswerLine),
    /// A sub-agent has stopped, by its id.
    Stopped(String),
    /// The agent is about to end its work.
    Finish,
    /// A task, a stage or a question ended.
    Activity(ActivityLine),
    /// A person or the agent pauses the run.
    Pause,
    /// A person resumes it.
    Resume,
    /// A person ends it.
    Cancel,
    /// Time passes, in milliseconds.
    Advance(u64),
    /// Only a report is requested.
    State,
}

/// A proposed tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolLine {
    /// The client's own name of the tool.
    pub tool: String,
    /// Arguments, in the client's format.
    pub input: Value,
    /// Branch of the call.
    pub branch: Option<String>,
    /// The sub-agent that proposes it.
    pub agent: Option<String>,
    /// The client that proposes it.
    pub client: Option<String>,
    /// Present texts of files, by path.
    pub files: Vec<(String, String)>,
    /// Id: such a call stays open until a line with the id ends it.
    pub id: Option<String>,
    /// Whether the client asks its user about it in a prompt of its own.
    pub asked: bool,
}

/// A message of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageLine {
    /// Its calls, in order.
    pub calls: Vec<ToolLine>,
    /// Branch whose stage sends it.
    pub branch: Option<String>,
}

/// The outcome of an allowed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultLine {
    /// Id of the call; `None` for the last one that was allowed.
    pub id: Option<String>,
    /// Whether it succeeded.
    pub ok: bool,
    /// The exit code of a shell line.
    pub exit: Option<i64>,
    /// Size of the result in bytes.
    pub bytes: u64,
    /// Paths that it was observed to write, as given.
    pub wrote: Vec<String>,
    /// Exit codes of single commands of a shell line.
    pub commands: Vec<CommandEnd>,
    /// The reports that it wrote.
    pub reports: Vec<GivenReport>,
    /// Frozen files that have changed, relative to the project.
    pub frozen: Vec<String>,
}

/// What was observed of a line that `interlock exec` ran, at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEndLine {
    /// Id of its call.
    pub id: String,
    /// Exit code; `None` if a signal ended it.
    pub exit: Option<i64>,
    /// Paths that it was observed to write, as given.
    pub wrote: Vec<String>,
    /// Exit codes of its single commands.
    pub commands: Vec<CommandEnd>,
    /// Whether the files were not compared, so that `wrote` has no meaning.
    pub unseen: bool,
    /// The reports that it wrote.
    pub reports: Vec<GivenReport>,
    /// Frozen files that have changed, relative to the project.
    pub frozen: Vec<String>,
}

/// Exit of one command of a shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its first words, as written.
    pub text: String,
    /// Words of `text`.
    pub words: Vec<String>,
    /// Exit code; `None` if a signal ended it.
    pub exit: Option<i64>,
}

impl Default for ResultLine {
    fn default() -> Self {
        Self {
            id: None,
            ok: true,
            exit: Some(0),
            bytes: 0,
            wrote: Vec::new(),
            commands: Vec::new(),
            reports: Vec::new(),
            frozen: Vec::new(),
        }
    }
}

impl ResultLine {
    /// Creates the command for the engine, with what was found in the project and in the line.
    #[must_use]
    pub fn into_result(
        self,
        wrote: Vec<WrittenPath>,
        commands: Vec<ProbedCommand>,
        checked: Checked,
    ) -> CallResult {
        CallResult {
            id: self.id.map(CallId::new),
            ok: self.ok,
            exit: self.exit,
            bytes: self.bytes,
            wrote,
            commands,
            checked,
        }
    }
}

/// A request for a transition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TransitionLine {
    /// The event.
    pub event: String,
    /// Data that is merged into the context.
    pub data: Object,
    /// Branch of the request.
    pub branch: Option<String>,
    /// Sub-agent that requests it.
    pub agent: Option<String>,
}

/// A person's answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerLine {
    /// Name of the person.
    pub by: String,
    /// Corrections of the agent's data.
    pub data: Object,
    /// Note for the agent.
    pub note: Option<String>,
    /// Request that is answered.
    pub path: Option<String>,
    /// Message to the region before its state begins.
    pub message: Option<String>,
    /// Corrected output of the previous state.
    pub edit: Option<String>,
    /// State whose output is edited.
    pub of: Option<String>,
    /// Whether it is signed with a passkey.
    pub passkey: bool,
}

/// The end of an activity.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivityLine {
    /// Path of the frame.
    pub path: Option<String>,
    /// Outcome of the activity.
    pub outcome: ActivityOutcome,
}

/// A malformed line; nothing after it is run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct BadLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it and what to write.
    pub message: String,
}

/// The key that determines the kind of a line, and the keys allowed with it.
const SHAPES: [(&str, &[&str]); 16] = [
    (
        "tool",
        &["input", "branch", "agent", "client", "files", "id", "asked"],
    ),
    ("result", &[]),
    ("line_started", &[]),
    ("line_ended", &[]),
    ("transition", &["data", "branch", "agent"]),
    ("stopped", &[]),
    ("finish", &[]),
    ("approve", &[]),
    ("reject", &[]),
    ("activity", &[]),
    ("message", &["branch"]),
    ("pause", &[]),
    ("resume", &[]),
    ("cancel", &[]),
    ("advance", &[]),
    ("state", &[]),
];

impl InputLine {
    /// Parses a line of JSON text.
    ///
    /// # Errors
    /// Returns what is wrong with it, without its number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            format!("this is not valid JSON ({error}); write one object a line")
        })?;
        Self::from_value(value)
    }

    /// Converts a line that is already a JSON value.
    ///
    /// # Errors
    /// Returns what is wrong with it, without its number.
    pub fn from_value(value: Value) -> Result<Self, String> {
        let Value::Object(object) = value else {
            return Err("a line is one JSON object, such as {\"state\": {}}".to_owned());
        };
        let shape = shape_of(&object)?;
        let mut fields = Fields::new(object, shape);
        let line = match shape {
            "tool" => Self::Tool(tool(&mut fields)?),
            "transition" => Self::Transition(TransitionLine {
                event: fields.text("transition")?,
                data: fields.optional_object("data")?,
                branch: fields.optional_text("branch")?,
                agent: fields.optional_text("agent")?,
            }),
            "stopped" => Self::Stopped(fields.text("stopped")?),
            "line_started" => Self::LineStarted(fields.text("line_started")?),
            "advance" => Self::Advance(duration::parse_ms(&fields.text("advance")?)?),
            "message" => Self::Message(MessageLine {
                calls: message(fields.optional("message"))?,
                branch: fields.optional_text("branch")?,
            }),
            _ => return nested(shape, &mut fields),
        };
        fields.finish()?;
        Ok(line)
    }
}

/// Determines the kind of an object, and refuses unknown keys.
fn shape_of(object: &Object) -> Result<&'static str, String> {
    let mut found = SHAPES.iter().filter(|(key, _)| object.contains_key(*key));
    let shapes = || {
        let keys: Vec<String> = SHAPES.iter().map(|(key, _)| format!("`{key}`")).collect();
        keys.join(", ")
    };
    match (found.next(), found.next()) {
        (Some((key, beside)), None) => {
            let stray = object
                .keys()
                .find(|name| name.as_str() != *key && !beside.contains(&name.as_str()));
            match stray {
                None => Ok(key),
                Some(stray) if beside.is_empty() => Err(format!(
                    "unknown key `{stray}`; nothing goes beside `{key}`"
                )),
                Some(stray) => Err(format!(
                    "unknown key `{stray}`; beside `{key}` go: `{}`",
                    beside.join("`, `")
                )),
            }
        }
        (Some((first, _)), Some((second, _))) => Err(format!(
            "`{first}` and `{second}` in one line; write them on two lines"
        )),
        (None, _) => match object.keys().next() {
            Some(key) => Err(format!(
                "unknown key `{key}`; a line has one of: {}",
                shapes()
            )),
            None => Err(format!("an empty line; it has one of: {}", shapes())),
        },
    }
}

/// Parses a kind whose keys are in a nested object.
fn nested(shape: &'static str, outer: &mut Fields) -> Result<InputLine, String> {
    let mut fields = Fields::new(outer.object(shape)?, shape);
    let line = match shape {
        "result" => InputLine::Result(result(&mut fields)?),
        "line_ended" => InputLine::LineEnded(line_end(&mut fields)?),
        "approve" => InputLine::Approve(AnswerLine {
            by: fields.text("by")?,
            data: fields.optional_object("data")?,
            note: None,
            path: fields.optional_text("path")?,
            message: fields.optional_text("message")?,
            edit: fields.optional_text("edit")?,
            of: fields.optional_text("of")?,
            passkey: fields.optional_bool("passkey")?.unwrap_or_default(),
        }),
        "reject" => InputLine::Reject(AnswerLine {
            by: fields.text("by")?,
            data: Object::new(),
            note: fields.optional_text("note")?,
            path: fields.optional_text("path")?,
            message: None,
            edit: None,
            of: None,
            passkey: false,
        }),
        "activity" => InputLine::Activity(activity(&mut fields)?),
        "finish" => InputLine::Finish,
        "pause" => InputLine::Pause,
        "resume" => InputLine::Resume,
        "cancel" => InputLine::Cancel,
        _ => InputLine::State,
    };
    fields.finish()?;
    Ok(line)
}

/// Parses the calls of a message: a list of objects with `tool` and `input`.
fn message(value: Option<Value>) -> Result<Vec<ToolLine>, String> {
    let Some(Value::Array(items)) = value else {
        return Err(
            "`message` is a list of calls, such as [{\"tool\": \"Read\", \"input\": {}}]"
                .to_owned(),
        );
    };
    items
        .into_iter()
        .map(|item| {
            let Value::Object(object) = item else {
                return Err("a call of a `message` is an object with `tool` and `input`".to_owned());
            };
            let known = ["tool", "input", "files"];
            if let Some(stray) = object.keys().find(|key| !known.contains(&key.as_str())) {
                return Err(format!("unknown key `{stray}` in a call of a `message`; it has `tool`, `input`, `files`"));
            }
            let mut fields = Fields::new(object, "message");
            let line = tool(&mut fields)?;
            fields.finish()?;
            Ok(line)
        })
        .collect()
}

fn tool(fields: &mut Fields) -> Result<ToolLine, String> {
    let tool = fields.text("tool")?;
    let input = fields
        .optional("input")
        .unwrap_or_else(|| Value::Object(Object::new()));
    let mut files = Vec::new();
    for (path, text) in fields.optional_object("files")? {
        let Value::String(text) = text else {
            return Err(format!("`files`: the text of `{path}` is not text"));
        };
        files.push((path, text));
    }
    Ok(ToolLine {
        tool,
        input,
        branch: fields.optional_text("branch")?,
        agent: fields.optional_text("agent")?,
        client: fields.optional_text("client")?,
        files,
        id: fields.optional_text("id")?,
        asked: fields.optional_bool("asked")?.unwrap_or(false),
    })
}

/// Parses an outcome: missing values mean success, and a failure without an exit code has none.
fn result(fields: &mut Fields) -> Result<ResultLine, String> {
    let ok = fields.optional_bool("ok")?;
    let exit = fields.optional_integer("exit")?;
    let bytes = fields.optional_integer("bytes")?.unwrap_or(0);
    let ok = ok.unwrap_or(exit.unwrap_or(0) == 0);
    Ok(ResultLine {
        id: fields.optional_text("id")?,
        ok,
        exit: exit.or(if ok { Some(0) } else { None }),
        bytes: u64::try_from(bytes).map_err(|_| "`bytes` is less than 0".to_owned())?,
        wrote: fields.optional_texts("wrote")?,
        commands: command_ends(fields)?,
        reports: checked::reports(fields)?,
        frozen: fields.optional_texts("frozen")?,
    })
}

/// Parses what was observed of a line at its end.
fn line_end(fields: &mut Fields) -> Result<LineEndLine, String> {
    Ok(LineEndLine {
        id: fields.text("id")?,
        exit: exit_code(fields.optional("exit"), "a line")?,
        wrote: fields.optional_texts("wrote")?,
        commands: command_ends(fields)?,
        unseen: fields.optional_bool("unseen")?.unwrap_or(false),
        reports: checked::reports(fields)?,
        frozen: fields.optional_texts("frozen")?,
    })
}

fn command_ends(fields: &mut Fields) -> Result<Vec<CommandEnd>, String> {
    let ends = fields.optional_list("commands")?.into_iter();
    ends.map(command_end).collect()
}

/// Parses an exit code: 0 by default, `None` (a signal) for null.
fn exit_code(value: Option<Value>, of: &str) -> Result<Option<i64>, String> {
    match value {
        None => Ok(Some(0)),
        Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| format!("`exit` of {of}: wanted an integer or null")),
    }
}

/// Parses the exit of one command.
fn command_end(value: Value) -> Result<CommandEnd, String> {
    let Value::Object(object) = value else {
        return Err(
            "`commands`: wanted objects such as {\"command\": \"npm test\", \"exit\": 0}"
                .to_owned(),
        );
    };
    let mut fields = Fields::new(object, "commands");
    let text = fields.text("command")?;
    let exit = exit_code(fields.optional("exit"), "a command")?;
    fields.finish()?;
    let words = interlock_shell::split_entry(&text)
        .ok_or_else(|| format!("`{text}` is not a command: write plain words"))?;
    Ok(CommandEnd { text, words, exit })
}

fn activity(fields: &mut Fields) -> Result<ActivityLine, String> {
    let path = fields.optional_text("path")?;
    let outcome = match (fields.optional("done"), fields.optional("error")) {
        (Some(output), None) => ActivityOutcome::done(output),
        (None, Some(Value::Object(error))) => {
            let mut error = Fields::new(error, "error");
            let after_ms = error.optional_integer("after_ms")?;
            let passes = error
                .optional_bool("passing")?
                .unwrap_or(after_ms.is_some());
            let passing = passes.then(|| Passing {
                after_ms: after_ms.and_then(|ms| u64::try_from(ms).ok()),
            });
            let outcome = ActivityOutcome::Failed(Cause {
                passing,
                stderr: error.optional_text("stderr")?.unwrap_or_default(),
                stdout: error.optional_text("stdout")?.unwrap_or_default(),
                ..Cause::new(
                    error.optional("code").unwrap_or(Value::Null),
                    error.optional_text("message")?.unwrap_or_default(),
                )
            });
            error.finish()?;
            outcome
        }
        (None, Some(_)) => {
            return Err("`error` is an object with `code` and `message`".to_owned());
        }
        (Some(_), Some(_)) => {
            return Err("`done` and `error` in one activity; write one of them".to_owned());
        }
        (None, None) => return Err("`activity` needs `done` or `error`".to_owned()),
    };
    Ok(ActivityLine { path, outcome })
}

#[cfg(test)]
#[path = "input/tests.rs"]
mod tests;
