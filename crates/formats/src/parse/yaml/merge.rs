//! Merge keys: the entries that `<<` adds to a map.

use std::collections::HashSet;

use super::{Read, SyntaxError};
use crate::{
    node::{Entry, Kind, Node},
    source::Span,
};

/// Adds the entries of `merged` whose keys are not written; earlier maps take precedence.
pub(super) fn apply(entries: &mut Vec<Entry>, merged: Node, at: Span) -> Read<()> {
    let maps = match merged.kind {
        Kind::Map(_) => vec![merged],
        Kind::List(items) if items.iter().all(|item| matches!(item.kind, Kind::Map(_))) => items,
        _ => {
            return Err(
                SyntaxError::new(at.start..at.end, "`<<` takes a map or a list of maps")
                    .help("write `<<: *name`, where `&name` marks a map"),
            );
        }
    };
    let mut known: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    for map in maps {
        let Kind::Map(more) = map.kind else { continue };
        for entry in more {
            if known.insert(entry.key.clone()) {
                entries.push(entry);
            }
        }
    }
    Ok(())
}
