//! A run: its commands, its events, and the value that the events fold to.
//!
//! This crate holds data, its serialised form, and small accessors. `interlock-core` decides what follows from a command
//! and what an event changes.

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
