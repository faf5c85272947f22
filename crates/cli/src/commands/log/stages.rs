//! Events of model stages, as a person reads them.

use interlock_core::event::{AllowSource, Event};

use crate::progress::cost;

/// Tells whether an event is one of a model stage.
pub(super) const fn is_one(event: &Event) -> bool {
    matches!(
        event,
        Event::StageEntered { .. }
            | Event::ModelCalled { .. }
            | Event::ModelResponded { .. }
            | Event::ModelFailed { .. }
            | Event::ToolAllowed { .. }
            | Event::ToolDenied { .. }
            | Event::ToolStarted { .. }
            | Event::ToolEnded { .. }
            | Event::CompletionRejected { .. }
            | Event::StageActed { .. }
            | Event::StageAsserted { .. }
            | Event::StageExited { .. }
            | Event::StageFailed { .. }
            | Event::PersonAsked { .. }
            | Event::PersonAnswered { .. }
            | Event::PersonDismissed { .. }
    )
}

/// Tells whether an event is about whether a proposed call may run.
pub(super) const fn is_verdict(event: &Event) -> bool {
    matches!(
        event,
        Event::ToolAllowed { .. } | Event::ToolDenied { .. } | Event::GrantRequested { .. }
    )
}

/// Says what happened.
pub(super) fn sentence(event: &Event) -> String {
    match event {
        Event::StageEntered {
            attempt,
            tools,
            missing,
            ..
        } => {
            let tools = if tools.is_empty() {
                "no tools".to_owned()
            } else {
                tools.join(", ")
            };
            let missing = if missing.is_empty() {
                String::new()
            } else {
                format!("; not there: {}", missing.join(", "))
            };
            format!("attempt {attempt} with {tools}{missing}")
        }
        Event::ModelCalled {
            provider,
            model,
            turn,
            ..
        } => format!("{provider}/{model} for message {turn}"),
        Event::ModelResponded {
            turn,
            calls,
            usage,
            ms,
            ..
        } => {
            let calls = calls.len();
            format!(
                "message {turn} with {calls} calls, {}, {ms} ms",
                cost(usage)
            )
        }
        Event::ModelFailed { code, message, .. } => format!("({code}) {message}"),
        Event::ToolAllowed { call, source, .. } => {
            let by = match source {
                AllowSource::Stage => "the stage lists it",
                AllowSource::Mode => "by mode",
                AllowSource::Grant => "granted",
                AllowSource::Policy => "by policy",
                AllowSource::Control => "a control tool",
            };
            format!("{} {} {} ({by})", call.id, call.tool, first(&call.summary))
        }
        Event::ToolDenied { call, refusal, .. } => {
            let (code, why) = (refusal.code.as_str(), &refusal.message);
            format!("{} {} ({code}: {why})", call.id, call.tool)
        }
        Event::ToolEnded {
            call,
            code,
            bytes,
            ms,
            ..
        } => {
            let how = code.as_deref().unwrap_or("done");
            format!("{call} {how}, {bytes} bytes, {ms} ms")
        }
        Event::CompletionRejected { findings, .. } => findings.join("; "),
        Event::StageActed { outcome, turns, .. } => format!("{outcome}, {turns} messages"),
        Event::StageAsserted { ok, message, .. } => match ok {
            true => "holds".to_owned(),
            false => format!("does not hold: {message}"),
        },
        Event::StageExited {
            attempt,
            outcome,
            usage,
            ..
        } => format!("attempt {attempt}: {outcome}, {}", cost(usage)),
        Event::StageFailed { code, message, .. } => format!("({code}) {message}"),
        Event::PersonAsked { message, .. } => message.clone(),
        Event::PersonDismissed { reason, .. } => reason.clone(),
        Event::ToolStarted { call, .. } => call.to_string(),
        Event::PersonAnswered { yes, by, note, .. } => {
            let word = if *yes { "yes" } else { "no" };
            let note = note
                .as_deref()
                .map_or_else(String::new, |note| format!(": {note}"));
            format!("{word} by {by}{note}")
        }
        _ => String::new(),
    }
}

fn first(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
