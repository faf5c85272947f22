//! What can be done to a workflow.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
