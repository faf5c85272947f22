//! What a workflow compiles to: states, transitions, guards, policies and limits.
//!
//! A machine is immutable and does not depend on the format of its workflow file. This crate knows nothing of runs.

pub mod canonical;
pub mod cause;
pub mod defaults;
pub mod glob;
pub mod guard;
pub mod instant;
pub mod machine;
pub mod names;
pub mod policy;
pub mod refusal;
pub mod substance;
pub mod visible;
