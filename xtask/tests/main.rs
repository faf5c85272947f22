//! The tests of this crate from outside, as one program.

mod circles;
mod publish;
mod purity;
mod way;
