//! Agents that work under a workflow of their own.

use std::{fmt::Debug, path::Path};

/// Binds agents to native workflows.
///
/// It is implemented by the crate that knows hooks and bindings.
pub trait Guard: Send + Sync {
    /// Starts a run of the workflow that `wanted` names.
    ///
    /// # Errors
    /// One sentence: there is no such workflow, or its run cannot begin. The agent is not started.
    fn begin(&self, wanted: &GuardWanted<'_>) -> Result<Box<dyn Guarded>, String>;
}

/// The workflow that an agent is to be bound to, and how it is started.
#[derive(Debug, Clone, Copy)]
pub struct GuardWanted<'a> {
    /// Name or path of the workflow, as written.
    pub workflow: &'a str,
    /// Tool that starts the agent: `claude`, `codex`, `gemini` or `claude-code`.
    pub tool: &'a str,
    /// Folder that the agent works in.
    pub project: &'a str,
    /// Program of the agent.
    pub program: &'a Path,
    /// Variables set for it besides this process's environment.
    pub environment: &'a [(String, String)],
    /// Effect and attempt that it belongs to; an open run with the same mark belongs to a crashed runner.
    pub mark: &'a str,
    /// Id of the run that starts the agent.
    pub run: &'a str,
    /// Path of the state that starts the agent.
    pub state: &'a str,
}

/// A run that an agent is bound to.
pub trait Guarded: Send + Debug {
    /// Returns the variables by which the agent's hooks find the run.
    fn environment(&self) -> Vec<(String, String)>;

    /// Returns the arguments that make the agent call its hooks, to be placed before all others.
    fn arguments(&self) -> Vec<String> {
        Vec::new()
    }

    /// Evaluates the run after the agent has ended; an unfinished run is closed.
    ///
    /// # Errors
    /// One sentence: the run ended as a failure, or did not end.
    fn end(&mut self) -> Result<(), String>;
}
