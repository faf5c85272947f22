//! The tests of this crate from outside, as one program.

mod doctor;
mod doctor_here;
mod failures;
mod floor;
mod guarded;
mod install;
mod plugins;
mod served;
