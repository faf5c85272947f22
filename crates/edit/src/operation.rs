//! What can be done to a workflow, and the changes of single values that it takes.

use std::collections::BTreeSet;

use interlock_formats::{FAILURE_NAMES, Kind, Node, Tree};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    change::Change,
    names,
    path::Path,
    plan,
    refusal::{Refusal, Why},
};

/// What is done to a workflow.
///
/// As JSON an object of one key: `{"rename_state": {"name": "planning", "to": "thinking"}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// A new state.
    AddState {
        /// Its name.
        name: String,
        /// Its fields; none of them when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
        /// Where it stands; before the final states when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
    },
    /// Another name for a state, also wherever the file leads to it.
    RenameState {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// A state less.
    RemoveState {
        /// Its name.
        name: String,
        /// Whether the transitions that lead to it go, too; else they are in the way.
        #[serde(default)]
        with_transitions: bool,
    },
    /// Another place among the states.
    MoveState {
        /// Its name.
        name: String,
        /// Where it stands then.
        place: Place,
    },
    /// Another state to start in.
    SetInitial {
        /// Its name.
        state: String,
    },
    /// A transition that is new, or another one for the same event.
    SetTransition {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
        /// A state, or an object or a list as a workflow file has them.
        to: Value,
    },
    /// A transition less.
    RemoveTransition {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
    },
    /// Another event for a transition.
    RenameEvent {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
        /// The new event.
        to: String,
    },
    /// A guard that is new, or another one of the same name.
    SetGuard {
        /// Its name.
        name: String,
        /// The guard as a workflow file has it.
        guard: Value,
    },
    /// Another name for a guard, also wherever it is asked.
    RenameGuard {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// A guard less, which nothing asks.
    RemoveGuard {
        /// Its name.
        name: String,
    },
    /// A value anywhere, new or another one.
    Set {
        /// Where, as a JSON Pointer: `/states/planning/allowed_tools`.
        at: String,
        /// What stands there then.
        value: Value,
    },
    /// A key or an item less.
    Remove {
        /// Where, as a JSON Pointer.
        at: String,
    },
    /// Another key for a value.
    Rename {
        /// Where, as a JSON Pointer.
        at: String,
        /// The new key.
        to: String,
    },
}

/// A place among the states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before all others.
    First,
    /// Behind all others.
    Last,
    /// Right before this one.
    Before(String),
    /// Right behind this one.
    After(String),
}

/// Which machine of a file is meant.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// Where its definition stands.
    pub(crate) base: Path,
    /// The key of its states.
    states: &'static str,
    /// Whether states and guards are found wherever they are named.
    pub(crate) is_native: bool,
    /// Its name in a gateway configuration.
    pub(crate) workflow: Option<String>,
    /// Its id below `machines`.
    pub(crate) inner: Option<String>,
}

impl Scope {
    pub(crate) fn find(tree: &Tree, machine: Option<&str>) -> Result<Self, Refusal> {
        let is_native = tree.format == "native";
        let states = if tree.format == "pipeline" {
            "stages"
        } else {
            "states"
        };
        if !is_native {
            return match machine {
                None => Ok(Self {
                    base: package(tree),
                    states,
                    is_native,
                    workflow: None,
                    inner: None,
                }),
                Some(_) => Err(Refusal::misplaced("the file holds one workflow: name none")),
            };
        }
        let definitions = tree.definitions();
        let (wanted, inner) = match machine {
            None => (None, None),
            Some(name)
                if definitions
                    .iter()
                    .any(|(known, _)| known.as_deref() == Some(name)) =>
            {
                (Some(name), None)
            }
            Some(name) if definitions.iter().all(|(known, _)| known.is_none()) => {
                (None, Some(name))
            }
            Some(name) => name
                .split_once('/')
                .map_or((Some(name), None), |(name, inner)| {
                    (Some(name), Some(inner))
                }),
        };
        let mut found = definitions
            .iter()
            .filter(|(name, _)| wanted.is_none() || name.as_deref() == wanted);
        let (Some((workflow, base)), None) = (found.next(), found.next()) else {
            let names: Vec<&str> = definitions
                .iter()
                .filter_map(|(name, _)| name.as_deref())
                .collect();
            return Err(Refusal::unknown(format!(
                "name a workflow of the file: {}",
                names.join(", ")
            )));
        };
        let mut base = Path::of(base.iter().cloned());
        if let Some(inner) = inner {
            base = base.then("machines").then(inner);
            if base.find(&tree.root).is_none() {
                return Err(Refusal::unknown(format!(
                    "the file has no machine `{inner}`"
                )));
            }
        }
        Ok(Self {
            base,
            states,
            is_native,
            workflow: workflow.clone(),
            inner: inner.map(str::to_owned),
        })
    }

