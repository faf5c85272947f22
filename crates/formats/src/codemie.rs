//! The CodeMie format: assistants, tools and nodes, state after state.
//!
//! A file is read into small types of its own and checked as a whole. Scalars
//! are kept as written; the type is that of the key they stand at.

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

/// The code of a name in a template that no state sets.
pub const UNSET_VARIABLE: &str = "unset_variable";

/// What was read.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Not sealed yet; none where there are errors.
    pub(crate) machine: Option<Machine>,
    /// What the workflow is called.
    pub(crate) id: String,
    pub(crate) spans: Spans,
}

/// What the checks of every machine may say of one of this format: the rest is said here in its own words.
const ASKED: &[FindingCode] = &[FindingCode::InvalidPattern, FindingCode::UselessCommand];

/// Reads a file, and says everything that is wrong with it.
///
/// `strict` is whether the caller asks for strictness; the file may ask for it as well.
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

/// Returns what a file is called without its folder and its extension.
fn name_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() { "workflow" } else { stem }.to_owned()
}
