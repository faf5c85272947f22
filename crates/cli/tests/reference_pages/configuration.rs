//! Generates the page of the configuration: all keys of `config.toml`, from the types of `project`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use crate::reference_pages::types::{self, Field, Shape, Type};

/// Text before the tables.
const HEAD: &str = include_str!("configuration.md");

/// Source files with the types of the keys; a name is looked up first in the file that uses it.
const FILES: [&str; 7] = [
    "project/src/config.rs",
    "project/src/config/gateway.rs",
    "project/src/config/stages.rs",
    "project/src/config/models.rs",
    "models/src/provider.rs",
    "project/src/config/servers.rs",
    "project/src/config/codemie.rs",
];

/// Types that serde reads in the form of another type.
const WRITTEN: [(&str, &str); 1] = [("ServerConfig", "Written")];

/// Types that are maps.
const MAPS: [(&str, &str); 3] = [
    ("Providers", "IndexMap<ProviderName, ProviderConfig>"),
    ("Servers", "IndexMap<ServerName, ServerConfig>"),
    ("AssistantConfig", "IndexMap<String, Value>"),
];

/// Types with a name of their own on the page.
const PLAIN: [(&str, &str); 14] = [
    ("String", "text"),
    ("PathBuf", "path"),
    ("bool", "`true`, `false`"),
    ("u64", "number"),
    ("NonZeroU32", "number from 1"),
    ("Rate", "number"),
    ("Value", "any"),
    ("Secret", "text"),
    ("Variables", "table of text"),
    ("ServerName", "text"),
    ("ProviderName", "text"),
    ("IntegrationEnv", "table of text, or list of names"),
    ("Streamable", "`\"streamable-http\"`"),
    ("Mode", "`\"ask\"`, `\"allowlist\"`, `\"yolo\"`"),
];

/// Generates the page.
pub(crate) fn page(crates: &Path) -> String {
    let texts = FILES.map(|file| fs::read_to_string(crates.join(file)).unwrap());
    let mut page = Page {
        files: texts.iter().map(|text| types_of(text)).collect(),
        own: only_in_ones_own(&texts[0]),
        sections: Vec::new(),
    };
    let top = page.section("", "Config", 0);
    let mut text = format!("{HEAD}\n## Top-level keys\n{top}");
    // The sections inside a section follow it.
    let sections = std::mem::take(&mut page.sections);
    for (name, section) in sections {
        let _ = write!(text, "\n## `[{name}]`\n{section}");
    }
    text
}

fn types_of(text: &str) -> BTreeMap<String, Type> {
    let mut found = BTreeMap::new();
    types::of_text(text, &mut found);
    found
}

/// Reads the keys that a project must not set.
fn only_in_ones_own(text: &str) -> BTreeSet<String> {
    let (_, list) = text.split_once("fn set_by_a_person").unwrap();
    let (list, _) = list.split_once(".into_iter()").unwrap();
    let keys = list.split('"').skip(1).step_by(2).map(str::to_owned);
    let keys: BTreeSet<String> = keys.collect();
    assert!(keys.contains("sandbox.writable"), "{keys:?}");
    keys
}

struct Page {
    files: Vec<BTreeMap<String, Type>>,
    own: BTreeSet<String>,
    sections: Vec<(String, String)>,
}

impl Page {
    /// Finds a type, in `file` before all other files.
    fn find(&self, name: &str, file: usize) -> Option<(usize, Type)> {
        let written = WRITTEN.iter().find(|(of, _)| *of == name);
        let name = written.map_or(name, |(_, written)| written);
        std::iter::once(file)
            .chain(0..self.files.len())
            .find_map(|file| Some((file, self.files[file].get(name)?.clone())))
    }

