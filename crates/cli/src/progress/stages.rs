//! What is said of a model stage while it goes on: its calls with their verdicts, its end with what it cost.

use interlock_core::{
    attempt::Usage,
    event::{AllowSource, Event},
    machine::Machine,
    names::FramePath,
    place::title,
    run::Run,
};

use super::clean::one_line;

/// Picodollars of a hundredth of a cent, the smallest part of money that is shown.
const SHOWN: u64 = 100_000_000;

/// Returns the path of the stage and what is said of an event; `None`: nothing.
pub(super) fn line(machine: &Machine, before: &Run, event: &Event) -> Option<(String, String)> {
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
            let what = one_line(&format!("{} {}", call.tool, first_line(&call.summary)));
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
            let why = findings
                .first()
                .map_or_else(String::new, |why| one_line(why));
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Says what a stage used, and what that cost where it is known.
pub(crate) fn cost(usage: &Usage) -> String {
    let tokens = format!("{} tokens in, {} out", usage.input, usage.output);
    match usage.pico_usd {
        Some(pico) => {
            let parts = pico / SHOWN;
            format!("{tokens}, ${}.{:04}", parts / 10_000, parts % 10_000)
        }
        None => tokens,
    }
}
