//! Durable runs: effects whose start is an event, tries, items, branches that settle, going on after a failure.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may end at the first surprise"
)]

#[path = "durable/approvals.rs"]
mod approvals;
#[path = "durable/branches.rs"]
mod branches;
#[path = "durable/driven.rs"]
mod driven;
#[path = "durable/effects.rs"]
mod effects;
#[path = "durable/interrupted.rs"]
mod interrupted;
#[path = "durable/items.rs"]
mod items;
#[path = "durable/limits.rs"]
mod limits;
#[path = "durable/lost.rs"]
mod lost;
#[path = "durable/retries.rs"]
mod retries;
