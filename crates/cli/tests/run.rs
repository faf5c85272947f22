//! `interlock run` and what follows it, through the built program.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

mod crash;
mod ends;
mod moved;
mod people;
mod pinned;
mod place;
mod shown;
mod started;
