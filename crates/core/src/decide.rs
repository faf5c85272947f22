//! Answers a command against a run: events and a reply, or a refusal.

use crate::{
    command::Command,
    event::Event,
    machine::Machine,
    refusal::{Code, Refusal},
    run::Run,
};

/// What a command brought about.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What happened, to be appended and folded in this order; a refusal is recorded too.
    pub events: Vec<Event>,
    /// What the one who asked is told.
    pub reply: Reply,
}

/// What the one who asked is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done, or the call may run.
    Accepted,
    /// Taken to a person: the transition is parked.
    Parked {
        /// What the person is asked.
        message: String,
    },
    /// The call needs a person's grant.
    Ask(Refusal),
    /// No.
    Refused(Refusal),
}

/// Answers `command` against `run` as it is.
///
/// Total and pure: same inputs, same decision; never panics.
#[must_use]
pub fn decide(_machine: &Machine, _run: &Run, _command: &Command) -> Decision {
    Decision {
        events: Vec::new(),
        reply: Reply::Refused(Refusal::new(Code::LimitExceeded, "not built yet")),
    }
}
