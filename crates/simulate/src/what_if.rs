//! Judges the log of a run again under another workflow.
//!
//! Nothing is run or written. Each step of the log becomes the command that it must have come from; the workflow that the run has
//! pinned must answer that command as in the log, and only then does the other workflow get the same command. Two runs are folded
//! side by side: the recorded one, and the one under the other workflow. From the first difference on, the second one is
//! hypothetical: the agent would have been told something else, and what it would have done then is unknown.

mod ahead;
mod calls;
mod commands;
mod judge;
mod told;

use interlock_core::{
    event::Event,
    machine::Machine,
    names::MachineId,
    refusal::Code,
    run::{Run, RunKind},
};
use interlock_view::report::{state_paths, status};
use serde::Serialize;

use crate::Scenario;

/// The requested range of differences and steps that could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First event of interest; earlier ones are only counted.
    pub from: u64,
    /// Maximum number of each in the result; the others are only counted.
    pub limit: usize,
}

/// The result of judging a log under another workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhatIf {
    /// Number of steps that differ.
    pub differing: u64,
    /// Event of the first of them.
    pub first: Option<u64>,
    /// Differences in the window, in the order of the log.
    pub differences: Vec<Difference>,
    /// Number of steps that both workflows judged.
    pub judged: u64,
    /// Number of steps that were not judged; they are taken as recorded.
    pub unjudged: u64,
    /// Unjudged steps in the window.
    pub not_judged: Vec<NotJudged>,
    /// Event of the log at which the run is over under the other workflow; nothing after it is judged.
    pub over: Option<u64>,
    /// State of the run after the last event, as recorded.
    pub then: Standing,
    /// State of the run under the other workflow.
    pub now: Standing,
}

/// A step of the log that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Event of the log.
    pub seq: u64,
    /// Kind of the step.
    pub about: About,
    /// Description: a call with its arguments, or the name of an event.
    pub what: String,
    /// Kind of the difference.
    pub change: Change,
    /// Result in the log.
    pub then: Outcome,
    /// Result under the other workflow.
    pub now: Outcome,
    /// Whether a person's approval is assumed because only the other workflow asks.
    pub yes_assumed: bool,
    /// What the log does not contain of it, so that it was not judged; empty if nothing.
    pub lacks: &'static str,
}

/// The kind of a step of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The start of the run.
    Start,
    /// A tool call.
    Call,
    /// The result of a call.
    Result,
    /// A transition.
    Transition,
    /// An answer of a person.
    Answer,
    /// The end of the agent's work, or of a sub-agent's.
    Finish,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was possible, and is refused.
    Refused,
    /// It was refused or a person was asked, and is possible.
    Possible,
    /// A person is asked now.
    Asks,
    /// It is refused for another reason.
    OtherReason,
    /// It is still possible, and has other effects.
    OtherWay,
    /// It no longer has any effect.
    Nothing,
}

/// The result of a step under a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Effects, one sentence each; empty if none.
    pub says: Vec<String>,
    /// Code of the refusal, or of the request to a person.
    pub code: Option<Code>,
    /// Message of the refusal.
    pub message: Option<String>,
    /// States of the run before the step.
    pub state: Vec<String>,
}

/// A step that could not be judged again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotJudged {
    /// Event of the log.
    pub seq: u64,
    /// Description of the step.
    pub what: String,
    /// Why the result is unknown.
    pub why: &'static str,
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Current states.
    pub state: Vec<String>,
    /// Status, as in `interlock status`.
    pub status: String,
}

impl Standing {
    fn of(machine: &Machine, run: &Run) -> Self {
        Self {
            state: state_paths(machine, run).0,
            status: status(machine, run).as_str().to_owned(),
        }
    }
}

/// Why a log cannot be judged again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotJudge {
    /// It is a run of steps.
    #[error(
        "`{0}` is a run of steps that Interlock runs itself: it is not judged again, because other outputs of its programs and models are not in its log; compare it with another run instead"
    )]
    StepsRun(MachineId),
    /// The other workflow is one of steps.
    #[error(
        "`{0}` is a workflow of steps that Interlock runs itself: it judges no agent, so the log cannot be judged under it; name a workflow that guards an agent"
    )]
    StepsWorkflow(MachineId),
    /// There are no events.
    #[error("the log has no event: there is nothing to judge")]
    Empty,
}

/// Judges `log` again under `other`; `pinned` is the workflow of the run.
///
/// Pure: the same inputs give the same answer, and no file is accessed.
///
/// # Errors
/// The errors of reading `log`, and [`CannotJudge`].
pub fn what_if<E: From<CannotJudge>>(
    log: impl Iterator<Item = Result<Event, E>>,
    pinned: &Machine,
    other: &Machine,
    scenario: &Scenario,
    window: Window,
) -> Result<WhatIf, E> {
    if other.durable {
        return Err(CannotJudge::StepsWorkflow(other.id.clone()).into());
    }
    let mut ahead = ahead::Ahead::new(log);
    match ahead.fill()?.first() {
        None => return Err(CannotJudge::Empty.into()),
        Some(Event::RunStarted { machine, kind, .. }) if *kind != RunKind::Guarded => {
            return Err(CannotJudge::StepsRun(machine.clone()).into());
        }
        Some(_) => {}
    }
    let mut judge = judge::Judge::new(pinned, other, scenario, window);
    while !ahead.fill()?.is_empty() {
        let used = judge.step(ahead.fill()?);
        ahead.drop_first(used);
    }
    Ok(judge.end())
}
