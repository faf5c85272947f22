//! The names of the events, read from their source.

use std::collections::BTreeSet;

/// Returns every event name in the log; empty if the form of the source has changed.
pub(crate) fn event_names() -> BTreeSet<&'static str> {
    let source = include_str!("../../../run/src/event/name.rs");
    let (_, arms) = source.split_once("match self {").unwrap_or_default();
    let texts = arms.split('"').skip(1).step_by(2);
    texts.collect()
}
