//! What a run is: the commands it is asked, the events that happened, and the value that they fold to.
//!
//! Data with its serialised form and small accessors. What a command leads to, and what an event changes, is decided above.

pub mod attempt;
pub mod call;
pub mod command;
pub mod data;
pub mod dialogue;
pub mod event;
pub mod facts;
pub mod parts;
pub mod passkey;
pub mod pending;
pub mod place;
pub mod run;

use interlock_machine::{canonical, cause, defaults, machine, names, policy, refusal, substance};
