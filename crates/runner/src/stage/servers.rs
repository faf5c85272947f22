//! The tools of MCP servers, implemented where the servers are known.

use std::sync::Arc;

use interlock_core::{
    call::ToolCall,
    names::{CallId, RunId},
};
use interlock_models::ToolSpec;
use interlock_store::StoreError;
use interlock_tools::Arguments;

use crate::screen::Screen;

/// The MCP servers of a run.
pub trait Servers: Send + Sync {
    /// Lists the available tools; waits for servers that are starting.
    fn tools(&self) -> Vec<Served>;

    /// Lists every tool listed so far, without asking a server.
    fn listed(&self) -> Vec<Served> {
        Vec::new()
    }

    /// Shows lines of the servers on the screen of a run.
    fn show_on(&self, screen: Arc<dyn Screen>) {
        drop(screen);
    }

    /// Compares definitions with what the run with this id has seen, from now on.
    ///
    /// # Errors
    /// The run's pins cannot be read or stored.
    fn keep_with(&self, run: &RunId) -> Result<(), StoreError> {
        let _ = run;
        Ok(())
    }

    /// Finds a tool as last listed.
    ///
    /// An attempt continues with the tools it was given, even while a server is gone.
    fn known(&self, tool: &str) -> Option<Served>;

    /// Determines the facts of a call, for the judge.
    fn proposed(&self, id: CallId, tool: &str, arguments: &Arguments) -> ToolCall;

    /// Executes a call that the judge has allowed; blocks until it has ended.
    fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        cancel: &interlock_process::Cancel,
    ) -> ServedEnd;
}

/// A server tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// Description for the model.
    pub spec: ToolSpec,
    /// Names with the server's name, which a stage can list too.
    pub served_as: Vec<String>,
}

/// How a call of a server tool ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedEnd {
    /// Whether it succeeded.
    pub ok: bool,
    /// Code of the failure; `None` if it succeeded.
    pub code: Option<String>,
    /// Result, or the message of the failure.
    pub text: String,
    /// Whether the same call may succeed later.
    pub passing: bool,
}
