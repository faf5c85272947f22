//! Edits of workflow files that change one place and no other byte.
//!
//! An [`Operation`] says what shall be different, such as a state's name. It is broken down into changes of single
//! values, each carried out on the text of the file and, beside it, on the tree that was read from it. An edit is
//! accepted only if the new text reads as exactly the tree that was expected, if its machine is the old one with
//! that operation applied, and if every byte outside the places it touched is the same; else it is refused with the
//! place in the text.

mod change;
mod machine;
mod names;
mod operation;
mod path;
mod plan;
mod refusal;
mod text;

use interlock_formats::{Source, Tree, Workflows};

use crate::{change::Change, operation::Scope};
pub use crate::{
    operation::{Operation, Place},
    path::Path,
    refusal::{Refusal, Why},
};

/// A file after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole new text.
    pub text: String,
}

/// Carries out operations on a file, all of them or none.
///
/// `machine` names one of the machines in the file: the workflow of a gateway configuration, and a machine below
/// `machines`, such as `release` or `release/deploy`; `None` is the only one. `others` are the workflows that the file
/// may name.
///
/// # Errors
/// When an operation cannot be carried out, or cannot be carried out on the text without touching anything else.
pub fn edit(
    source: &Source,
    machine: Option<&str>,
    operations: &[Operation],
    others: &dyn Workflows,
) -> Result<Edited, Refusal> {
    let mut now = source.clone();
    for operation in operations {
        let mut next = now.clone();
        let mut tree = read(&next)?;
        let scope = Scope::find(&tree, machine)?;
        // What is wanted is told of the tree, step by step: a step may move what the next one is about.
        let mut plan = operation.begin();
        while let Some(changes) = plan.next(&tree, &scope)? {
            for change in changes {
                next = carry_out(&next, &tree, &change)?;
                tree = read(&next)?;
            }
        }
        machine::check(&now, &next, operation, others)?;
        now = next;
    }
    Ok(Edited { text: now.text })
}

fn read(source: &Source) -> Result<Tree, Refusal> {
    Tree::read(source).map_err(|found| Refusal::unreadable(&found))
}

/// Carries out one change on the text, and checks what came of it.
fn carry_out(source: &Source, tree: &Tree, change: &Change) -> Result<Source, Refusal> {
    let mut expected = tree.root.clone();
    change.apply(&mut expected, tree.as_written)?;
    let edits = text::edits(&source.text, tree, change)?;
    let text = text::splice(&source.text, edits.clone())?;
    let at = || change.place(&tree.root);
    let edited = Source::new(source.name.clone(), text);
    let found = Tree::read(&edited).map_err(|_| Refusal::text(&source.text, at()))?;
    if found.format != tree.format && tree.format != "native" {
        return Err(Refusal::no_longer(tree.format));
    }
    if !change::same(&found.root, &expected) {
        return Err(Refusal::text(&source.text, at()));
    }
    text::check_untouched(&source.text, &edited.text, &edits)?;
    Ok(edited)
}
