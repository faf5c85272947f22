//! The outline of a document: its states with their events, and its guards.

use serde_json::{Value, json};

use crate::{answer::range, document::Document, names::Named, text::Text};

/// The kinds of symbols, as the protocol numbers them.
#[derive(Debug, Clone, Copy)]
enum SymbolKind {
    State = 23,
    Event = 24,
    Guard = 17,
}

/// Lists what a document defines, in the order of its text.
pub(crate) fn symbols(document: &mut Document) -> Value {
    let text = document.text.clone();
    let names = document.names();
    let states = names.states.iter().map(|one| (one, SymbolKind::State));
    let guards = names.guards.iter().map(|one| (one, SymbolKind::Guard));
    let mut all: Vec<(&Named, SymbolKind)> = states.chain(guards).collect();
    all.sort_by_key(|(one, _)| one.whole.start);
    all.iter()
        .map(|(one, kind)| symbol(&text, one, *kind))
        .collect()
}

fn symbol(text: &Text, named: &Named, kind: SymbolKind) -> Value {
    let children: Vec<Value> = named
        .events
        .iter()
        .map(|(event, at)| {
            let range = range(text, at);
            json!({
                "name": shown(event),
                "kind": SymbolKind::Event as u8,
                "range": range,
                "selectionRange": range,
            })
        })
        .collect();
    // Clients refuse a symbol whose name is outside of its range.
    let whole = named.whole.start.min(named.at.start)..named.whole.end.max(named.at.end);
    json!({
        "name": shown(&named.name),
        "kind": kind as u8,
        "range": range(text, &whole),
        "selectionRange": range(text, &named.at),
        "children": children,
    })
}

/// Returns a name that is not empty: clients refuse others.
fn shown(name: &str) -> &str {
    if name.trim().is_empty() { "\"\"" } else { name }
}
