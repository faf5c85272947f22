//! The tests of this crate from outside, as one program.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod compare;
mod dangers;
mod evidence;
mod explain;
mod habits;
mod hold;
mod lines;
mod lines_that_meet;
mod logs;
mod made_up_calls;
mod made_up_lines;
mod marks;
mod properties;
mod sessions;
mod shell_tables;
mod stages;
mod support;
mod verdicts;
mod what_if;
