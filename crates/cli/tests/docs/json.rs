//! The page of JSON output: each command prints exactly the keys that the page lists.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Stdio,
};

use interlock_testkit::room::Room;
use serde_json::Value;

use super::pages::{blocks, pages};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Begins the description of a key that is not always there.
const SOMETIMES: &str = "*";

/// A section of the page: a command and its keys.
struct Section {
    words: Vec<String>,
    /// Each key, and whether it is always there.
    keys: BTreeMap<String, bool>,
}

fn sections() -> Vec<Section> {
    let is_it = |path: &Path| path.ends_with("docs/src/json.md");
    let (_, text) = pages().into_iter().find(|(path, _)| is_it(path)).unwrap();
    text.split("\n## ").skip(1).filter_map(section).collect()
}

fn section(text: &str) -> Option<Section> {
    let block = blocks(text).into_iter().next()?;
    let line = block.text.strip_prefix("$ interlock ")?;
    let mut keys = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let is_always = !cells.last()?.trim_start().starts_with(SOMETIMES);
        for name in cells.first()?.split('`').skip(1).step_by(2) {
            keys.insert(name.to_owned(), is_always);
        }
    }
    Some(Section {
        words: line.split_whitespace().map(str::to_owned).collect(),
        keys,
    })
}

/// Lists every key of a value by its path; `known` contains the paths that are described further.
fn found(value: &Value, path: &str, known: &BTreeSet<&str>, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                let is_described = known.iter().any(|known| {
                    known
                        .strip_prefix(path.as_str())
                        .is_some_and(|rest| rest.starts_with(['.', '[']))
                });
                keys.insert(path.clone());
                if is_described {
                    found(value, &path, known, keys);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                found(item, &format!("{path}[]"), known, keys);
            }
        }
        _ => {}
    }
}

#[test]
fn every_command_prints_the_keys_of_its_table() {
    let room = Room::new().unwrap();
    room.write("package.json", r#"{"scripts": {"test": "node --test"}}"#)
        .unwrap();
    room.write(
        "bad.yaml",
        "id: x\ninitial: a\nstates: {b: {type: final}}\n",
    )
    .unwrap();
    let sections = sections();
    assert!(sections.len() > 12, "only {} sections", sections.len());
    for section in sections {
        let mut command = room.command(INTERLOCK);
        let command = command.args(&section.words).stdin(Stdio::null());
        let output = command.output().unwrap();
        let out = String::from_utf8(output.stdout.clone()).unwrap();
        let known: BTreeSet<&str> = section.keys.keys().map(String::as_str).collect();
        let mut keys = BTreeSet::new();
        for line in out.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            found(&line, "", &known, &mut keys);
        }
        assert!(!keys.is_empty(), "{:?}: {output:?}", section.words);
        let unknown: Vec<&String> = keys
            .iter()
            .filter(|key| !known.contains(key.as_str()))
            .collect();
        let missing: Vec<&String> = section
            .keys
            .iter()
            .filter(|(key, is_always)| **is_always && !keys.contains(*key))
            .map(|(key, _)| key)
            .collect();
        assert!(
            unknown.is_empty() && missing.is_empty(),
            "{:?}: not on the page: {unknown:?}; not printed: {missing:?}",
            section.words
        );
    }
}