    /// Writes the table of a struct, and adds the sections of its fields.
    fn section(&mut self, name: &str, of: &str, file: usize) -> String {
        let (file, found) = self
            .find(of, file)
            .unwrap_or_else(|| panic!("no type {of}"));
        let Shape::Struct(fields) = &found.shape else {
            panic!("{of} has no fields");
        };
        let mut rows = String::new();
        for field in fields {
            let key = match name {
                "" => field.name.clone(),
                _ => format!("{name}.{}", field.name),
            };
            if let Some((suffix, inner)) = self.table_of(&field.of, file) {
                // It comes after the table that it belongs to.
                let place = self.sections.len();
                let section = self.inner(&format!("{key}{suffix}"), field, &inner, file);
                self.sections
                    .insert(place, (format!("{key}{suffix}"), section));
                continue;
            }
            let own = if self.is_own(&key) { "yes" } else { "" };
            let kind = self.kind(&field.of, file);
            let docs = sentence(&field.docs);
            assert!(!docs.is_empty(), "`{key}` has no docs");
            let _ = writeln!(rows, "| `{}` | {kind} | {own} | {docs} |", field.name);
        }
        format!("\n| key | value | only in your own file | |\n|---|---|---|---|\n{rows}")
    }

    fn inner(&mut self, name: &str, field: &Field, of: &str, file: usize) -> String {
        let docs = sentence(&field.docs);
        match of {
            "Value" => format!("\n{docs}\n"),
            _ => format!("\n{docs}\n{}", self.section(name, of, file)),
        }
    }

    /// Returns the suffix of the table's name and the type in it; `None` if the field is no table.
    fn table_of(&self, of: &str, file: usize) -> Option<(&'static str, String)> {
        let inner = of
            .strip_prefix("Option<")
            .and_then(|of| of.strip_suffix('>'));
        let of = inner.unwrap_or(of);
        let map = MAPS.iter().find(|(name, _)| *name == of);
        let of = map.map_or(of, |(_, map)| map);
        if let Some(inner) = of.strip_prefix("IndexMap<") {
            let (_, value) = inner.trim_end_matches('>').split_once(", ")?;
            let map = MAPS.iter().find(|(name, _)| *name == value);
            return match (value, map) {
                (_, Some(_)) => Some((".NAME", "Value".to_owned())),
                ("String", None) => None,
                (value, None) => Some((".NAME", value.to_owned())),
            };
        }
        let (_, found) = self.find(of, file)?;
        matches!(found.shape, Shape::Struct(_)).then(|| ("", of.to_owned()))
    }

    fn is_own(&self, key: &str) -> bool {
        let is_whole = |own: &String| {
            key.strip_prefix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.own.iter().any(is_whole)
    }

    /// Describes a value of the type in TOML.
    fn kind(&self, of: &str, file: usize) -> String {
        if let Some(inner) = of.strip_prefix("Option<") {
            return self.kind(inner.strip_suffix('>').unwrap(), file);
        }
        if let Some(inner) = of.strip_prefix("Vec<") {
            return format!(
                "list of {}s",
                self.kind(inner.strip_suffix('>').unwrap(), file)
            )
            .replace("texts", "text");
        }
        if of.starts_with("IndexMap<String, String>") {
            return "table of text".to_owned();
        }
        if let Some((_, word)) = PLAIN.iter().find(|(name, _)| *name == of) {
            return (*word).to_owned();
        }
        let (_, found) = self
            .find(of, file)
            .unwrap_or_else(|| panic!("no type {of}"));
        let Shape::Enum(variants) = &found.shape else {
            panic!("no word for {of}");
        };
        let words = variants
            .iter()
            .map(|variant| match variant.renamed.as_str() {
                "" => format!("`\"{}\"`", variant.name.to_lowercase()),
                renamed => format!("`\"{renamed}\"`"),
            });
        words.collect::<Vec<_>>().join(", ")
    }
}

fn sentence(docs: &str) -> String {
    let docs = docs.replace("[`", "`").replace("`]", "`");
    docs.replace('|', "\\|").trim().to_owned()
}
