//! `interlock run` and what follows it, through the built program.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

#[path = "run/crash.rs"]
mod crash;
#[path = "run/ends.rs"]
mod ends;
#[path = "run/moved.rs"]
mod moved;
#[path = "run/people.rs"]
mod people;
#[path = "run/pinned.rs"]
mod pinned;
#[path = "run/place.rs"]
mod place;
#[path = "run/shown.rs"]
mod shown;
#[path = "run/started.rs"]
mod started;
