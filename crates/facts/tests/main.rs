//! The tests of this crate from outside, as one program.

mod calls;
mod links;
mod protected;
mod reports;
mod rows;
mod served;
mod watch;
