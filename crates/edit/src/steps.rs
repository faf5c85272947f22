//! Breaks an operation down into changes of single values.

mod fields;
mod states;

use interlock_formats::{Kind, Tree};
use serde_json::{Map, Value};

use crate::{
    change::Change, names, operation::Operation, path::Path, refusal::Refusal, scope::Scope,
};
use fields::{in_use, rename, say, set};
use states::{add_state, move_state, remove_state, rename_state, ways_to};

/// The changes of an operation, found step by step.
pub(crate) struct Plan<'o> {
    operation: &'o Operation,
    done: bool,
}

/// Changes that are found in the same text.
pub(crate) enum Step {
    /// None of them moves what another one changes.
    AtOnce(Vec<Change>),
    /// Each applies to the text as the previous ones left it.
    InOrder(Vec<Change>),
}

impl<'o> Plan<'o> {
    pub(crate) const fn of(operation: &'o Operation) -> Self {
        Self {
            operation,
            done: false,
        }
    }
}

impl Plan<'_> {
    /// Returns the next changes, found in the current file.
    pub(crate) fn next(&mut self, tree: &Tree, scope: &Scope) -> Result<Option<Step>, Refusal> {
        if self.done {
            return Ok(None);
        }
        if let Operation::RemoveState {
            name,
            with_transitions: true,
        } = self.operation
        {
            scope.native("transitions are edited by name")?;
            scope.state(tree, name)?;
            let changes = ways_to(tree, scope, name)?;
            if !changes.is_empty() {
                return Ok(Some(Step::AtOnce(changes)));
            }
        }
        self.done = true;
        let changes = self.operation.changes(tree, scope)?;
        let renames = matches!(
            self.operation,
            Operation::RenameState { .. }
                | Operation::RenameGuard { .. }
                | Operation::RenameEvent { .. }
        );
        Ok(Some(if renames {
            Step::AtOnce(changes)
        } else {
            Step::InOrder(changes)
        }))
    }
}

impl Operation {
    fn changes(&self, tree: &Tree, scope: &Scope) -> Result<Vec<Change>, Refusal> {
        match self {
            Self::AddState { name, state, place } => {
                add_state(tree, scope, name, state.as_ref(), place.as_ref())
            }
            Self::RenameState { name, to } => rename_state(tree, scope, name, to),
            Self::RemoveState { name, .. } => remove_state(tree, scope, name),
            Self::MoveState { name, place } => move_state(tree, scope, name, place),
            Self::SetInitial { state } => {
                scope.native("the first state is chosen by name")?;
                scope.state(tree, state)?;
                set(
                    tree,
                    &scope.base.then("initial"),
                    &Value::from(state.as_str()),
                )
            }
            Self::SetTransition { state, event, to } => {
                scope.native("transitions are edited by name")?;
                let at = scope.state(tree, state)?;
                if at
                    .then("on")
                    .find(&tree.root)
                    .is_some_and(|on| matches!(on.kind, Kind::Map(_)))
                {
                    return set(tree, &at.then("on").then(event), to);
                }
                let on = Map::from_iter([(event.clone(), to.clone())]);
                set(tree, &at.then("on"), &Value::Object(on))
            }
            Self::RemoveTransition { state, event } => {
                let at = event_of(tree, scope, state, event)?;
                Ok(vec![Change::Remove { at }])
            }
            Self::RenameEvent { state, event, to } => {
                let at = event_of(tree, scope, state, event)?;
                let definition = scope.definition(tree)?;
                let mut all = Vec::new();
                // Properties concern an event in whichever state it occurs.
                if names::states_with(definition, event) < 2 && event != to {
                    let named = names::of_event(definition, event);
                    all.extend(named.iter().map(|path| say(path.below(&scope.base), to)));
                }
                all.extend(rename(tree, &at, to)?);
                Ok(all)
            }
            Self::SetGuard { name, guard } => {
                scope.native("guards are edited by name")?;
                let guards = scope.base.then("guards");
                if guards
                    .find(&tree.root)
                    .is_some_and(|guards| matches!(guards.kind, Kind::Map(_)))
                {
                    return set(tree, &guards.then(name), guard);
                }
                set(
                    tree,
                    &guards,
                    &Value::Object(Map::from_iter([(name.clone(), guard.clone())])),
                )
            }
            Self::RenameGuard { name, to } => {
                let at = guard_of(tree, scope, name)?;
                let definition = scope.definition(tree)?;
                let mut all: Vec<Change> = names::of_guard(definition, name)
                    .iter()
                    .map(|path| say(path.below(&scope.base), to))
                    .collect();
                all.extend(rename(tree, &at, to)?);
                Ok(all)
            }
            Self::RemoveGuard { name } => {
                let at = guard_of(tree, scope, name)?;
                let asked = names::of_guard(scope.definition(tree)?, name);
                match asked.first() {
                    Some(path) => Err(in_use(
                        tree,
                        &path.below(&scope.base),
                        &format!("the guard `{name}` is asked here"),
                    )
                    .help("ask another guard there first, or none")),
                    None => Ok(vec![Change::Remove { at }]),
                }
            }
            Self::Set { at, value } => set(tree, &scope.place(at)?, value),
            Self::Remove { at } => {
                let at = scope.place(at)?;
                at.get(&tree.root)?;
                match at.split() {
                    Some((above, _))
                        if above == Path::default() && tree.root.entries().len() == 1 =>
                    {
                        Err(Refusal::misplaced("without it the file would be empty"))
                    }
                    Some(_) => Ok(vec![Change::Remove { at }]),
                    None => Err(Refusal::misplaced("the whole file is not a field")),
                }
            }
            Self::Rename { at, to } => rename(tree, &scope.place(at)?, to),
        }
    }
}

fn event_of(tree: &Tree, scope: &Scope, state: &str, event: &str) -> Result<Path, Refusal> {
    scope.native("transitions are edited by name")?;
    let at = scope.state(tree, state)?.then("on").then(event);
    if at.find(&tree.root).is_none() {
        return Err(Refusal::unknown(format!(
            "the state `{state}` has no event `{event}`"
        )));
    }
    Ok(at)
}

fn guard_of(tree: &Tree, scope: &Scope, name: &str) -> Result<Path, Refusal> {
    scope.native("guards are edited by name")?;
    let at = scope.base.then("guards").then(name);
    if at.find(&tree.root).is_none() {
        return Err(Refusal::unknown(format!("there is no guard `{name}`")));
    }
    Ok(at)
}
