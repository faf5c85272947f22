//! Durable runs: effects whose start is an event, tries, items, branches that settle, going on after a failure.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may end at the first surprise"
)]

mod approvals;
mod branches;
mod driven;
mod effects;
mod interrupted;
mod items;
mod limits;
mod lost;
mod retries;
