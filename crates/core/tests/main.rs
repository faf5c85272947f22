//! The tests of this crate from outside, as one program.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod adopt;
mod asked_in_branches;
mod branches;
mod context;
mod conversation;
mod durable;
mod evidence;
mod expressions;
mod grants;
mod guards;
mod histories;
mod interrupts;
mod judging;
mod keys;
mod layers;
mod marks;
mod overlaps;
mod passkeys;
mod phases;
mod prompts;
mod properties;
mod protected;
mod stage_calls;
mod support;
mod tools_of_servers;
mod yes;
