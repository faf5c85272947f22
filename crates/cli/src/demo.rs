//! The parts of `interlock demo`: a project with a bug, and an agent with a script.

mod agent;
mod project;

pub(crate) use agent::{Agent, Verdict};
pub(crate) use project::{Project, RIGHT, WRONG};
