//! The native format: Statewright's schema and what this project adds to it.

mod fields;
mod findings;
mod guard;
mod invoke;
mod machine;
mod meta;
mod names;
mod scope;
mod state;
mod transition;

pub(crate) use fields::{GATEWAY, STATE, TABLES, WORKFLOW, WRAPPER};
pub(crate) use findings::add_findings;
pub(crate) use machine::{Reading, Start, empty, read};
