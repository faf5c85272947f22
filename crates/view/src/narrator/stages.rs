//! What is said of model stages: in the log, and while they go on.

use interlock_core::{
    event::{AllowSource, Event},
    machine::Machine,
    names::FramePath,
    place::title,
    run::Run,
    visible::one_line,
};

use super::cost;

/// Says what happened.
pub(super) fn detail(event: &Event) -> String {
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
        Event::ToolStarted { call, .. } => call.to_string(),
        _ => String::new(),
    }
}

fn first(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Returns the path of the stage and what is said of an event; `None`: nothing.
#[must_use]
pub fn under_way(machine: &Machine, before: &Run, event: &Event) -> Option<(String, String)> {
    let at = |path: &FramePath| one_line(&title(machine, before, path));
    Some(match event {
        Event::ToolAllowed {
            path, call, source, ..
        } => {
            let why = match source {
                AllowSource::Grant => ", granted",
                AllowSource::Mode => ", by mode",
                _ => "",
            };
            let what = one_line(&format!("{} {}", call.tool, first(&call.summary)));
            (at(path), format!("{what}: allowed{why}"))
        }
        Event::ToolDenied {
            path,
            call,
            refusal,
            ..
        } => {
            let why = one_line(&refusal.message);
            let code = refusal.code.as_str();
            (
                at(path),
                format!("{}: denied ({code}): {why}", one_line(&call.tool)),
            )
        }
        Event::CompletionRejected { path, findings, .. } => {
            let why = findings.first().map(|why| one_line(why));
            let why = why.unwrap_or_default();
            (at(path), format!("what it handed in does not fit: {why}"))
        }
        Event::StageExited {
            path,
            outcome,
            turns,
            usage,
            ..
        } => {
            let messages = if *turns == 1 { "message" } else { "messages" };
            let cost = cost(usage);
            (
                at(path),
                format!("{outcome} after {turns} {messages}, {cost}"),
            )
        }
        _ => return None,
    })
}
