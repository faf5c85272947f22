//! The one narrator of events: what the log, the watch and the progress of a run say of each.
//!
//! Every event has its arm here, so that one that is added is put into words, too.
//! Texts are as the run has them: whoever prints them makes them visible first.

mod stages;
mod steps;
mod substance;

use interlock_core::{
    attempt::Usage,
    event::{About, Event, ProtectedChange, RequestKind, VoidReason},
    names::ApprovalId,
};

pub use stages::under_way;

/// What happened, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The name of the event, as the log has it.
    pub title: &'static str,
    /// What there is to know of it, as a rule in one line; empty: the title says all.
    pub detail: String,
    /// How much a person should look at it.
    pub severity: Severity,
}

/// How much a person should look at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The work goes on as expected.
    Routine,
    /// The run moved, or a person did something.
    Notable,
    /// Something was refused, failed or is not as it was.
    Alarming,
}

/// Describes event number `seq` of a run.
#[must_use]
pub fn describe(seq: u64, event: &Event) -> Description {
    Description {
        title: event.name(),
        detail: detail(seq, event),
        severity: severity(event),
    }
}

fn severity(event: &Event) -> Severity {
    match event {
        Event::ProtectedChanged { .. }
        | Event::TokenSeen { .. }
        | Event::ConsoleRefused { .. }
        | Event::ToolChanged(_)
        | Event::CallDenied { .. }
        | Event::TransitionRejected { .. }
        | Event::ToolDenied { .. }
        | Event::ModelFailed { .. }
        | Event::StageFailed { .. }
        | Event::RequestVoided {
            why: VoidReason::NoAnswer(_),
            ..
        } => Severity::Alarming,
        Event::RequestAnswered { yes, about, .. } => match about {
            RequestKind::Transition | RequestKind::Call if !yes => Severity::Alarming,
            _ => Severity::Notable,
        },
        Event::RunEnded { .. } if event.name() == "RunFailed" => Severity::Alarming,
        Event::CallAllowed { .. }
        | Event::CallEnded { ok: true, .. }
        | Event::LineConfined { .. }
        | Event::LineEnded { .. }
        | Event::ModelCalled { .. }
        | Event::ToolAllowed { .. }
        | Event::ToolStarted { .. }
        | Event::ToolEnded { .. }
        | Event::TurnEnded { .. } => Severity::Routine,
        _ => Severity::Notable,
    }
}

