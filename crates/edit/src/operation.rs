//! The operations on a workflow.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An operation on a workflow.
///
/// In JSON, an object with one key: `{"rename_state": {"name": "planning", "to": "thinking"}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Adds a state.
    AddState {
        /// Its name.
        name: String,
        /// Its fields; none if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
        /// Its place; before the final states if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
    },
    /// Renames a state, also wherever the file leads to it.
    RenameState {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// Removes a state.
    RemoveState {
        /// Its name.
        name: String,
        /// Whether the transitions that lead to it are removed, too; otherwise they prevent the removal.
        #[serde(default)]
        with_transitions: bool,
    },
    /// Moves a state among the states.
    MoveState {
        /// Its name.
        name: String,
        /// Its new place.
        place: Place,
    },
    /// Sets the initial state.
    SetInitial {
        /// Its name.
        state: String,
    },
    /// Adds a transition, or replaces the one for the same event.
    SetTransition {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
        /// A state, or an object or a list as a workflow file has them.
        to: Value,
    },
    /// Removes a transition.
    RemoveTransition {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
    },
    /// Gives a transition another event.
    RenameEvent {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
        /// The new event.
        to: String,
    },
    /// Adds a guard, or replaces the one with the same name.
    SetGuard {
        /// Its name.
        name: String,
        /// The guard as written in a workflow file.
        guard: Value,
    },
    /// Renames a guard, also wherever it is used.
    RenameGuard {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// Removes a guard that is not used.
    RemoveGuard {
        /// Its name.
        name: String,
    },
    /// Sets any value, new or existing.
    Set {
        /// The place, as a JSON Pointer: `/states/planning/allowed_tools`.
        at: String,
        /// The value to be set.
        value: Value,
    },
    /// Removes a key or an item.
    Remove {
        /// The place, as a JSON Pointer.
        at: String,
    },
    /// Gives a value another key.
    Rename {
        /// The place, as a JSON Pointer.
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
    /// After all others.
    Last,
    /// Right before this one.
    Before(String),
    /// Right after this one.
    After(String),
}
