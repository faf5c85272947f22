//! The tests of this crate from outside, as one program.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod doctor;
mod doctor_here;
mod failures;
mod floor;
mod guarded;
mod held_clients;
mod install;
mod plugins;
mod served;
mod told_twice;
