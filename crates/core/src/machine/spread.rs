//! One line for each item of what a state put out.

use serde::{Deserialize, Serialize};

use crate::names::StateName;

/// One line for each item of what the state before put out, from one state on until each has come to its end.
///
/// A line that comes to another spread passes its item on instead of opening
/// it, unless that one is `nested`; a state that leads anywhere else ends its
/// line, unless it is [`crate::machine::State::keeps_item`].
///
/// Its `error` is about splitting alone: a failure of one of its lines is not handled there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Where the items are: `.`, a plain key, or a JSON Pointer.
    pub items: String,
    /// Where each line starts.
    pub initial: StateName,
    /// The context keys that a line sees; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// Whether a line that passes here takes this output for its item from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces_item: bool,
    /// Whether a line that comes here opens lines of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    /// What follows when an item fails.
    #[serde(default)]
    pub on_item_error: OnItemError,
    /// The state that is entered where the lines ended by several ways: a fork with one branch for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exits: Option<StateName>,
    /// Whether what its lines led to is entered inside the line of an item around it, which else ends there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// Whether having no items is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_items: bool,
    /// The state entered where there is no item.
    pub without_items: StateName,
}

/// What follows when an item fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnItemError {
    /// No item starts any more, and the whole has failed.
    #[default]
    Fail,
    /// It counts as if it had not been there.
    Skip,
    /// Its output is an object with `error`.
    Collect,
}
