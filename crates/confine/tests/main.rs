//! The tests of this crate from outside, as one program.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod machines;
