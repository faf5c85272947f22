//! Durable runs: effects whose start is an event, attempts, items, branches that settle, continuing after a failure.

mod approvals;
mod branches;
mod driven;
mod effects;
mod interrupted;
mod items;
mod limits;
mod lost;
mod retries;
