//! The page of troubleshooting: it explains every word of a refusal, and its messages are the program's.

use std::{collections::BTreeSet, fs, path::Path};

use super::pages::repository;

fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs/src").join(name)).unwrap()
}

/// Returns the text between a heading and the next one of its level.
fn section<'t>(text: &'t str, heading: &str) -> &'t str {
    let level = heading.split(' ').next().unwrap_or_default();
    let (_, rest) = text.split_once(&format!("{heading}\n")).unwrap();
    rest.split(&format!("\n{level} "))
        .next()
        .unwrap_or_default()
}

/// Returns the first code word of each row.
fn words(section: &str) -> BTreeSet<&str> {
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let words = rows.filter_map(|row| row.split('`').nth(1));
    words.map(|word| word.trim_matches('"')).collect()
}

/// Reads the source of every crate.
fn source(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

fn sources() -> String {
    let mut text = String::new();
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        source(&entry.unwrap().path().join("src"), &mut text);
    }
    text
}

#[test]
fn every_word_of_a_refusal_is_explained() {
    // The page of events is generated from the types.
    let events = page("events.md");
    let codes = words(section(&events, "### Code"));
    let text = page("troubleshooting.md");
    let explained = words(section(&text, "## Refusals"));
    let missing: Vec<_> = codes.difference(&explained).collect();
    assert!(missing.is_empty(), "not explained: {missing:?}");
    let source = sources();
    for word in explained.difference(&codes) {
        assert!(
            source.contains(&format!("\"{word}\"")),
            "nothing says `{word}`"
        );
    }
}

#[test]
fn every_message_of_the_store_is_one_of_the_program() {
    let text = page("troubleshooting.md");
    let source = sources();
    let mut seen = 0;
    for row in section(&text, "## The store")
        .lines()
        .filter(|line| line.starts_with("| ``"))
    {
        let cell = row.split(" | ").next().unwrap_or_default();
        for message in cell.split("``").skip(1).step_by(2) {
            seen += 1;
            let pieces = message.split(|c: char| c == '…' || c.is_ascii_digit());
            for piece in pieces.map(str::trim).filter(|piece| !piece.is_empty()) {
                assert!(
                    source.contains(piece),
                    "nothing says `{piece}` of `{message}`"
                );
            }
        }
    }
    assert!(seen > 15, "only {seen} messages were found");
}
