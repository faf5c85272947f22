//! What is shown of a run: where it stands, what it allows, how a refusal is put into words,
//! and what is said of each of its events.
//!
//! All of it is derived from the machine and the run, and decides nothing: the
//! engine stands below and never calls it.

pub mod briefing;
pub mod checks;
pub mod narrator;
pub mod question;
pub mod report;
pub mod review;

pub use briefing::{briefing, briefing_as, notice, taught, taught_as, teach, teach_as};
pub use checks::{Check, CheckOutcome, checks};
pub use report::{Report, report};
