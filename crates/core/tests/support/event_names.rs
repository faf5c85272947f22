//! What the events are called, read from their source.

use std::collections::BTreeSet;

/// Returns the name of every event; none: their source has another form now.
pub(crate) fn event_names() -> BTreeSet<&'static str> {
    let source = include_str!("../../src/event.rs");
    let (_, events) = source.split_once("pub enum Event {").unwrap_or_default();
    let (events, _) = events.split_once("\n}").unwrap_or_default();
    let lines = events.lines().filter_map(|line| line.strip_prefix("    "));
    lines
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|line| line.split([' ', ',', '(']).next())
        // The end of a run is called by its outcome.
        .flat_map(|name| match name {
            "RunEnded" => vec!["RunCompleted", "RunFailed"],
            name => vec![name],
        })
        .collect()
}
