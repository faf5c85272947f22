//! What is to be done next for a model stage.
//!
//! One attempt goes Setup, Init, Act, Assert, Exit, Next. [`step`] says what
//! whoever carries the stage out does next; it answers with a [`StageCommand`](crate::command::StageCommand).

use crate::{
    attempt::CallStatus,
    conversation::is_too_long,
    machine::Machine,
    names::FramePath,
    place::stage_of,
    run::{Run, RunningAt},
};

/// What is to be done next for a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The tools that are there are to be told: [`StageCommand::Begin`](crate::command::StageCommand::Begin).
    Begin,
    /// A model is to be called: [`StageCommand::CallModel`](crate::command::StageCommand::CallModel), then its end.
    Model {
        /// The number of the message to come, from 1.
        turn: u32,
        /// Whether the call is in the log already, and its end is not.
        logged: bool,
    },
    /// The conversation is too long, and is to be condensed first: [`StageCommand::Condensed`](crate::command::StageCommand::Condensed).
    Condense,
    /// The model is called again at this time, in milliseconds since 1970, and not before.
    Wait(u64),
    /// The call at this place of the last message is to be judged: [`StageCommand::Propose`](crate::command::StageCommand::Propose).
    Propose(usize),
    /// The calls at these places run, or are to be run again after a crash: [`StageCommand::Record`](crate::command::StageCommand::Record).
    Run(Vec<usize>),
    /// A person is asked about the call at this place.
    Person(usize),
}

/// Returns what is to be done next for the stage of the frame at `path`; `None`: none is under way there.
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

/// Why a model is not called where [`is_spent`] holds.
pub(crate) const SPENT: &str = "the run has spent what it may on models: no further call is made";

/// Tells whether the run has spent what it may on models.
pub(crate) fn is_spent(machine: &Machine, run: &Run) -> bool {
    let budget = machine.stages.as_ref().map(|rules| rules.budget);
    let budget = budget.unwrap_or_default();
    let money = run.spent.pico_usd;
    let most = |most: Option<u64>, spent: u64| most.is_some_and(|most| spent >= most);
    most(budget.tokens, run.spent.tokens())
        || money.is_some_and(|spent| most(budget.pico_usd, spent))
}
