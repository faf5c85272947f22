//! Finds where a state or a guard is defined.

use serde_json::{Value, json};

use crate::{
    answer::range,
    complete::{Meaning, meaning, name_at},
    cursor::Cursor,
    document::Document,
    names::{Named, Names},
};

/// Returns the definition of the name at a byte; null if it does not name anything in the file.
pub(crate) fn definition(uri: &str, document: &mut Document, byte: usize) -> Value {
    let Some(cursor) = Cursor::at(document.text.as_str(), document.is_json(), byte) else {
        return Value::Null;
    };
    let text = document.text.clone();
    let Some(name) = name_at(text.as_str(), &cursor) else {
        return Value::Null;
    };
    match find(document.names(), &cursor, name) {
        Some(named) => json!({ "uri": uri, "range": range(&text, &named.at) }),
        None => Value::Null,
    }
}

/// Finds what a name at a place refers to.
pub(crate) fn find<'n>(names: &'n Names, cursor: &Cursor, name: &str) -> Option<&'n Named> {
    let from = cursor.word.start;
    if cursor.is_key() {
        // A key among the states or the guards defines what it names.
        return match cursor.last_key() {
            Some("states" | "stages") => names.state(name, from),
            Some("guards") => names.guard(name, from),
            _ => None,
        };
    }
    match meaning(cursor) {
        Meaning::State => names.state(name, from),
        Meaning::Guard => names.guard(name, from),
        Meaning::Tool | Meaning::Other => None,
    }
}
