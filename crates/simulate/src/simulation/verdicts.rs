//! The verdicts on the calls of a model's message.

use std::collections::BTreeMap;

use interlock_core::{
    event::{About, Event},
    names::CallId,
    refusal::Code,
};

use crate::output::{CallVerdict, Verdict};

/// Collects the verdicts on the calls from the events, in the order of the calls.
pub(super) fn of(events: &[Event]) -> Vec<CallVerdict> {
    let mut found: Vec<(CallId, CallVerdict)> = Vec::new();
    for event in events {
        let (id, verdict) = match event {
            Event::ToolAllowed { call, .. } => (&call.id, allowed(&call.tool)),
            Event::ToolDenied { call, refusal, .. } => (
                &call.id,
                CallVerdict {
                    tool: call.tool.clone(),
                    verdict: Some(Verdict::Deny),
                    code: Some(refusal.code),
                    message: refusal.message.clone(),
                },
            ),
            Event::RequestOpened {
                about: About::Call(grant),
                ..
            } if grant.then.is_some() => (
                &grant.call.id,
                CallVerdict {
                    tool: grant.call.tool.clone(),
                    verdict: Some(Verdict::Ask),
                    code: None,
                    message: grant.refusal.message.clone(),
                },
            ),
            Event::CompletionAccepted { call: Some(id), .. } => (id, allowed("")),
            Event::CompletionRejected {
                call: Some(id),
                findings,
                ..
            } => (
                id,
                CallVerdict {
                    tool: String::new(),
                    verdict: Some(Verdict::Deny),
                    code: (!findings.is_empty()).then_some(Code::SchemaInvalid),
                    message: if findings.is_empty() {
                        "another completion of this message was taken".to_owned()
                    } else {
                        findings.join("; ")
                    },
                },
            ),
            _ => continue,
        };
        match found.iter_mut().find(|(known, _)| known == id) {
            Some((_, known)) => *known = verdict,
            None => found.push((id.clone(), verdict)),
        }
    }
    let tools: BTreeMap<CallId, String> = events
        .iter()
        .filter_map(|event| match event {
            Event::ModelResponded { calls, .. } => Some(calls),
            _ => None,
        })
        .flatten()
        .map(|call| (call.id.clone(), call.tool.clone()))
        .collect();
    found.sort_by_key(|(id, _)| place(id));
    found
        .into_iter()
        .map(|(id, mut verdict)| {
            if let Some(tool) = tools.get(&id).filter(|_| verdict.tool.is_empty()) {
                verdict.tool.clone_from(tool);
            }
            verdict
        })
        .collect()
}

fn allowed(tool: &str) -> CallVerdict {
    CallVerdict {
        tool: tool.to_owned(),
        verdict: Some(Verdict::Allow),
        code: None,
        message: String::new(),
    }
}

/// Returns the index of a call in its message.
fn place(id: &CallId) -> usize {
    let last = id.as_str().rsplit(".c").next();
    last.and_then(|place| place.parse().ok())
        .unwrap_or_default()
}