fn detail(seq: u64, event: &Event) -> String {
    match event {
        Event::RunStarted { by, .. }
        | Event::OutputChanged { by, .. }
        | Event::PersonSaid { by, .. }
        | Event::RunReopened { by, .. }
        | Event::RunResumed { by }
        | Event::RunCancelled { by } => by.clone(),
        Event::RunPaused { by, reason } => joined(by, reason.as_deref()),
        Event::TrustDecided {
            project, word, by, ..
        } => format!("{word} {project} by {by}"),
        Event::CallAllowed { call, .. } => format!("{} {}", call.tool, call.summary),
        Event::CallDenied { call, refusal, .. } => {
            let code = refusal.code.as_str();
            format!("{} {} ({code})", call.tool, call.summary)
        }
        Event::RequestOpened { about, .. } => asked(seq, about),
        Event::RequestAnswered {
            id,
            about,
            yes,
            by,
            note,
            ..
        } => answered(id, *about, *yes, by, note.as_deref()),
        Event::RequestVoided { id, why, .. } => match why {
            VoidReason::Cancelled => why.sentence().to_owned(),
            VoidReason::Refused(_) | VoidReason::Prompt(_) | VoidReason::NoAnswer(_) => {
                format!("{id} ({})", why.sentence())
            }
        },
        Event::RequestUsed { id, .. } => id.to_string(),
        Event::LineConfined {
            call,
            level,
            unconfined,
            ..
        } => {
            let but = match unconfined.as_slice() {
                [] => String::new(),
                missing => format!(", not confined: {}", missing.join(", ")),
            };
            format!("{call} confined at level `{level}`{but}")
        }
        Event::LineEnded {
            call,
            exit,
            wrote,
            checked,
            ..
        } => {
            let exit = exit.map_or_else(|| "not known".to_owned(), |exit| exit.to_string());
            let wrote: Vec<&str> = wrote
                .iter()
                .filter_map(|path| path.relative.as_deref())
                .collect();
            let wrote = if wrote.is_empty() {
                String::new()
            } else {
                format!(", wrote {}", wrote.join(", "))
            };
            format!("{call} exit {exit}{wrote}{}", substance::checked(checked))
        }
        Event::AgentBound { agent, .. } | Event::AgentReleased { agent } => agent.to_string(),
        Event::TransitionTaken {
            event, from, to, ..
        } => format!("{event} {from} -> {to}"),
        Event::InterruptRaised {
            interrupt,
            from,
            to,
            ..
        } => format!("{interrupt} {from} -> {to}"),
        Event::TransitionRejected { event, refusal, .. } => {
            format!("{event} ({}: {})", refusal.code.as_str(), refusal.message)
        }
        Event::MachineReturned { outcome, .. } => steps::outcome_word(*outcome).to_owned(),
        Event::FilesChanged { files, .. } => {
            format!("{}: no call was seen to change them", files.join(", "))
        }
        Event::ProjectAccepted { by } => {
            format!("{by}: frozen files and tests count as they are from now on")
        }
        Event::FrozenCompared { changes } => substance::compared(changes),
        Event::ProtectedChanged { changes } => {
            let sentences: Vec<String> = changes.iter().map(ProtectedChange::sentence).collect();
            sentences.join(", ")
        }
        Event::TokenSeen { place } => format!("INTERLOCK_TOKEN {}", place.as_str()),
        Event::ConsoleRefused {
            pid,
            program,
            request,
        } => format!("{program} (process {pid}): {request}"),
        Event::ToolChanged(change) => {
            format!(
                "{} {}: {}",
                change.server,
                change.tool,
                change.parts.join(", ")
            )
        }
        Event::ToolAccepted {
            server, tool, by, ..
        } => format!("{server} {tool} by {by}"),
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
        | Event::StageFailed { .. } => stages::detail(event),
        Event::EffectStarted { .. }
        | Event::AttemptFailed { .. }
        | Event::EffectSettled { .. }
        | Event::ActivityEnded { .. }
        | Event::VariablesSet { .. }
        | Event::MachineAdopted { .. }
        | Event::ItemsListed { .. }
        | Event::RegionsStarted { .. }
        | Event::RegionEnded { .. }
        | Event::Joined { .. }
        | Event::MachineCalled { .. }
        | Event::TransitionSelected { .. }
        | Event::Noted { .. }
        | Event::RunEnded { .. } => steps::detail(event),
        Event::CallEnded { call, ok, exit, .. } => match (exit, ok) {
            (Some(exit), _) => format!("{call} exit {exit}"),
            (None, true) => format!("{call} ok"),
            (None, false) => format!("{call} failed"),
        },
        Event::FinishRefused { attempt } => format!("number {attempt} since the last transition"),
        Event::InterruptQueued {
            interrupt, file, ..
        } => format!("{interrupt} for {file}"),
        Event::OutputKept { state, .. } => format!("of {state}"),
        Event::HistoryCondensed {
            summary,
            model,
            usage,
            ..
        } => match summary {
            Some(_) => format!("by {model}, {}", cost(usage)),
            None => format!("not: {model} gave no summary, {}", cost(usage)),
        },
        Event::CompletionAccepted { call, .. } => call
            .as_ref()
            .map_or_else(|| "its answer".to_owned(), ToString::to_string),
        Event::TurnEnded { n, calls, .. } => format!("message {n} with {calls} calls"),
        Event::RegionPassed { to, .. } => format!("to {to}"),
        Event::Parted { line, .. } => format!("at {line}"),
        Event::EffectLost { .. } => "the process that ran it is gone".to_owned(),
        Event::StageStarted { .. }
        | Event::InterruptDequeued { .. }
        | Event::RegionReopened { .. }
        | Event::RegionWaits { .. } => String::new(),
    }
}

/// Says what a person is asked; a question about an entry is its own sentence.
fn asked(seq: u64, about: &About) -> String {
    let id = ApprovalId::of(seq);
    match about {
        About::Transition(asked) => format!("{id} {}: {}", asked.event, asked.message),
        About::Entry { message } => message.clone(),
        About::Call(grant) => format!("{id} {} {}", grant.call.tool, grant.call.summary),
    }
}

fn answered(
    id: &ApprovalId,
    about: RequestKind,
    yes: bool,
    by: &str,
    note: Option<&str>,
) -> String {
    match about {
        RequestKind::Entry => {
            let word = if yes { "yes" } else { "no" };
            let note = note.map_or_else(String::new, |note| format!(": {note}"));
            format!("{word} by {by}{note}")
        }
        RequestKind::Transition | RequestKind::Call => joined(&format!("{id} {by}"), note),
    }
}

fn joined(text: &str, more: Option<&str>) -> String {
    match more.filter(|more| !more.is_empty()) {
        Some(more) => format!("{text} {more}"),
        None => text.to_owned(),
    }
}

/// Picodollars of a hundredth of a cent, the smallest part of money that is shown.
const SHOWN: u64 = 100_000_000;

/// Says how many tokens were used, and what they cost where that is known.
#[must_use]
pub fn cost(usage: &Usage) -> String {
    let tokens = format!("{} tokens in, {} out", usage.input, usage.output);
    match usage.pico_usd {
        Some(pico) => {
            let parts = pico / SHOWN;
            format!("{tokens}, ${}.{:04}", parts / 10_000, parts % 10_000)
        }
        None => tokens,
    }
}

#[cfg(test)]
mod tests;
