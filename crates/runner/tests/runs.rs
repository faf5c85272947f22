//! Whole runs: the engine, the log and real programs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

#[path = "runs/built.rs"]
mod built;
#[path = "runs/cancel.rs"]
mod cancel;
#[path = "runs/crash.rs"]
mod crash;
#[path = "support/direct.rs"]
mod direct;
#[path = "runs/flow.rs"]
mod flow;
#[path = "runs/many.rs"]
mod many;
#[path = "runs/nodes.rs"]
mod nodes;
#[path = "runs/people.rs"]
mod people;
#[path = "runs/stages.rs"]
mod stages;
#[path = "runs/steps.rs"]
mod steps;
