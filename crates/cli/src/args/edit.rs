//! The arguments of `edit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    /// Edit this one of several workflows in the file, or of its `machines`.
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Show what would change, without writing it.
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The operation.
    #[command(subcommand)]
    pub(crate) operation: EditOperation,
}

/// An operation on a workflow. A VALUE is JSON, or otherwise text.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum EditOperation {
    /// Add a state, by default before the final states.
    AddState {
        /// Its name.
        name: String,
        /// Its fields, a JSON object.
        fields: Option<String>,
        #[command(flatten)]
        place: WhereArgs,
    },
    /// Rename a state, and every reference to it.
    RenameState {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// Remove a state that no transition leads to.
    RemoveState {
        /// Its name.
        name: String,
        /// Also remove the transitions that lead to it.
        #[arg(long)]
        with_transitions: bool,
    },
    /// Move a state among the others.
    MoveState {
        /// Its name.
        name: String,
        #[command(flatten)]
        place: WhereArgs,
    },
    /// Set the state in which runs start.
    SetInitial {
        /// Its name.
        state: String,
    },
    /// Add a transition, or replace the one for the same event.
    #[command(visible_alias = "set-transition")]
    AddTransition {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
        /// A state, or JSON: an object with `target`, `guard`, `requires_approval`, `fork`, `invoke` …, or a list of branches.
        to: String,
    },
    /// Remove a transition.
    RemoveTransition {
        /// The state it leaves.
        state: String,
        /// The event.
        event: String,
    },
    /// Rename an event of a state.
    RenameEvent {
        /// The state.
        state: String,
        /// The event.
        event: String,
        /// Its new name.
        to: String,
    },
    /// Add a guard, or replace the one of the same name.
    SetGuard {
        /// Its name.
        name: String,
        /// The guard, a JSON object.
        guard: String,
    },
    /// Rename a guard, and every reference to it.
    RenameGuard {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// Remove a guard that nothing refers to.
    RemoveGuard {
        /// Its name.
        name: String,
    },
    /// Set any value by its JSON Pointer, such as `/states/planning/allowed_tools`; `/-` appends to a list.
    Set {
        /// The JSON Pointer of the value.
        at: String,
        /// The value.
        value: String,
    },
    /// Remove any key or item by its JSON Pointer.
    Remove {
        /// The JSON Pointer of the value.
        at: String,
    },
    /// Rename any key.
    Rename {
        /// The JSON Pointer of the value.
        at: String,
        /// The new key.
        to: String,
    },
    /// Apply a list of operations from a file, all of them or none.
    Apply {
        /// JSON: a list such as `[{"rename_state": {"name": "a", "to": "b"}}]`; `-` is standard input.
        #[arg(value_name = "FILE")]
        operations: PathBuf,
    },
}

/// A place among the states.
#[derive(Debug, Clone, Args)]
#[group(multiple = false)]
pub(crate) struct WhereArgs {
    /// Directly before this state.
    #[arg(long, value_name = "STATE")]
    pub(crate) before: Option<String>,
    /// Directly after this state.
    #[arg(long, value_name = "STATE")]
    pub(crate) after: Option<String>,
    /// Before all other states.
    #[arg(long)]
    pub(crate) first: bool,
    /// After all other states.
    #[arg(long)]
    pub(crate) last: bool,
}
