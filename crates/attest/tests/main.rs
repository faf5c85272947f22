//! The tests of this crate, as one program.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod keys;
mod made;
mod properties;
mod refusals;
mod requirements;
