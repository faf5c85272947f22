//! The tests of this crate from outside, as one program.

mod drafts;
mod orders;
