//! Explains why a tool call was allowed, asked about or denied.

use interlock_core::{
    event::{About, CallMarks, CallRecord, Event},
    machine::Machine,
    names::FramePath,
    refusal::Refusal,
    run::Run,
};
use interlock_view::{report::state_paths, teach};
use serde_json::{Value, json};

/// A verdict on a tool call, read from an event.
pub(super) struct Verdict<'e> {
    pub(super) path: &'e FramePath,
    pub(super) call: &'e CallRecord,
    pub(super) word: &'static str,
    pub(super) refusal: Option<&'e Refusal>,
    marks: Option<&'e CallMarks>,
    /// Whether the model of a stage proposed the call.
    pub(super) of_stage: bool,
}

/// Explains the verdict in `event`, where `run` is the run before it; returns `None` if it is not a verdict on a tool
/// call.
pub(super) fn why(machine: &Machine, run: &Run, event: &Event) -> Option<Value> {
    let verdict = verdict(event)?;
    let Verdict { call, refusal, .. } = verdict;
    let commands: Vec<Value> = verdict
        .marks
        .filter(|marks| marks.shell || !marks.files.is_empty())
        .map(|marks| json!({ "line": call.summary, "reads": [], "writes": marks.files, "reaches": [] }))
        .into_iter()
        .collect();
    let allowed_in: Vec<_> = machine
        .states
        .iter()
        .filter(|(_, state)| {
            let policy = &state.policy;
            let tool = [call.tool.as_str()];
            policy.allowed_tools.is_some() && policy.lists(&tool) && !policy.disallows(&tool)
        })
        .map(|(name, _)| name)
        .collect();
    Some(json!({
        "tool": call.tool,
        "summary": call.summary,
        "verdict": verdict.word,
        "code": refusal.map(|refusal| refusal.code.as_str()),
        "message": refusal.map(|refusal| &refusal.message),
        "state": state_paths(machine, run).0,
        "commands": commands,
        "teach": teach(machine, run, Some(verdict.path)),
        "allowed_in": allowed_in,
    }))
}

pub(super) fn verdict(event: &Event) -> Option<Verdict<'_>> {
    let verdict = match event {
        Event::CallAllowed {
            path, call, marks, ..
        }
        | Event::ToolAllowed {
            path, call, marks, ..
        } => Verdict {
            path,
            call,
            word: "allowed",
            refusal: None,
            marks: Some(marks),
            of_stage: matches!(event, Event::ToolAllowed { .. }),
        },
        Event::CallDenied {
            path,
            call,
            refusal,
        }
        | Event::ToolDenied {
            path,
            call,
            refusal,
            ..
        } => Verdict {
            path,
            call,
            word: "denied",
            refusal: Some(refusal),
            marks: None,
            of_stage: matches!(event, Event::ToolDenied { .. }),
        },
        Event::RequestOpened {
            path,
            about: About::Call(grant),
            ..
        } => Verdict {
            path,
            call: &grant.call,
            word: "asked",
            refusal: Some(&grant.refusal),
            marks: Some(&grant.marks),
            of_stage: grant.then.is_some(),
        },
        _ => return None,
    };
    Some(verdict)
}
