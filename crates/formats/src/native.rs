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

pub(crate) use fields::{
    EVIDENCE, GATEWAY, GUARD_FIELDS, META, PIPELINE_GUARD, PIPELINE_GUARD_FIELDS, STATE, TABLES,
    WORKFLOW, WRAPPER, joined,
};
pub(crate) use findings::{add_all, add_findings};
pub(crate) use guard::placeholder;
pub(crate) use machine::{Current, Reader, Reading, Reads, Start, empty, read};
pub(crate) use names::check as check_name;
