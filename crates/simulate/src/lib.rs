//! Simulates a workflow without an agent: steps in, answers out, and nothing is executed.
//!
//! The engine receives what the outside would have sent. This crate starts no process, calls no model, and accesses no file of
//! the project.

pub mod cases;
pub mod compare;
pub mod explain;
pub mod input;
pub mod output;
pub mod what_if;

mod calls;
mod duration;
mod given_reports;
mod passkey;
mod recorded;
mod scenario;
mod simulation;

pub use calls::call;
pub use duration::parse_ms as duration_ms;
pub use explain::{Explanation, Reach, explain};
pub use given_reports::GivenReports;
pub use input::{BadLine, InputLine};
pub use output::{CallVerdict, OutputLine, Verdict};
pub use passkey::{takes_passkey, with_what_it_takes};
pub use recorded::{
    RecordedVerdict, Reread, explain_call, read_again, standing_in, told, with_arguments,
};
pub use scenario::Scenario;
pub use simulation::Simulation;
