//! One sentence about the effects of a line.

use interlock_core::{
    event::Event,
    machine::Machine,
    run::{Phase, Run},
};
use interlock_view::{
    notice,
    report::{self, Status},
};

/// Describes that a line was accepted, and its effects.
pub(super) fn accepted(machine: &Machine, run: &Run, events: &[Event], said: String) -> String {
    if let Some(notice) = notice(machine, run, events) {
        return notice;
    }
    let moved = events.iter().any(|event| {
        matches!(
            event,
            Event::TransitionTaken { .. } | Event::RunEnded { .. } | Event::RunCancelled { .. }
        )
    });
    if moved {
        format!("{said}; {}", standing(machine, run))
    } else {
        said
    }
}

/// Describes the state of the run.
pub(super) fn standing(machine: &Machine, run: &Run) -> String {
    let seen = interlock_view::report(machine, run, None);
    let cause = match &run.phase {
        Phase::Ended {
            cause: Some(cause), ..
        } => format!(": {}", cause.message),
        _ => String::new(),
    };
    let state = seen.state.0.join("`, `");
    match report::status(machine, run) {
        Status::Running => format!("now in `{state}`"),
        status => format!("now in `{state}`, {}{cause}", status.as_str()),
    }
}
