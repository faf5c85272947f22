//! Completion: keys and words from the schema; states, guards and tools by name.

use serde_json::{Value, json};

use crate::{
    answer::{markdown, range},
    cursor::{Cursor, Expected, unquoted},
    document::Document,
    names::{Named, Names},
    schema::{Property, Schema},
};

/// Keys whose value names a state.
const OF_STATES: &[&str] = &[
    "initial",
    "terminal",
    "target",
    "on_complete",
    "on_fail",
    "safe_next",
    "start-at",
    "next",
    "then",
    "otherwise",
    "default",
    "state_id",
    "state_ids",
    "on_error",
    "entry",
    "entry_stage",
    "entryStage",
    "join",
    "stages",
    "parallel",
    "enter",
];
/// Keys of maps whose values name states.
const OF_MAPS_OF_STATES: &[&str] = &["on", "on-error", "goto"];
/// Keys whose value names a guard.
const OF_GUARDS: &[&str] = &["guard", "guards", "all", "any", "not", "gate", "assert"];
/// Keys whose value names tools.
const OF_TOOLS: &[&str] = &["allowed_tools", "disallowed_tools", "allowedTools"];

/// The kinds of items, as the protocol numbers them.
#[derive(Debug, Clone, Copy)]
enum ItemKind {
    Property = 10,
    Keyword = 14,
    Reference = 18,
    Function = 3,
    Value = 12,
}

/// What a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A state.
    State,
    /// A guard.
    Guard,
    /// A tool of an agent.
    Tool,
    /// Something else.
    Other,
}

/// Returns what the name at a place refers to.
pub(crate) fn meaning(cursor: &Cursor) -> Meaning {
    let mut keys = cursor.keys();
    let (last, before) = (keys.next(), keys.next());
    let is_in = |key: Option<&str>, list: &[&str]| key.is_some_and(|key| list.contains(&key));
    if is_in(last, OF_GUARDS) {
        Meaning::Guard
    } else if is_in(last, OF_STATES) || is_in(before, OF_MAPS_OF_STATES) {
        Meaning::State
    } else if is_in(last, OF_TOOLS) {
        Meaning::Tool
    } else {
        Meaning::Other
    }
}

/// Offers what is possible at a byte of a document.
pub(crate) fn complete(document: &mut Document, byte: usize) -> Value {
    let is_json = document.is_json();
    let Some(cursor) = Cursor::at(document.text.as_str(), is_json, byte) else {
        return json!([]);
    };
    let text = document.text.clone();
    let replaced = range(&text, &cursor.word);
    let written = text.as_str().get(cursor.word.clone()).unwrap_or_default();
    let syntax = Syntax {
        is_json,
        quote: written
            .starts_with('"')
            .then_some('"')
            .or_else(|| is_json.then_some('"')),
        has_colon: cursor.has_colon,
    };
    let (names, schema) = document.known();
    let mut items = Vec::new();
    if cursor.wanted != Expected::Value {
        let properties = schema.properties(&cursor.path);
        items.extend(properties.iter().map(|one| key(one, schema, &syntax)));
    }
    if cursor.wanted != Expected::Key && !cursor.has_colon {
        items.extend(values(&cursor, names, schema, &syntax));
    }
    for item in &mut items {
        let new_text = item.get("insertText").cloned().unwrap_or_default();
        if let Value::Object(item) = item {
            item.remove("insertText");
            let edit = json!({ "range": replaced, "newText": new_text });
            item.insert("textEdit".to_owned(), edit);
            let label = item
                .get("label")
                .and_then(Value::as_str)
                .unwrap_or_default();
            // Clients filter by the text that is replaced, quotes included.
            let filter = match written
                .chars()
                .next()
                .filter(|first| matches!(first, '"' | '\''))
            {
                Some(quote) => format!("{quote}{label}{quote}"),
                None => label.to_owned(),
            };
            item.insert("filterText".to_owned(), json!(filter));
        }
    }
    json!({ "isIncomplete": false, "items": items })
}

/// How words are written at a place.
#[derive(Debug)]
struct Syntax {
    is_json: bool,
    quote: Option<char>,
    has_colon: bool,
}

impl Syntax {
    fn word(&self, word: &str) -> String {
        match self.quote {
            Some(_) => Value::from(word).to_string(),
            None if is_plain(word) => word.to_owned(),
            None => Value::from(word).to_string(),
        }
    }
}

/// Returns whether YAML reads a word without quotes as this text.
fn is_plain(word: &str) -> bool {
    let starts_well = word
        .chars()
        .next()
        .is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '$' | '/'));
    let is_safe = |letter: char| letter.is_alphanumeric() || " _-$./".contains(letter);
    starts_well && word.trim() == word && word.chars().all(is_safe)
}

fn key(property: &Property<'_>, schema: &Schema, syntax: &Syntax) -> Value {
    let mut text = syntax.word(property.name);
    if !syntax.has_colon {
        text.push(':');
        if syntax.is_json || !schema.holds_lines(property) {
            text.push(' ');
        }
    }
    let about = property.description();
    item(property.name, ItemKind::Property, about.as_deref(), text)
}

fn values(cursor: &Cursor, names: &Names, schema: &Schema, syntax: &Syntax) -> Vec<Value> {
    let mut items = Vec::new();
    for word in schema.words(&cursor.path) {
        let is_text = word.parse::<f64>().is_err() && !matches!(word.as_str(), "true" | "false");
        let text = if is_text {
            syntax.word(&word)
        } else {
            word.clone()
        };
        items.push(item(&word, ItemKind::Keyword, None, text));
    }
    let named = |one: &Named, kind: ItemKind| {
        item(&one.name, kind, Some(&one.about), syntax.word(&one.name))
    };
    match meaning(cursor) {
        Meaning::State => {
            let near = near(&names.states, cursor);
            items.extend(near.iter().map(|one| named(one, ItemKind::Reference)));
        }
        Meaning::Guard => {
            let near = near(&names.guards, cursor);
            items.extend(near.iter().map(|one| named(one, ItemKind::Function)));
        }
        Meaning::Tool => {
            let tools = interlock_tool_names::known();
            items.extend(tools.map(|tool| item(tool, ItemKind::Value, None, syntax.word(tool))));
        }
        Meaning::Other => {}
    }
    items
}

/// Returns the names of the workflows around a place, each once; all names if the place is outside of every workflow.
fn near<'n>(all: &'n [Named], cursor: &Cursor) -> Vec<&'n Named> {
    let from = cursor.word.start;
    let inner = all.iter().filter(|one| one.scope.contains(&from));
    let mut found: Vec<&Named> = inner.collect();
    if found.is_empty() {
        found = all.iter().collect();
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|one| seen.insert(one.name.as_str()));
    found
}

fn item(label: &str, kind: ItemKind, about: Option<&str>, text: String) -> Value {
    let mut item = json!({ "label": label, "kind": kind as u8, "insertText": text });
    if let (Some(about), Value::Object(item)) = (about.filter(|text| !text.is_empty()), &mut item) {
        item.insert("documentation".to_owned(), markdown(about));
    }
    item
}

/// Returns the name at a place, and what it refers to.
pub(crate) fn name_at<'t>(text: &'t str, cursor: &Cursor) -> Option<&'t str> {
    let name = unquoted(text.get(cursor.word.clone())?);
    (!name.is_empty()).then_some(name)
}
