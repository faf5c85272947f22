//! The pipeline format: stages, each a model in a fresh transcript.
//!
//! A file is parsed into small types of its own, checked, and converted to a machine with one state per stage.

mod check;
mod document;
mod keys;
mod lower;
mod next;
mod settings;
mod syntax;

use std::collections::HashSet;

use interlock_core::machine::Machine;
use interlock_validate::{FindingCode, validate};

use crate::{
    diagnostic::Report,
    native::{self, Reader},
    node::Node,
    source::{Files, Workflows},
    table::Table,
};

use check::Check;
use document::Document;

pub use syntax::{Input, InputKind};

/// Result of reading a file.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Not sealed yet; `None` if nothing of it could be parsed.
    pub(crate) machine: Option<Machine>,
    /// The id of the workflow.
    pub(crate) id: String,
    /// Inputs of a run.
    pub(crate) inputs: Vec<Input>,
    pub(crate) files: Files,
    pub(crate) report: Report,
}

/// Findings of the general checks that do not apply to a pipeline: its own checks cover them in the words of the format, or a
/// pipeline limits it differently.
const OTHERWISE: &[FindingCode] = &[
    FindingCode::UndefinedState,
    FindingCode::NoFinalState,
    FindingCode::UnreachableState,
    FindingCode::DeadEnd,
    FindingCode::EndlessBranch,
    FindingCode::UnboundedLoop,
    FindingCode::UnapprovedPower,
    FindingCode::PrivilegeJump,
    FindingCode::UnknownTool,
];

/// Returns the tables of the format, the one of whole files first.
pub(crate) const fn tables() -> &'static [&'static Table] {
    keys::TABLES
}

/// Reads a file and the bodies that it names.
pub(crate) fn read(tree: &Node, files: Files, report: Report, others: &dyn Workflows) -> Reading {
    let mut reader = Reader::new(files, report, others);
    let read = Document::new(&mut reader).read(tree);
    let Reader {
        files,
        mut report,
        spans,
        ..
    } = reader;
    let Some(read) = read else {
        return Reading {
            machine: None,
            id: String::new(),
            inputs: Vec::new(),
            files,
            report,
        };
    };
    let inside: HashSet<&str> = Check {
        pipeline: &read.pipeline,
        guards: &read.guards,
        report: &mut report,
        spans: &spans,
    }
    .run();
    let machine = lower::lower(&read.pipeline, read.guards.clone(), &inside);
    let findings = validate(&machine);
    let own = findings
        .into_iter()
        .filter(|finding| !OTHERWISE.contains(&finding.code));
    native::add_all(own, &spans, &mut report);
    Reading {
        machine: Some(machine),
        id: read.pipeline.id,
        inputs: read.inputs,
        files,
        report,
    }
}
