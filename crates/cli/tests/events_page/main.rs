//! The page of the events in the book is that of the engine's types.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable,
    reason = "a failed test panics"
)]

mod page;
mod types;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use types::{Shape, Type};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read() -> BTreeMap<String, Type> {
    let mut types = types::read(&repository().join("crates/expr/src"));
    types.extend(types::read(&repository().join("crates/core/src")));
    types
}

/// `INTERLOCK_BLESS=1` writes it; read what changed.
#[test]
fn the_page_of_the_events_is_that_of_their_types() {
    let made = page::page(&read());
    let file = repository().join("docs/src/events.md");
    if std::env::var_os("INTERLOCK_BLESS").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "docs/src/events.md is not what the types of the events say; `INTERLOCK_BLESS=1` writes it anew"
    );
}

/// What is recorded has no field that the page does not know: the source was read aright.
#[test]
fn recorded_events_have_the_fields_that_the_page_names() {
    let types = read();
    let Shape::Enum(variants) = &types["Event"].shape else {
        unreachable!("events are an enum");
    };
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(repository().join("tests/histories")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let event = line.get("event").unwrap_or(&line);
            let Some((name, Value::Object(fields))) =
                event.as_object().and_then(|one| one.iter().next())
            else {
                continue;
            };
            let Some(variant) = variants.iter().find(|one| one.name == *name) else {
                continue;
            };
            let known: BTreeSet<&str> = variant
                .fields
                .iter()
                .map(|field| field.name.as_str())
                .collect();
            if variant.of.is_none() {
                for field in fields.keys() {
                    assert!(known.contains(field.as_str()), "{name} has `{field}`");
                }
            }
            seen.insert(name.clone());
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
}
