//! Everything below the state directory: runs, bindings, notes, the person's token.
//!
//! The only crate that knows a database. Judges nothing: it keeps events, folds
//! them with [`interlock_core::evolve`] and hands them back. What exists and
//! cannot be read is an error, never absent; nothing damaged is deleted or
//! written over.

mod bindings;
mod chain;
mod error;
mod files;
mod home;
mod id;
mod list;
mod log;
mod notes;
mod pin;
mod run_log;
mod snapshot;
mod sqlite;
mod start;
mod submit;
mod token;
mod verify;

pub use bindings::{BindError, Binding, Bindings, ClientProcess, Lookup, SessionKey};
pub use chain::ChainHash;
pub use error::StoreError;
pub use home::Home;
pub use id::run_id;
pub use list::{Listed, RunCard, RunSummary};
pub use log::{AppendError, EventLog, Recorded};
pub use notes::{NOTE_AGE_MAX_MS, Note};
pub use pin::{Durability, NewRun, SourceFile};
pub use run_log::RunLog;
pub use start::{StartError, Started};
pub use submit::submit;
pub use verify::{Broken, FirstBroken, VerifyError};
