//! Durable runs: effects whose start is an event, tries, items, branches that settle, going on after a failure.

mod approvals;
mod branches;
mod driven;
mod effects;
mod interrupted;
mod items;
mod limits;
mod lost;
mod retries;
