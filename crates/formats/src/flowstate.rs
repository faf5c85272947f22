//! The FlowState format: states that run programs, one after the other.
//!
//! A file is parsed into small types of its own, checked, and converted to a machine; so are its parents and every file it calls.

mod action;
mod check;
mod custom;
mod document;
mod keys;
mod lower;
mod reader;
mod safe;
mod schema;
mod shapes;
mod syntax;
mod template;
mod tools;
mod values;

use interlock_core::machine::Machine;

use crate::{
    diagnostic::Report,
    node::Node,
    source::{Files, Workflows},
};
use check::Check;
use reader::Reader;

pub(crate) use schema::schema;

/// Result of reading a file.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Not sealed yet; `None` if there are errors.
    pub(crate) machine: Option<Machine>,
    /// The name of the workflow.
    pub(crate) name: String,
    /// The names of variables that the file itself has.
    pub(crate) variables: Vec<String>,
    pub(crate) files: Files,
    pub(crate) report: Report,
}

/// Reads a file and every file it names.
pub(crate) fn read(tree: &Node, files: Files, report: Report, others: &dyn Workflows) -> Reading {
    let mut reader = Reader::new(files, report, others);
    reader.read(tree);
    let Reader {
        files,
        mut report,
        flows,
        guards,
        ..
    } = reader;
    Check {
        flows: &flows,
        report: &mut report,
        others,
    }
    .run();
    let machine = (!report.has_errors()).then(|| lower::lower(&flows, &guards));
    let name = flows.first().map(|flow| flow.name.clone());
    Reading {
        machine,
        name: name.unwrap_or_default(),
        variables: flows.first().map(check::names).unwrap_or_default(),
        files,
        report,
    }
}