    pub(crate) fn definition<'n>(&self, tree: &'n Tree) -> Result<&'n Node, Refusal> {
        self.base.get(&tree.root)
    }

    /// Returns where the states stand.
    pub(crate) fn states(&self) -> Path {
        self.base.then(self.states)
    }

    fn state(&self, tree: &Tree, name: &str) -> Result<Path, Refusal> {
        let states = self.states();
        let node = states.get(&tree.root)?;
        // The states of CodeMie are a list.
        let index = match &node.kind {
            Kind::List(items) => items
                .iter()
                .position(|item| id_of(item) == Some(name))
                .map(|at| at.to_string()),
            _ => node.get(name).map(|entry| entry.key.clone()),
        };
        let known: Vec<&str> = names_of(node);
        index.map(|word| states.then(word)).ok_or_else(|| {
            Refusal::unknown(format!("there is no state `{name}`: {}", known.join(", ")))
                .at(node.span)
        })
    }
}

/// Returns where the workflow of a CodeMie package stands.
fn package(tree: &Tree) -> Path {
    let key = "execution_config";
    let inner = tree.root.get(key);
    match inner.filter(|entry| matches!(entry.value.kind, Kind::Map(_))) {
        Some(_) if tree.format == "codemie" => Path::of([key]),
        _ => Path::default(),
    }
}

fn id_of(item: &Node) -> Option<&str> {
    item.get("id").and_then(|entry| entry.value.text())
}

fn names_of(states: &Node) -> Vec<&str> {
    let listed = states.items().iter().filter_map(id_of);
    states
        .entries()
        .iter()
        .map(|entry| entry.key.as_str())
        .chain(listed)
        .collect()
}

/// The changes of an operation, found step by step.
pub(crate) struct Plan<'o> {
    operation: &'o Operation,
    done: bool,
}

/// Changes that are found in the same text.
pub(crate) enum Step {
    /// None of them moves what another is about.
    AtOnce(Vec<Change>),
    /// Each is about the text as the ones before it left it.
    InOrder(Vec<Change>),
}

impl Operation {
    pub(crate) const fn begin(&self) -> Plan<'_> {
        Plan {
            operation: self,
            done: false,
        }
    }
}

impl Plan<'_> {
    /// Returns the next changes, found in the file as it is by now.
    pub(crate) fn next(&mut self, tree: &Tree, scope: &Scope) -> Result<Option<Step>, Refusal> {
        if self.done {
            return Ok(None);
        }
        if let Operation::RemoveState {
            name,
            with_transitions: true,
        } = self.operation
        {
            scope.native("transitions")?;
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
                scope.native("the initial state")?;
                scope.state(tree, state)?;
                set(
                    tree,
                    &scope.base.then("initial"),
                    &Value::from(state.as_str()),
                )
            }
            Self::SetTransition { state, event, to } => {
                scope.native("transitions")?;
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
                // Properties are about an event in whichever state it is.
                if names::states_with(definition, event) < 2 && event != to {
                    let named = names::of_event(definition, event);
                    all.extend(named.iter().map(|path| say(path.below(&scope.base), to)));
                }
                all.extend(rename(tree, &at, to)?);
                Ok(all)
            }
            Self::SetGuard { name, guard } => {
                scope.native("guards")?;
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
                    )),
                    None => Ok(vec![Change::Remove { at }]),
                }
            }
            Self::Set { at, value } => set(tree, &scope.place(at)?, value),
            Self::Remove { at } => {
                let at = scope.place(at)?;
                at.get(&tree.root)?;
                match at.split() {
                    Some(_) => Ok(vec![Change::Remove { at }]),
                    None => Err(Refusal::misplaced("the whole file is no field")),
                }
            }
            Self::Rename { at, to } => rename(tree, &scope.place(at)?, to),
        }
    }
}

impl Scope {
    fn native(&self, what: &str) -> Result<(), Refusal> {
        if self.is_native {
            Ok(())
        } else {
            Err(Refusal::misplaced(format!(
                "{what} by name: in native workflows only; set the fields themselves, by their place"
            )))
        }
    }
}

impl Scope {
    /// Reads a place, which lies in the machine that was named.
    fn place(&self, at: &str) -> Result<Path, Refusal> {
        let unknown = |message: String| Refusal::new(Why::Unknown, message);
        let path: Path = at.parse().map_err(unknown)?;
        let named = self.workflow.is_some() || self.inner.is_some();
        if named && !path.is_below(&self.base) {
            let base = &self.base;
            return Err(Refusal::misplaced(format!(
                "`{at}` is not in the machine that was named, which stands at `{base}`"
            )));
        }
        Ok(path)
    }
}

