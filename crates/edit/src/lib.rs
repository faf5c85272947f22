//! Edits of workflow files that change one place and no other byte.
//!
//! An [`Operation`] says what is to be changed, such as a state's name. It is broken down into changes of single
//! values, each applied to the text of the file and, in parallel, to the tree that was read from it. An edit is
//! accepted only if the new text parses as exactly the expected tree, if its machine is the old one with
//! that operation applied, and if every byte outside the places it touched is the same; otherwise it is refused with the
//! place in the text.

mod change;
mod machine;
mod names;
mod operation;
mod path;
mod place;
mod plan;
mod refusal;
mod scope;
mod steps;
mod text;

use interlock_formats::{Source, Tree, Workflows};

use crate::{
    change::Change,
    scope::Scope,
    steps::{Plan, Step},
};
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

/// Applies operations to a file, all of them or none.
///
/// `machine` names one of the machines in the file: the workflow of a gateway configuration, and a machine below
/// `machines`, such as `release` or `release/deploy`; `None` is the only one. `others` are the workflows that the file
/// may refer to.
///
/// # Errors
/// An operation cannot be applied, or cannot be applied to the text without touching anything else.
pub fn edit(
    source: &Source,
    machine: Option<&str>,
    operations: &[Operation],
    others: &dyn Workflows,
) -> Result<Edited, Refusal> {
    let mut now = source.clone();
    for (index, operation) in operations.iter().enumerate() {
        now = edit_once(&now, machine, operation, others).map_err(|refusal| Refusal {
            operation: index,
            at: refusal
                .at
                .clone()
                .or_else(|| place::of(&now, machine, operation)),
            within: now.text.clone(),
            ..refusal
        })?;
    }
    Ok(Edited { text: now.text })
}

fn edit_once(
    source: &Source,
    machine: Option<&str>,
    operation: &Operation,
    others: &dyn Workflows,
) -> Result<Source, Refusal> {
    let mut next = source.clone();
    let mut tree = read(&next)?;
    let scope = Scope::find(&tree, machine)?;
    let states = machine::states_of(&tree, &scope);
    // Operations are turned into changes of the tree step by step: a step may move what the next one changes.
    let mut plan = Plan::of(operation);
    while let Some(step) = plan.next(&tree, &scope)? {
        let parts = match step {
            Step::AtOnce(changes) => vec![changes],
            Step::InOrder(changes) => changes.into_iter().map(|change| vec![change]).collect(),
        };
        for changes in parts {
            (next, tree) = carry_out(&next, &tree, &changes)?;
        }
    }
    machine::check((source, &next), &states, operation, &scope, others)?;
    Ok(next)
}

fn read(source: &Source) -> Result<Tree, Refusal> {
    Tree::read(source).map_err(|found| Refusal::unreadable(&found))
}

/// Applies changes to the text, none of which moves what another one changes, and checks the result.
fn carry_out(source: &Source, tree: &Tree, changes: &[Change]) -> Result<(Source, Tree), Refusal> {
    let mut expected = tree.root.clone();
    let mut edits = Vec::new();
    let page = text::Page::new(&source.text, tree);
    for change in changes {
        change.apply(&mut expected, tree.as_written)?;
        edits.extend(page.edits(&tree.root, change)?);
    }
    let at = || changes.first().and_then(|change| change.place(&tree.root));
    let text = text::splice(&source.text, edits.clone())?;
    let edited = Source::new(source.name.clone(), text);
    let is_marked = tree.format != "native";
    let found = Tree::read(&edited).map_err(|_| {
        let at_the_top = changes.iter().any(Change::is_at_the_top);
        if is_marked && at_the_top {
            Refusal::no_longer(tree.format)
        } else {
            Refusal::text(&source.text, at())
        }
    })?;
    if is_marked && found.format != tree.format {
        return Err(Refusal::no_longer(tree.format));
    }
    if !change::same(&found.root, &expected) {
        return Err(Refusal::text(&source.text, at()));
    }
    text::check_untouched(&source.text, &edited.text, &edits)?;
    Ok((edited, found))
}
