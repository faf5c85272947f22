//! The interlock engine: a deterministic state machine between an agent and its tools.
//!
//! Three pure functions contain the whole behaviour: [`decide`] decides a command, [`evolve`] folds an event, and
//! [`effects`] returns the effects that must be performed now. The crate uses no input or output, no clock, no randomness
//! and no async code.
//!
//! Machines, runs and verdicts are defined in crates below this one. Their modules are exported here, too, so that
//! users of the engine need no other crate.

pub mod conversation;
pub mod stage;

mod decide;
mod effects;
mod evolve;
mod fill;
mod merge;

pub use decide::{Decision, Question, Reply, decide, question, stage_task, stage_text};
pub use effects::{asks, effects, fill_now, missing_files};
pub use evolve::evolve;

pub use interlock_judge::{
    Finding, LineConfinement, Objection, ShellRule, address::addressed, begins_with, confinement,
    confinement_at, covers, holds, is_contained, judge_written, keeps_running, keys, shell_finding,
};
pub use interlock_machine::{
    glob, guard, instant, machine, names, policy, refusal, substance, visible,
};
pub use interlock_run::{
    attempt, call, command, data, dialogue, event, facts, passkey, pending, place, run,
};

use interlock_judge::{self as judge, address};
use interlock_machine::canonical;
use interlock_run::parts;

/// Returns the SHA-256 of a text, in lower-case hex.
#[must_use]
pub fn text_digest(text: &str) -> names::Digest {
    names::Digest::of(text)
}
