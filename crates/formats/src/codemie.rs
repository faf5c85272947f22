//! The CodeMie format: a sequence of states with assistants, tools and nodes.
//!
//! A file is parsed into small types of its own and checked as a whole. Scalars are kept as written; their types are those of
//! their keys.

mod check;
mod configured;
mod document;
mod keys;
mod lower;
mod nodes;
mod notes;
mod policy;
mod scalars;
mod schema;
mod shape;
mod state;
mod syntax;
mod table;
mod tools;
mod works;

use interlock_core::machine::Machine;
use interlock_validate::{FindingCode, validate};

use crate::{
    diagnostic::Report,
    native,
    node::Node,
    source::{Files, Workflows},
    spans::Spans,
};

use notes::Notes;

pub(crate) use schema::schema;
pub use shape::{answer_findings, answer_schema};

/// Code of a name in a template that no state sets.
pub const UNSET_VARIABLE: &str = "unset_variable";

/// Result of reading a file.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Not sealed yet; `None` if there are errors.
    pub(crate) machine: Option<Machine>,
    /// Id of the workflow.
    pub(crate) id: String,
    pub(crate) spans: Spans,
}

/// Findings of the general checks that apply to this format; the format's own checks cover the rest.
const ASKED: &[FindingCode] = &[FindingCode::InvalidPattern, FindingCode::UselessCommand];

/// Reads a file, and reports everything that is wrong with it.
///
/// `strict` is set if the caller requests strictness; the file may also request it.
pub(crate) fn read(
    tree: &Node,
    files: &Files,
    report: &mut Report,
    others: &dyn Workflows,
    strict: bool,
) -> Reading {
    let tree = &configured::merged(tree, others, report);
    let strict = strict || document::is_strict(tree);
    let mut notes = Notes {
        strict,
        report,
        files,
    };
    let mut reading = Reading {
        machine: None,
        id: String::new(),
        spans: Spans::default(),
    };
    let Some(mut workflow) = document::read(tree, &mut notes) else {
        return reading;
    };
    configured::skills(&mut workflow, others, &mut notes);
    check::check(&workflow, others, &mut notes);
    reading.id = workflow
        .name
        .clone()
        .unwrap_or_else(|| name_of(files.name_and_text(tree.span.file).0));
    if report.has_errors() {
        return reading;
    }
    let machine = lower::lower(&workflow, &reading.id, strict, &mut reading.spans);
    let findings = validate(&machine);
    let asked = findings
        .into_iter()
        .filter(|finding| ASKED.contains(&finding.code));
    native::add_all(asked, &reading.spans, report);
    reading.machine = (!report.has_errors()).then_some(machine);
    reading
}

/// Returns a file's name without its folder and its extension.
fn name_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() { "workflow" } else { stem }.to_owned()
}
