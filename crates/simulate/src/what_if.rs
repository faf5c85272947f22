//! What if: the log of a run, judged again under another workflow.
//!
//! Nothing runs and nothing is written. Each step of the log becomes the command it must have come from; the
//! workflow that the run has pinned has to answer that command as the log says, and only then is the other
//! workflow asked the same. Two runs are folded side by side: the recorded one, and the one that the other
//! workflow would have had. From the first difference on the second one is hypothetical: the agent would have
//! been told something else, and what it would have done then is not known.

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

/// Differences, and steps that could not be judged, that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first event of the log that is of interest; those before are only counted.
    pub from: u64,
    /// How many of each are listed at most; the others are only counted.
    pub limit: usize,
}

/// A log as another workflow would have had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhatIf {
    /// How many steps come out differently.
    pub differing: u64,
    /// The event of the first of them.
    pub first: Option<u64>,
    /// Those of the window, in the order of the log.
    pub differences: Vec<Difference>,
    /// How many steps of the log were judged by both workflows.
    pub judged: u64,
    /// How many were not; they are taken as recorded.
    pub unjudged: u64,
    /// Those of the window.
    pub not_judged: Vec<NotJudged>,
    /// The event of the log at which the run is over under the other workflow; nothing after it is judged.
    pub over: Option<u64>,
    /// Where the run stands after the last event, as recorded.
    pub then: Standing,
    /// Where it would stand under the other workflow.
    pub now: Standing,
}

/// A step of the log that comes out differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The event of the log.
    pub seq: u64,
    /// What was asked.
    pub about: About,
    /// What was asked, in words: a call with its arguments, or the name of an event.
    pub what: String,
    /// How it changes.
    pub change: Change,
    /// What the log says.
    pub then: Outcome,
    /// What the other workflow says.
    pub now: Outcome,
    /// Whether it is taken for granted that a person says yes where only the other workflow asks.
    pub yes_assumed: bool,
    /// What the log does not keep of it, so that it was not judged; empty: nothing.
    pub lacks: &'static str,
}

/// What a step of a log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The beginning of the run.
    Start,
    /// A tool call.
    Call,
    /// What came of a call.
    Result,
    /// A transition.
    Transition,
    /// An answer of a person.
    Answer,
    /// The end of the agent's work, or of a sub-agent's.
    Finish,
}

/// How a step changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was possible, and is refused now.
    Refused,
    /// It was refused or a person was asked, and is possible now.
    Possible,
    /// A person is asked now.
    Asks,
    /// It is refused for another reason.
    OtherReason,
    /// It is possible as before, and something else follows.
    OtherWay,
    /// Nothing follows from it now.
    Nothing,
}

/// What a workflow says to a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What happens, a sentence each; empty: nothing.
    pub says: Vec<String>,
    /// Why it is refused, or a person is asked.
    pub code: Option<Code>,
    /// The reason in words.
    pub message: Option<String>,
    /// Where the run stood when it was asked.
    pub state: Vec<String>,
}

/// A step that could not be judged again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotJudged {
    /// The event of the log.
    pub seq: u64,
    /// What was asked.
    pub what: String,
    /// Why it is not known what the answer would be.
    pub why: &'static str,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The states.
    pub state: Vec<String>,
    /// The status, as `interlock status` says it.
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
    /// Interlock carries its steps out.
    #[error(
        "`{0}` is a run of steps that Interlock runs itself: it is not judged again, because other outputs of its programs and models are not in its log; compare it with another run instead"
    )]
    StepsRun(MachineId),
    /// The other workflow is one of steps.
    #[error(
        "`{0}` is a workflow of steps that Interlock runs itself: it judges no agent, so the log cannot be judged under it; name a workflow that guards an agent"
    )]
    StepsWorkflow(MachineId),
    /// There is no event.
    #[error("the log has no event: there is nothing to judge")]
    Empty,
}

/// Judges `log` again under `other`; `pinned` is the workflow that the run follows.
///
/// Pure: the same inputs give the same answer, and no file is looked at.
///
/// # Errors
/// What `log` fails with, and [`CannotJudge`].
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
