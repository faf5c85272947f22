//! The interlock engine: a deterministic state machine between an agent and its tools.
//!
//! Three pure functions hold the whole behaviour: [`decide`] answers a
//! command, [`evolve`] folds an event, [`effects`] says what must be done now.
//! No input or output, no clock, no randomness, no async.

pub mod attempt;
pub mod call;
pub mod command;
pub mod conversation;
pub mod data;
pub mod dialogue;
pub mod event;
pub mod facts;
pub mod glob;
pub mod guard;
pub mod holds;
pub mod instant;
pub mod machine;
pub mod names;
pub mod passkey;
pub mod pending;
pub mod place;
pub mod policy;
pub mod refusal;
pub mod run;
pub mod stage;
pub mod substance;
pub mod visible;

mod address;
mod canonical;
mod decide;
mod effects;
mod evolve;
mod fill;
mod judge;
mod merge;
mod parts;

pub use address::addressed;
pub use decide::{
    Decision, Question, Reply, decide, question, shell_finding, stage_task, stage_text, text_digest,
};
pub use effects::{asks, effects, fill_now, missing_files};
pub use evolve::evolve;
pub use judge::{
    Finding, Hold, Objection, ShellRule, hold, hold_at, is_contained, judge_written, keys,
};
