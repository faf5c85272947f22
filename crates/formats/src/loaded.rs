//! A workflow that was read, with all that is known of it.

use interlock_core::machine::Machine;
use serde_json::Value;

use crate::{bundle::Bundle, diagnostic::Diagnostic, pipeline::Input};

/// A workflow that can be run.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The machine, sealed.
    pub machine: Machine,
    /// Warnings and notes, in the order of the file.
    pub warnings: Vec<Diagnostic>,
    /// The name it has in a gateway configuration.
    pub name: Option<String>,
    /// The MCP servers the file wraps it with.
    pub upstream_servers: Option<Value>,
    /// The variables that a workflow of steps declares, captures or reads, or that a pipeline is started with.
    pub variables: Vec<String>,
    /// What a pipeline is started with.
    pub inputs: Vec<Input>,
    /// Every file that was read for it.
    pub bundle: Bundle,
}
