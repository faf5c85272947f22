//! What `edit` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    /// One of several workflows in the file, or one of its `machines`.
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Show what would change and write nothing.
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What is done.
    #[command(subcommand)]
    pub(crate) operation: EditOperation,
}

/// What is done to a workflow. A VALUE is JSON; what is no JSON is text.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum EditOperation {
    /// Add a state; before the final states unless a place is named.
    AddState {
        /// Its name.
        name: String,
        /// Its fields, a JSON object.
        fields: Option<String>,
        #[command(flatten)]
        place: WhereArgs,
    },
    /// Give a state another name, also wherever the file leads to it.
    RenameState {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// Remove a state that nothing leads to.
    RemoveState {
        /// Its name.
        name: String,
        /// Remove the transitions that lead to it, too.
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
    /// Name the state that runs start in.
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
    /// Give an event of a state another name.
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
    /// Give a guard another name, also wherever it is asked.
    RenameGuard {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// Remove a guard that nothing asks.
    RemoveGuard {
        /// Its name.
        name: String,
    },
    /// Set any value by its place, such as `/states/planning/allowed_tools`; `/-` is behind a list.
    Set {
        /// The place, a JSON Pointer.
        at: String,
        /// The value.
        value: String,
    },
    /// Remove any key or item by its place.
    Remove {
        /// The place, a JSON Pointer.
        at: String,
    },
    /// Give any key another name.
    Rename {
        /// The place, a JSON Pointer.
        at: String,
        /// The new key.
        to: String,
    },
    /// Carry out a list of operations from a file, all of them or none.
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
    /// Right before this state.
    #[arg(long, value_name = "STATE")]
    pub(crate) before: Option<String>,
    /// Right behind this state.
    #[arg(long, value_name = "STATE")]
    pub(crate) after: Option<String>,
    /// Before all others.
    #[arg(long)]
    pub(crate) first: bool,
    /// Behind all others.
    #[arg(long)]
    pub(crate) last: bool,
}
