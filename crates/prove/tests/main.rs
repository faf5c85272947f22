//! The tests of this crate from outside, as one program.

mod against;
mod faults;
mod mutants;
mod shipped;
