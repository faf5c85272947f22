//! The next step of a model stage.
//!
//! An attempt passes through Setup, Init, Act, Assert, Exit and Next. [`step`] returns what the runner must do next; the
//! runner reports back with a [`StageCommand`](crate::command::StageCommand).

use crate::{
    attempt::CallStatus,
    conversation::is_too_long,
    machine::Machine,
    names::FramePath,
    place::stage_of,
    run::{Run, RunningAt},
};

/// The next step of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Report the available tools: [`StageCommand::Begin`](crate::command::StageCommand::Begin).
    Begin,
    /// Call a model: [`StageCommand::CallModel`](crate::command::StageCommand::CallModel), then report its result.
    Model {
        /// Number of the message to come, from 1.
        turn: u32,
        /// Whether the log already has the call, but not its result.
        logged: bool,
    },
    /// Condense the conversation, which is too long: [`StageCommand::Condensed`](crate::command::StageCommand::Condensed).
    Condense,
    /// Call the model again at this time, in milliseconds since 1970.
    Wait(u64),
    /// Propose the call at this position in the last message: [`StageCommand::Propose`](crate::command::StageCommand::Propose).
    Propose(usize),
    /// Run the calls at these positions, or run them again after a crash: [`StageCommand::Record`](crate::command::StageCommand::Record).
    Run(Vec<usize>),
    /// Wait for a person's answer about the call at this position.
    Person(usize),
}

/// Returns the next step for the stage of the frame at `path`; `None`: no attempt is in progress there.
#[must_use]
pub fn step(machine: &Machine, run: &Run, path: &FramePath) -> Option<Step> {
    let frame = run.frame(path)?;
    stage_of(machine, frame)?;
    let started = frame.stay.effect()?.at == RunningAt::Started;
    if !started || run.is_over() || frame.stay.request.is_some() {
        return None;
    }
    let Some(progress) = frame.stay.stage_attempt() else {
        return Some(Step::Begin);
    };
    if let Some(at) = progress.place(|status| matches!(status, CallStatus::Asked)) {
        return Some(Step::Person(at));
    }
    let running: Vec<usize> =
        progress.places(|status| matches!(status, CallStatus::Running { .. }));
    let reading = progress.places(|status| matches!(status, CallStatus::Running { reads: true }));
    let waiting = progress.place(|status| matches!(status, CallStatus::Waiting));
    if !running.is_empty() {
        // Calls that only read may run beside each other; judged one after the other all the same.
        return Some(match waiting {
            Some(at) if progress.may_overlap(&running, at) => Step::Propose(at),
            // What may write runs alone, also behind calls that only read.
            _ if reading.is_empty() => Step::Run(running),
            _ => Step::Run(reading),
        });
    }
    if let Some(at) = waiting {
        return Some(Step::Propose(at));
    }
    let is_first = progress.turns == 0 && !progress.condensed && !progress.calling;
    // What the run may not spend on an answer, it may not spend on a summary either.
    if is_first && is_too_long(machine, frame) && !is_spent(machine, run) {
        return Some(Step::Condense);
    }
    if let Some(again_ms) = progress.again_ms {
        return Some(Step::Wait(again_ms));
    }
    Some(Step::Model {
        turn: progress.turns.saturating_add(1),
        logged: progress.calling,
    })
}

/// Message for a model call that is refused because [`is_spent`] is true.
pub(crate) const SPENT: &str = "the run has spent what it may on models: no further call is made";

/// Returns whether the run has spent its budget for models.
pub(crate) fn is_spent(machine: &Machine, run: &Run) -> bool {
    let budget = machine.stages.as_ref().map(|rules| rules.budget);
    let budget = budget.unwrap_or_default();
    let money = run.spent.pico_usd;
    let most = |most: Option<u64>, spent: u64| most.is_some_and(|most| spent >= most);
    most(budget.tokens, run.spent.tokens())
        || money.is_some_and(|spent| most(budget.pico_usd, spent))
}
