//! Whole runs: the engine, the log and real programs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod built;
mod cancel;
mod crash;
mod flow;
mod many;
mod nodes;
mod people;
mod stages;
mod steps;

use crate::support::direct;