fn say(at: Path, name: &str) -> Change {
    Change::Replace {
        at,
        with: Value::from(name),
    }
}

fn in_use(tree: &Tree, at: &Path, message: &str) -> Refusal {
    let refusal = Refusal::new(Why::InUse, message);
    match at.find(&tree.root) {
        Some(node) => refusal.at(node.span),
        None => refusal,
    }
}

/// Returns the changes that put a value at a place, the last word of which may be new.
fn set(tree: &Tree, at: &Path, value: &Value) -> Result<Vec<Change>, Refusal> {
    if let Some(node) = at.find(&tree.root) {
        return Ok(plan::changes(node, at, value));
    }
    let Some((into, word)) = at.split() else {
        return Ok(Vec::new());
    };
    let node = into.get(&tree.root)?;
    let value = value.clone();
    match &node.kind {
        Kind::Map(entries) => Ok(vec![Change::Insert {
            index: entries.len(),
            key: Some(word.to_owned()),
            into,
            value,
        }]),
        Kind::List(items) if word == "-" || word == items.len().to_string() => {
            Ok(vec![Change::Insert {
                index: items.len(),
                key: None,
                into,
                value,
            }])
        }
        Kind::List(items) => Err(Refusal::misplaced(format!(
            "`{into}` is a list of {}: name an item by its number, or `-` for one behind them",
            items.len()
        ))
        .at(node.span)),
        Kind::Null => Ok(vec![Change::Replace {
            at: into,
            with: Value::Object(Map::from_iter([(word.to_owned(), value)])),
        }]),
        _ => Err(Refusal::misplaced(format!("`{into}` has no fields")).at(node.span)),
    }
}

fn rename(tree: &Tree, at: &Path, to: &str) -> Result<Vec<Change>, Refusal> {
    let node = at.get(&tree.root)?;
    let Some((above, word)) = at.split() else {
        return Err(Refusal::misplaced("the whole file has no key"));
    };
    let holder = above.get(&tree.root)?;
    if !matches!(holder.kind, Kind::Map(_)) {
        return Err(Refusal::misplaced("an item of a list has no key").at(node.span));
    }
    if to.is_empty() {
        return Err(Refusal::misplaced("a name is not empty"));
    }
    if word == to {
        return Ok(Vec::new());
    }
    if let Some(taken) = holder.get(to) {
        return Err(Refusal::new(Why::Taken, format!("`{to}` is there already")).at(taken.key_span));
    }
    Ok(vec![Change::Rename {
        at: at.clone(),
        key: to.to_owned(),
    }])
}

fn add_state(
    tree: &Tree,
    scope: &Scope,
    name: &str,
    state: Option<&Value>,
    place: Option<&Place>,
) -> Result<Vec<Change>, Refusal> {
    let into = scope.states();
    let node = into.get(&tree.root)?;
    if name.is_empty() {
        return Err(Refusal::misplaced("a state has a name"));
    }
    if scope.state(tree, name).is_ok() {
        return Err(
            Refusal::new(Why::Taken, format!("there is a state `{name}` already")).at(node.span),
        );
    }
    let mut state = state.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    if !state.is_object() {
        return Err(Refusal::misplaced("a state is an object of fields"));
    }
    let names = names_of(node);
    let index = match place {
        Some(place) => index_of(&names, place)?,
        None => before_final(node),
    };
    let key = if matches!(node.kind, Kind::List(_)) {
        let fields = state.as_object().cloned().unwrap_or_default();
        let id = Map::from_iter([("id".to_owned(), Value::from(name))]);
        state = Value::Object(id.into_iter().chain(fields).collect());
        None
    } else {
        Some(name.to_owned())
    };
    if matches!(node.kind, Kind::Null) {
        let states = Map::from_iter([(name.to_owned(), state)]);
        return Ok(vec![Change::Replace {
            at: into,
            with: Value::Object(states),
        }]);
    }
    Ok(vec![Change::Insert {
        into,
        index,
        key,
        value: state,
    }])
}

/// Returns the place behind the last state in which work is done.
fn before_final(states: &Node) -> usize {
    let is_final = |entry: &interlock_formats::Entry| {
        entry.value.get("type").and_then(|field| field.value.text()) == Some("final")
    };
    let entries = states.entries();
    let last = entries.iter().rposition(|entry| !is_final(entry));
    last.map_or(entries.len() + states.items().len(), |last| last + 1)
}

