//! Reconstructs a call of a log: what it would do, and its verdict in another state.
//!
//! The log contains the tool of a call, a digest of its arguments and a summary. If the summary contains everything that matters,
//! the call is judged again by the same engine; otherwise, this is reported.

use interlock_clients::ClientId;
use interlock_core::{
    Decision, Reply,
    call::ToolCall,
    command::{Command, CommandKind},
    decide,
    event::{CallRecord, Event, TransitionKind},
    evolve,
    machine::{Machine, Object},
    names::{EventName, FramePath, StateName},
    refusal::Refusal,
    run::Run,
    shell_finding,
};
use interlock_facts::{GivenDisk, Shape};
use interlock_tools::{Arguments, Tool as BuiltIn};
use serde_json::{Value, json};

use crate::{
    Scenario, Verdict, calls,
    explain::{Explanation, explained},
    input::ToolLine,
};

/// End of a summary that was cut.
const CUT: &str = "...";

/// A reconstructed call of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Reread {
    /// The call, with its facts.
    pub call: ToolCall,
    /// Whether it is exactly the recorded one: the digests are equal.
    pub exact: bool,
    /// What the log does not contain of it; empty if nothing that matters.
    pub lacks: &'static str,
}

/// The verdict on a call.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedVerdict {
    /// Whether it may run.
    pub verdict: Verdict,
    /// Why not.
    pub refusal: Option<Refusal>,
}

/// Reconstructs a call of an outside agent, as far as the log contains it.
///
/// # Errors
/// Returns what is missing, so that nothing can be determined.
pub fn read_again(setting: &Scenario, record: &CallRecord) -> Result<Reread, &'static str> {
    let summary = record.summary.as_str();
    if summary.ends_with(CUT) {
        return Err("the log keeps only the beginning of its arguments");
    }
    let client = ClientId::named(&setting.client).unwrap_or(ClientId::ClaudeCode);
    let known = interlock_clients::tool(client, &record.tool);
    let whole = serde_json::from_str::<Value>(summary).ok();
    if let Some(input) = whole.filter(Value::is_object) {
        let call = made(setting, record, input);
        if call.digest == record.digest {
            return Ok(Reread {
                call,
                exact: true,
                lacks: "",
            });
        }
    }
    let (input, lacks) = match known.shape {
        Shape::Shell { line, .. } => (json!({ line: summary }), ""),
        Shape::Edit { path, fields } => (
            json!({ path: summary, fields.old: "-", fields.new: "" }),
            "the log does not keep what the call would write: how much it is, is not judged again",
        ),
        Shape::MultiEdit { path, .. } | Shape::Notebook { path } => (
            json!({ path: summary }),
            "the log does not keep what the call would write: how much it is, is not judged again",
        ),
        Shape::Write { path, content } => (
            json!({ path: summary, content: "" }),
            "the log does not keep what the call would write: how much it is, is not judged again",
        ),
        Shape::Delete { path } => (json!({ path: summary }), ""),
        _ => return Err("the log does not keep the arguments of this tool"),
    };
    let mut call = made(setting, record, input);
    let exact = call.digest == record.digest;
    // A `\n` in the summary may be a line break, or these two characters.
    if !exact && summary.contains('\\') {
        return Err("the line has letters that the log does not keep as they were");
    }
    if !lacks.is_empty() {
        call.facts.malformed = None;
        call.facts.edit_lines = Some(0);
        for write in &mut call.facts.writes {
            write.lines = None;
        }
    }
    Ok(Reread { call, exact, lacks })
}

/// Reconstructs a call of a model, whose arguments are stored next to the log.
#[must_use]
pub fn with_arguments(setting: &Scenario, record: &CallRecord, input: &Value) -> Reread {
    let line = ToolLine {
        tool: record.tool.clone(),
        input: input.clone(),
        ..ToolLine::default()
    };
    let built_in = BuiltIn::named(&BuiltIn::PIPELINE, &record.tool);
    let arguments = Arguments::of(input.clone());
    let (call, digest) = match (built_in, arguments) {
        (Some(tool), Ok(arguments)) => {
            let call = calls::built_in(setting, &line, tool, &arguments, &record.id);
            (call, Some(arguments.digest().clone()))
        }
        (None, Ok(arguments)) => {
            let call = calls::call(setting, &line, record.id.to_string());
            (call, Some(arguments.digest().clone()))
        }
        (_, Err(_)) => (calls::call(setting, &line, record.id.to_string()), None),
    };
    Reread {
        exact: digest.as_ref() == Some(&record.digest),
        call,
        lacks: "",
    }
}

pub(crate) fn made(setting: &Scenario, record: &CallRecord, input: Value) -> ToolCall {
    let line = ToolLine {
        tool: record.tool.clone(),
        input,
        agent: record.agent.as_ref().map(ToString::to_string),
        ..ToolLine::default()
    };
    calls::call_on(setting, &line, record.id.to_string(), &GivenDisk::empty())
}

/// Explains what `call` would do in `run`, and which rule decides.
#[must_use]
pub fn explain_call(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    call: &ToolCall,
) -> Explanation {
    let told = told(machine, run, path, call);
    let state = run.frame(path).map(|frame| frame.at.to_string());
    explained(
        call,
        shell_finding(machine, run, call),
        told.map_or((Verdict::Deny, None), |told| (told.verdict, told.refusal)),
        state.unwrap_or_default(),
    )
}

/// Asks the engine about `call` for the frame at `path` of `run`; returns `None` if it would count elsewhere.
#[must_use]
pub fn told(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    call: &ToolCall,
) -> Option<RecordedVerdict> {
    let command = Command {
        at_ms: 0,
        kind: CommandKind::Propose(Box::new(call.clone())),
    };
    let Decision {
        reply,
        path: counted,
        ..
    } = decide(machine, run, &command);
    if counted != *path {
        return None;
    }
    let (verdict, refusal) = match reply {
        Reply::Accepted | Reply::Pending { .. } => (Verdict::Allow, None),
        Reply::Ask(refusal) => (Verdict::Ask, Some(refusal)),
        Reply::Refused(refusal) => (Verdict::Deny, Some(refusal)),
    };
    Some(RecordedVerdict { verdict, refusal })
}

/// Returns `run` as if the frame at `path` had just entered `state`; its context and evidence stay.
#[must_use]
pub fn standing_in(run: &Run, path: &FramePath, state: &StateName) -> Run {
    let Some(frame) = run.frame(path) else {
        return run.clone();
    };
    if frame.at == *state {
        return run.clone();
    }
    let moved = Event::TransitionTaken {
        path: path.clone(),
        event: EventName::from("(looked at)"),
        from: frame.at.clone(),
        to: state.clone(),
        how: TransitionKind::Written,
        data: Object::new(),
        by: String::new(),
        at_ms: 0,
    };
    evolve(run.clone(), &moved)
}
