//! Decides whether a tool call may run and whether a guard holds.
//!
//! This crate reads a machine and a run, and changes neither. [`judge()`] checks the facts of a call against the policy of
//! its state, [`holds`] evaluates guards, and [`address`] finds the frame that a command is for.

pub mod address;
pub mod holds;

mod judge;

pub use judge::{
    Finding, JudgeContext, LineConfinement, Objection, ShellRule, StageVerdict, Verdict,
    awaits_approval, begins_with, confinement, confinement_at, context_of, covers, interrupt_hits,
    is_contained, judge, judge_stage, judge_written, keeps_running, keys, marks, only_reads,
    shell_finding,
};

use interlock_machine::{glob, guard, machine, names, policy, refusal, substance};
use interlock_run::{call, data, event, facts, parts, run};
