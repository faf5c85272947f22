//! Agents that are held to a workflow of their own while they work.

use std::{fmt::Debug, path::Path};

/// Holds agents to native workflows.
///
/// The one who has hooks and bindings fills it in.
pub trait Guard: Send + Sync {
    /// Starts a run of the workflow that `wanted` names.
    ///
    /// # Errors
    /// One sentence: there is no such workflow, or its run cannot begin. The agent is not started.
    fn begin(&self, wanted: &GuardWanted<'_>) -> Result<Box<dyn Guarded>, String>;
}

/// What an agent is to be held to.
#[derive(Debug, Clone, Copy)]
pub struct GuardWanted<'a> {
    /// The workflow's name or path, as written.
    pub workflow: &'a str,
    /// The tool that starts the agent: `claude`, `codex`, `gemini` or `claude-code`.
    pub tool: &'a str,
    /// The folder it works in.
    pub project: &'a str,
    /// The program that is started.
    pub program: &'a Path,
    /// What is set for it beside this process's environment.
    pub environment: &'a [(String, String)],
    /// The effect it belongs to and its try; a run that is still open under it is of a runner that died.
    pub mark: &'a str,
    /// The id of the run that starts it.
    pub run: &'a str,
    /// The path of the state that starts it.
    pub state: &'a str,
}

/// A run that an agent is held to.
pub trait Guarded: Send + Debug {
    /// Returns the variables by which the agent's hooks find the run.
    fn environment(&self) -> Vec<(String, String)>;

    /// Returns the arguments by which the agent has its hooks, to stand before all others.
    fn arguments(&self) -> Vec<String> {
        Vec::new()
    }

    /// Tells how the run stands, now that the agent has ended; an unfinished one is closed.
    ///
    /// # Errors
    /// One sentence: it ended as a failure, or not at all.
    fn end(&mut self) -> Result<(), String>;
}
