//! The native format: Statewright's schema with this project's additions.

mod fields;
mod findings;
mod guard;
mod guard_fields;
mod invoke;
mod machine;
mod meta;
mod names;
mod scope;
mod state;
mod substance;
mod transition;

pub(crate) use fields::{GATEWAY, META, STATE, TABLES, WORKFLOW, WRAPPER};
pub(crate) use findings::{add_all, add_findings};
pub(crate) use guard::placeholder;
pub(crate) use guard_fields::{EVIDENCE, GUARD_FIELDS, PIPELINE_GUARD, PIPELINE_GUARD_FIELDS};
pub(crate) use machine::{Current, Reader, Reading, Reads, Start, empty, read};
pub(crate) use names::check as check_name;
pub use state::FAILURES;
pub(crate) use substance::REPORT;
