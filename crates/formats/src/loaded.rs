//! A loaded workflow, with everything that is known of it.

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
    /// Name in a gateway configuration.
    pub name: Option<String>,
    /// MCP servers in the wrapper of the file.
    pub upstream_servers: Option<Value>,
    /// Variables that a workflow of steps declares, captures or reads, or inputs of a pipeline.
    pub variables: Vec<String>,
    /// Inputs of a pipeline.
    pub inputs: Vec<Input>,
    /// Every file that was read.
    pub bundle: Bundle,
}
