//! The pages of the book that are generated from types: the events of a run, and the configuration.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable,
    reason = "a failed test panics"
)]

mod configuration;
mod events;
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

/// Compares a page with the generated text. `INTERLOCK_BLESS=1` writes the page: review the changes.
fn expect_page(path: &str, made: &str) {
    let file = repository().join(path);
    if std::env::var_os("INTERLOCK_BLESS").is_some() {
        fs::write(&file, made).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "{path} is not what the types say; `INTERLOCK_BLESS=1` writes it anew"
    );
}

fn read() -> BTreeMap<String, Type> {
    let folders = ["expr", "machine", "run"].map(|name| format!("crates/{name}/src"));
    let read = folders.map(|folder| types::read(&repository().join(folder)));
    read.into_iter().flatten().collect()
}

#[test]
fn the_page_of_the_events_is_that_of_their_types() {
    expect_page("docs/src/events.md", &events::page(&read()));
}

#[test]
fn the_page_of_the_configuration_is_that_of_its_types() {
    let made = configuration::page(&repository().join("crates"));
    expect_page("docs/src/configuration.md", &made);
}

/// Shows that the source was read correctly: recorded events have no field that the page lacks.
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
