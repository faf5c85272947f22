//! The calls that are tried, and their possible ends.

use interlock_core::call::ToolCall;
use serde_json::Value;

/// A call that represents others like it.
#[derive(Debug)]
pub(crate) struct Class {
    /// Its line for `simulate`, without an outcome.
    pub(crate) line: Value,
    pub(crate) call: ToolCall,
    /// The evidence command that it runs, if it runs exactly one.
    pub(crate) proves: Option<String>,
}

/// A call that may run in a state.
#[derive(Debug, Clone)]
pub(crate) struct Usable {
    pub(crate) class: usize,
    /// Whether a person is asked first.
    pub(crate) asked: bool,
    pub(crate) ends: Vec<End>,
    /// The keys of evidence it may change.
    pub(crate) keys: Vec<String>,
    /// Its other effects, for comparisons.
    pub(crate) signature: String,
}

/// How a call ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) ok: bool,
    pub(crate) exit: Option<i64>,
    pub(crate) bytes: u64,
    /// Files that it was seen to write, beyond those it names.
    pub(crate) wrote: Vec<String>,
}