fn index_of(names: &[&str], place: &Place) -> Result<usize, Refusal> {
    let find = |name: &String| {
        let found = names.iter().position(|known| known == name);
        found.ok_or_else(|| {
            Refusal::unknown(format!("there is no state `{name}`: {}", names.join(", ")))
        })
    };
    Ok(match place {
        Place::First => 0,
        Place::Last => names.len(),
        Place::Before(name) => find(name)?,
        Place::After(name) => find(name)? + 1,
    })
}

fn rename_state(tree: &Tree, scope: &Scope, name: &str, to: &str) -> Result<Vec<Change>, Refusal> {
    scope.native("names of states")?;
    let at = scope.state(tree, name)?;
    let last = rename(tree, &at, to)?;
    let definition = scope.definition(tree)?;
    if let Some(read) = names::of_output(definition, name) {
        let message =
            format!("`{name}` cannot be renamed: what it handed in is read here by its name");
        return Err(in_use(tree, &read.below(&scope.base), &message).help("rename it in the text"));
    }
    let ways = names::of_state(definition, name);
    let mut all: Vec<Change> = ways
        .iter()
        .map(|named| say(named.at.below(&scope.base), to))
        .collect();
    if !last.is_empty() {
        all.extend(outcome(at.get(&tree.root)?, &at, name, to));
    }
    all.extend(last);
    Ok(all)
}

/// Returns the change that keeps how a run ends where the name of its last state said so.
fn outcome(state: &Node, at: &Path, name: &str, to: &str) -> Option<Change> {
    let fails = |name| FAILURE_NAMES.contains(&name);
    let is_final = state.get("type").and_then(|field| field.value.text()) == Some("final");
    if !is_final || state.get("outcome").is_some() || fails(name) == fails(to) {
        return None;
    }
    let outcome = if fails(name) { "failure" } else { "success" };
    Some(Change::Insert {
        into: at.clone(),
        index: state.entries().len(),
        key: Some("outcome".to_owned()),
        value: Value::from(outcome),
    })
}

fn remove_state(tree: &Tree, scope: &Scope, name: &str) -> Result<Vec<Change>, Refusal> {
    let at = scope.state(tree, name)?;
    let inside = if scope.is_native {
        names::of_state(scope.definition(tree)?, name)
    } else {
        Vec::new()
    };
    let elsewhere = inside
        .iter()
        .find(|named| named.state.as_deref() != Some(name));
    if let Some(named) = elsewhere {
        let message = format!("`{name}` cannot be removed: {}", named.says());
        let help = if named.transition.is_some() {
            "lead it elsewhere first, or remove the transitions that lead to the state, too (`--with-transitions`)"
        } else {
            "lead it elsewhere first"
        };
        return Err(in_use(tree, &named.at.below(&scope.base), &message).help(help));
    }
    Ok(vec![Change::Remove { at }])
}

/// Returns the changes that take away a transition to a state, one of each other state that has any.
fn ways_to(tree: &Tree, scope: &Scope, name: &str) -> Result<Vec<Change>, Refusal> {
    let mut seen = BTreeSet::new();
    let ways = names::of_state(scope.definition(tree)?, name);
    Ok(ways
        .into_iter()
        .filter(|named| named.state.as_deref() != Some(name))
        .filter_map(|named| Some((named.state?, named.transition?)))
        .filter(|(state, _)| seen.insert(state.clone()))
        .map(|(_, transition)| Change::Remove {
            at: transition.below(&scope.base),
        })
        .collect())
}

fn move_state(
    tree: &Tree,
    scope: &Scope,
    name: &str,
    place: &Place,
) -> Result<Vec<Change>, Refusal> {
    let at = scope.state(tree, name)?;
    let node = scope.states().get(&tree.root)?.clone();
    let names = names_of(&node);
    let from = names.iter().position(|known| *known == name);
    let to = index_of(&names, place)?;
    // Counted without the one that moves.
    let index = if from.is_some_and(|from| from < to) {
        to - 1
    } else {
        to
    };
    if from == Some(index) {
        return Ok(Vec::new());
    }
    Ok(vec![Change::Move { at, index }])
}

fn event_of(tree: &Tree, scope: &Scope, state: &str, event: &str) -> Result<Path, Refusal> {
    scope.native("transitions")?;
    let at = scope.state(tree, state)?.then("on").then(event);
    if at.find(&tree.root).is_none() {
        return Err(Refusal::unknown(format!(
            "the state `{state}` has no event `{event}`"
        )));
    }
    Ok(at)
}

fn guard_of(tree: &Tree, scope: &Scope, name: &str) -> Result<Path, Refusal> {
    scope.native("guards")?;
    let at = scope.base.then("guards").then(name);
    if at.find(&tree.root).is_none() {
        return Err(Refusal::unknown(format!("there is no guard `{name}`")));
    }
    Ok(at)
}
