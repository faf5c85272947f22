//! The pages of the formats' keys, generated from the output of `interlock schema`.

use std::{fmt::Write as _, fs};

use interlock_testkit::room::{Room, expect_success};
use serde_json::{Map, Value};

use super::pages::repository;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// A format, its page, and the text before the tables.
struct Format {
    name: &'static str,
    page: &'static str,
    head: &'static str,
}

const FORMATS: [Format; 3] = [
    Format {
        name: "flowstate",
        page: "docs/src/flowstate-keys.md",
        head: "# Keys of FlowState files

FlowState is a separate workflow runner. Each state of its files invokes a tool, and the tool's result selects the next state. Interlock
reads the same files. [Durable workflows](durable.md) describes how they run here.
",
    },
    Format {
        name: "pipeline",
        page: "docs/src/pipeline-keys.md",
        head: "# Keys of pipelines

Pipelines follow the state-machine workflows of stud-cli. Each stage is a fresh transcript with its own tools, completion tool, schema and
limit on turns. [Pipelines](pipelines.md) describes how they run here. Keys may also be written in snake_case.
",
    },
    Format {
        name: "codemie",
        page: "docs/src/codemie-keys.md",
        head: "# Keys of CodeMie files

CodeMie is a platform for AI assistants; its workflows combine assistants, tools and custom nodes. Interlock reads the same files.
[CodeMie files](codemie.md) describes how they run here.
",
    },
];

/// The page's statement about itself.
const MADE: &str = "
This page is generated from the JSON Schema that `interlock schema FORMAT` prints, and a test checks that it is current. Keys in **bold** are required.
";

fn schema(format: &str) -> Map<String, Value> {
    let room = Room::new().unwrap();
    let mut command = room.command(INTERLOCK);
    let output = command.args(["schema", format]).output().unwrap();
    expect_success("schema", &output).unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The description of a key that is accepted and not used.
const NO_EFFECT: &str = "Accepted; it has no effect.";

/// A schema with the definitions that it refers to.
struct Page<'a> {
    defs: &'a Map<String, Value>,
}

fn page(format: &Format) -> String {
    let schema = schema(format.name);
    let defs = schema.get("$defs").and_then(Value::as_object);
    let page = Page {
        defs: defs.unwrap(),
    };
    let made = MADE.replace("FORMAT", format.name);
    let mut text = format!("{}{made}", format.head);
    if let Some(table) = page.table(&Value::Object(schema.clone())) {
        let _ = write!(text, "\n## The file\n{table}");
    }
    for (name, def) in page.defs {
        if let Some(table) = page.table(def) {
            let title = title(name);
            let _ = write!(text, "\n## {title}\n");
            if let Some(about) = text_of(def, "description") {
                let _ = writeln!(text, "\n{about}");
            }
            text.push_str(&table);
        }
    }
    text
}

impl Page<'_> {
    /// Returns the table of an object's keys; `None` if it has no keys of its own.
    fn table(&self, schema: &Value) -> Option<String> {
        let keys = schema.get("properties")?.as_object()?;
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |key: &String| {
            required.is_some_and(|required| required.iter().any(|one| one.as_str() == Some(key)))
        };
        let mut text = "\n| key | value | |\n|---|---|---|\n".to_owned();
        let mut idle = Vec::new();
        for (key, value) in keys {
            if keys.contains_key(&camel_case(key)) && key.contains('_') {
                // The other spelling of the same key.
                continue;
            }
            if text_of(value, "description") == Some(NO_EFFECT) {
                idle.push(format!("`{key}`"));
                continue;
            }
            let shown = if is_required(key) {
                format!("**`{key}`**")
            } else {
                format!("`{key}`")
            };
            let kind = self.kind(value);
            let about = text_of(value, "description").unwrap_or_default();
            let _ = writeln!(text, "| {shown} | {kind} | {} |", about.replace('|', "\\|"));
        }
        if !idle.is_empty() {
            let _ = writeln!(text, "\nAccepted without effect: {}.", idle.join(", "));
        }
        Some(text)
    }

    /// Describes the permitted values of a schema in words.
    fn kind(&self, schema: &Value) -> String {
        if let Some(name) = text_of(schema, "$ref") {
            let name = name.trim_start_matches("#/$defs/").replace("%20", " ");
            let def = self.defs.get(&name).unwrap();
            if def.get("properties").is_some() {
                let title = title(&name);
                let anchor = title.to_lowercase().replace(' ', "-");
                return format!("[{title}](#{anchor})");
            }
            return self.kind(def);
        }
        if let Some(value) = schema.get("const") {
            return format!("`{value}`");
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            return words.join(", ");
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(key).and_then(Value::as_array)
                && schema.get("properties").is_none()
            {
                return joined(choices.iter().map(|choice| self.kind(choice)));
            }
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.plain(kind, schema),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                // The types that YAML may produce for a text.
                if kinds.contains(&"string") && kinds.contains(&"number") {
                    return "text".to_owned();
                }
                let kinds = kinds
                    .iter()
                    .filter(|kind| **kind != "string" || kinds.len() == 1);
                joined(kinds.map(|kind| self.plain(kind, schema)))
            }
            _ => "any".to_owned(),
        }
    }

    fn plain(&self, kind: &str, schema: &Value) -> String {
        let of = |key: &str| schema.get(key).filter(|inner| inner.is_object());
        match kind {
            "string" => "text".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "boolean" => "`true`, `false`".to_owned(),
            "array" => match of("items") {
                Some(items) => format!("list of {}", self.kind(items)),
                None => "list".to_owned(),
            },
            "object" => match of("additionalProperties") {
                Some(values) => format!("map of {}", self.kind(values)),
                None => "object".to_owned(),
            },
            _ => String::new(),
        }
    }
}

fn text_of<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

/// Converts `a_key` to `aKey`.
fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| text + &title(word))
}

fn title(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    let rest = letters.as_str().replace('_', " ");
    format!("{}{rest}", first.unwrap_or_default())
}

/// Joins alternatives without duplicates.
fn joined(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds {
        if !kind.is_empty() && !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.join(", or ")
}

/// `INTERLOCK_BLESS=1` writes the pages; review the changes.
#[test]
fn the_pages_of_keys_are_those_of_the_schemas() {
    for format in FORMATS {
        let made = page(&format);
        let file = repository().join(format.page);
        if std::env::var_os("INTERLOCK_BLESS").is_some() {
            fs::write(&file, &made).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            kept == made,
            "{} is not what the schema says; `INTERLOCK_BLESS=1` writes it anew",
            format.page
        );
    }
}
