//! The integration tests of this crate, as one program.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

mod circles;
mod publish;
mod purity;
mod way;
