//! Describes the word under the pointer.

use serde_json::{Value, json};

use crate::{
    answer::{markdown, range},
    complete::name_at,
    cursor::{Cursor, Step},
    definition::find,
    document::Document,
};

/// Describes the word at a byte; null if nothing is known about it.
pub(crate) fn hover(document: &mut Document, byte: usize) -> Value {
    let Some(cursor) = Cursor::at(document.text.as_str(), document.is_json(), byte) else {
        return Value::Null;
    };
    let text = document.text.clone();
    let Some(name) = name_at(text.as_str(), &cursor) else {
        return Value::Null;
    };
    let mut said = Vec::new();
    let (names, schema) = document.known();
    if let Some(named) = find(names, &cursor, name) {
        said.push(format!("**{}**", named.name));
        said.push(named.about.clone());
        if !named.events.is_empty() {
            let events = named.events.iter().map(|(event, _)| format!("`{event}`"));
            said.push(format!("Events: {}", events.collect::<Vec<_>>().join(", ")));
        }
    }
    let described = if cursor.is_key() {
        schema.describe(&cursor.path, name)
    } else {
        of_value(&cursor.path).and_then(|(path, key)| schema.describe(path, key))
    };
    said.extend(described);
    said.retain(|part| !part.is_empty());
    if said.is_empty() {
        return Value::Null;
    }
    json!({
        "contents": markdown(&said.join("\n\n")),
        "range": range(&text, &cursor.word),
    })
}

/// Splits the path of a value into the path of its object and its key; an item counts as its list.
fn of_value(path: &[Step]) -> Option<(&[Step], &str)> {
    match path.split_last()? {
        (Step::Key(key), before) => Some((before, key)),
        (Step::Item, before) => of_value(before),
    }
}
