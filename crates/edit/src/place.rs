//! Finds the place that an operation concerns, for refusals that have no place of their own.

use std::ops::Range;

use interlock_formats::{Source, Tree};

use crate::{operation::Operation, path::Path, scope::Scope};

/// Returns the bytes of what an operation concerns, or of what would contain it; `None` if the file cannot be read.
pub(crate) fn of(
    source: &Source,
    machine: Option<&str>,
    operation: &Operation,
) -> Option<Range<usize>> {
    let tree = Tree::read(source).ok()?;
    let scope = Scope::find(&tree, machine).ok();
    let path = scope.map_or_else(Path::default, |scope| path_of(&tree, &scope, operation));
    let mut path = Some(path);
    while let Some(now) = path {
        if let Some(node) = now.find(&tree.root) {
            let key = now.key_of(&tree.root);
            let start = key.map_or(node.span.start, |key| key.start);
            return Some(start..node.span.end.max(start));
        }
        path = now.split().map(|(above, _)| above);
    }
    None
}

/// Returns the path of what is concerned, or where it would be.
fn path_of(tree: &Tree, scope: &Scope, operation: &Operation) -> Path {
    let state = |name: &str| scope.state(tree, name).unwrap_or_else(|_| scope.states());
    let guard = |name: &str| scope.base.then("guards").then(name);
    match operation {
        Operation::AddState { .. } => scope.states(),
        Operation::RenameState { name, .. }
        | Operation::RemoveState { name, .. }
        | Operation::MoveState { name, .. } => state(name),
        Operation::SetInitial { .. } => scope.base.then("initial"),
        Operation::SetTransition {
            state: of, event, ..
        }
        | Operation::RemoveTransition { state: of, event }
        | Operation::RenameEvent {
            state: of, event, ..
        } => state(of).then("on").then(event),
        Operation::SetGuard { name, .. }
        | Operation::RenameGuard { name, .. }
        | Operation::RemoveGuard { name } => guard(name),
        Operation::Set { at, .. } | Operation::Remove { at } | Operation::Rename { at, .. } => {
            at.parse().unwrap_or_default()
        }
    }
}
