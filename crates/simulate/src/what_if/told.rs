//! The meaning of events where two workflows are compared: what a person would call different.

use interlock_core::{
    event::{About, Event, RegionOutcome, RegionsStart},
    machine::Outcome as Ending,
    names::FramePath,
    refusal::Refusal,
};

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Passes,
    Asks,
    Refused,
    Nothing,
}

/// Describes the effect of an event on a run; returns `None` if it has none by itself.
pub(super) fn says(event: &Event) -> Option<String> {
    let text = match event {
        Event::RunStarted { initial, .. } => format!("the run begins in `{initial}`"),
        Event::CallAllowed { path, .. } => at(path, "allowed"),
        Event::CallDenied { path, refusal, .. } => {
            at(path, &format!("denied ({})", refusal.code.as_str()))
        }
        Event::RequestOpened { path, about, .. } => match about {
            About::Transition(asked) => at(path, &format!("`{}` waits for a person", asked.event)),
            About::Entry { .. } => at(path, "waits for a person to begin"),
            About::Call(_) => at(path, "a person is asked"),
        },
        Event::RequestAnswered { path, yes, .. } => at(
            path,
            if *yes {
                "a person said yes"
            } else {
                "a person said no"
            },
        ),
        Event::RequestVoided { path, .. } => at(path, "the question is void"),
        Event::FinishRefused { .. } => "the agent may not end its work yet".to_owned(),
        Event::TransitionTaken {
            path,
            event,
            from,
            to,
            ..
        } => at(path, &format!("`{event}` leads from `{from}` to `{to}`")),
        Event::TransitionRejected {
            path,
            event,
            refusal,
        } => at(
            path,
            &format!("`{event}` is refused ({})", refusal.code.as_str()),
        ),
        Event::InterruptRaised {
            path,
            interrupt,
            from,
            to,
            ..
        } => at(
            path,
            &format!("`{interrupt}` interrupts `{from}` and leads to `{to}`"),
        ),
        Event::InterruptQueued {
            path, interrupt, ..
        } => at(path, &format!("`{interrupt}` is kept for later")),
        Event::RegionsStarted { path, start } => at(path, &began(start)),
        Event::RegionEnded { path, outcome, .. } => at(path, ended(*outcome)),
        Event::Joined { path, outcome, .. } => {
            at(path, &format!("the branches join: {}", word(*outcome)))
        }
        Event::MachineCalled { path, shown, .. } => at(path, &format!("`{shown}` is called")),
        Event::MachineReturned { path, outcome, .. } => at(
            path,
            &format!("what was called returns: {}", word(*outcome)),
        ),
        Event::RunEnded { outcome, .. } => format!("the run ends: {}", word(*outcome)),
        _ => return None,
    };
    Some(text)
}

fn at(path: &FramePath, text: &str) -> String {
    if path.is_root() {
        return text.to_owned();
    }
    format!("in `{path}`: {text}")
}

fn began(start: &RegionsStart) -> String {
    let names = match start {
        RegionsStart::Branches(all) | RegionsStart::Split(all) => {
            let names: Vec<String> = all.iter().map(|one| format!("`{}`", one.name)).collect();
            names.join(", ")
        }
        RegionsStart::Next(one) => format!("`{}`", one.name),
        RegionsStart::Items { items, .. } => format!("{} items", items.len()),
        RegionsStart::Line { index, .. } => format!("line {index}"),
    };
    format!("{names} begin")
}

const fn ended(outcome: RegionOutcome) -> &'static str {
    match outcome {
        RegionOutcome::Succeeded => "the branch succeeds",
        RegionOutcome::Failed => "the branch fails",
        RegionOutcome::Cancelled => "the branch is cancelled",
        RegionOutcome::Waiting => "the branch waits",
        RegionOutcome::Merged => "the branch is merged",
    }
}

const fn word(outcome: Ending) -> &'static str {
    match outcome {
        Ending::Success => "success",
        Ending::Failure => "failure",
    }
}

/// Returns whether two events have the same meaning.
pub(super) fn is_alike(one: &Event, other: &Event) -> bool {
    one.name() == other.name() && says(one) == says(other)
}

/// Determines the result of a step from its events.
pub(super) fn verdict(events: &[Event]) -> Verdict {
    let mut found = Verdict::Nothing;
    for event in events {
        match event {
            Event::CallDenied { .. }
            | Event::TransitionRejected { .. }
            | Event::FinishRefused { .. } => return Verdict::Refused,
            Event::RequestOpened { .. } => return Verdict::Asks,
            event if says(event).is_some() => found = Verdict::Passes,
            _ => {}
        }
    }
    found
}

/// Returns why a step is refused, or why a person is asked.
pub(super) fn refusal(events: &[Event]) -> Option<Refusal> {
    events.iter().find_map(|event| match event {
        Event::CallDenied { refusal, .. } | Event::TransitionRejected { refusal, .. } => {
            Some(refusal.clone())
        }
        Event::RequestOpened {
            about: About::Call(grant),
            ..
        } => Some(grant.refusal.clone()),
        _ => None,
    })
}

/// Returns the question to a person about a transition.
pub(super) fn question(events: &[Event]) -> Option<String> {
    events.iter().find_map(|event| match event {
        Event::RequestOpened {
            about: About::Transition(asked),
            ..
        } => Some(asked.message.clone()),
        _ => None,
    })
}

/// Returns whether a region moved.
pub(super) fn moves(event: &Event) -> bool {
    matches!(
        event,
        Event::TransitionTaken { .. }
            | Event::InterruptRaised { .. }
            | Event::RegionsStarted { .. }
            | Event::RegionEnded { .. }
            | Event::Joined { .. }
            | Event::MachineCalled { .. }
            | Event::MachineReturned { .. }
            | Event::RunEnded { .. }
    )
}
