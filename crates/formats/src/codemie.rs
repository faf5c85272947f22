//! The CodeMie format: assistants, tools and nodes, state after state.
//!
//! A file is read into small types of its own and checked as a whole. Scalars
//! are kept as written; the type is that of the key they stand at.

mod check;
mod configured;
mod document;
mod expression;
mod keys;
mod nodes;
mod notes;
mod scalars;
mod schema;
mod shape;
mod state;
#[expect(
    dead_code,
    reason = "a file is checked; what makes a machine of it reads the rest"
)]
mod syntax;
mod table;
mod tools;
#[expect(dead_code, reason = "what makes a machine of a file calls it")]
mod works;

pub use shape::{answer_findings, answer_schema};

use crate::{
    diagnostic::Report,
    node::Node,
    source::{Files, Workflows},
};
use notes::Notes;

pub(crate) use schema::schema;

/// Says everything that is wrong with a file.
///
/// `strict` is whether the caller asks for strictness; the file may ask for it as well.
pub(crate) fn read(
    tree: &Node,
    files: &Files,
    report: &mut Report,
    others: &dyn Workflows,
    strict: bool,
) {
    let tree = &configured::merged(tree, others, report);
    let mut notes = Notes {
        strict: strict || document::is_strict(tree),
        report,
        files,
    };
    if let Some(mut workflow) = document::read(tree, &mut notes) {
        configured::skills(&mut workflow, others, &mut notes);
        check::check(&workflow, others, &mut notes);
    }
}
