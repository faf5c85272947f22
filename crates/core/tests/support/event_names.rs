//! What the events are called, read from their source.

use std::collections::BTreeSet;

/// Returns every name that an event has in the log; none: their source has another form now.
pub(crate) fn event_names() -> BTreeSet<&'static str> {
    let source = include_str!("../../../run/src/event/name.rs");
    let (_, arms) = source.split_once("match self {").unwrap_or_default();
    let texts = arms.split('"').skip(1).step_by(2);
    texts.collect()
}
