//! Generates the page of the events: all events, and all types of their fields.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::reference_pages::types::{Field, Shape, Type, Variant};

/// Text before the events.
const HEAD: &str = include_str!("events.md");

/// Containers and plain types, in the page's words.
const PLAIN: [(&str, &str); 12] = [
    ("String", "text"),
    ("str", "text"),
    ("bool", "true or false"),
    ("u8", "number"),
    ("u32", "number"),
    ("u64", "number"),
    ("usize", "number"),
    ("i64", "number"),
    ("f64", "number"),
    ("Value", "anything"),
    ("Object", "object"),
    ("PathBuf", "text"),
];

/// Generates the page.
pub(crate) fn page(types: &BTreeMap<String, Type>) -> String {
    let mut page = Page {
        types,
        due: Vec::new(),
        known: BTreeSet::new(),
    };
    let mut text = HEAD.to_owned();
    let Shape::Enum(events) = &types["Event"].shape else {
        unreachable!("events are an enum");
    };
    let mut sorted: Vec<&Variant> = events.iter().collect();
    sorted.sort_by(|a, b| shown(a).cmp(shown(b)));
    text.push_str("\n## Events\n");
    for event in sorted {
        let name = shown(event);
        let _ = write!(text, "\n### {name}\n\n{}\n", sentence(&event.docs));
        let fields = match &event.of {
            Some(of) => page.fields_of(of),
            None => event.fields.clone(),
        };
        let renamed = fields.into_iter().map(|field| renamed(&event.name, field));
        let fields: Vec<Field> = renamed.collect();
        text.push_str(&page.table(&fields, true));
    }
    text.push_str("\n## Types\n");
    let mut sections = BTreeMap::new();
    while let Some(name) = page.due.pop() {
        let section = page.section(&name);
        sections.insert(name, section);
    }
    for (name, section) in sections {
        let _ = write!(text, "\n### {name}\n\n{section}");
    }
    text
}

/// Returns the names that an event has in the log, separated by commas.
fn shown(event: &Variant) -> &str {
    match event.name.as_str() {
        "RunEnded" => "RunCompleted, RunFailed",
        "RequestOpened" => "ApprovalRequested, GrantRequested, PersonAsked",
        "RequestAnswered" => {
            "ApprovalGranted, ApprovalRejected, GrantDenied, GrantIssued, PersonAnswered"
        }
        "RequestVoided" => "ApprovalDropped, GrantDenied, PersonDismissed, PromptClosed",
        "RequestUsed" => "GrantConsumed",
        "RegionsStarted" => "BranchOpened, ForkStarted, ItemStarted, ItemsSpread, LineSplit",
        "RegionReopened" => "BranchReopened",
        "RegionWaits" => "LineWaits",
        "RegionPassed" => "ItemPassed",
        "RegionEnded" => "BranchEnded, ItemEnded",
        "Joined" => "Joined, LinesMet",
        name => name,
    }
}

/// Renames a field to the key under which `log --json` writes it.
fn renamed(event: &str, mut field: Field) -> Field {
    field.name = match (field.name.as_str(), event) {
        ("event", _) => "name".to_owned(),
        ("how", "TransitionTaken") => "kind".to_owned(),
        (name, _) => name.to_owned(),
    };
    field
}

fn sentence(docs: &str) -> String {
    // Links between items of the source do not work in the book.
    docs.replace("[`", "`").replace("`]", "`").trim().to_owned()
}

struct Page<'a> {
    types: &'a BTreeMap<String, Type>,
    due: Vec<String>,
    known: BTreeSet<String>,
}

impl Page<'_> {
    fn fields_of(&self, name: &str) -> Vec<Field> {
        match &self.types[name].shape {
            Shape::Struct(fields) => fields.clone(),
            other => panic!("{name} has no fields: {other:?}"),
        }
    }

    fn table(&mut self, fields: &[Field], of_event: bool) -> String {
        let shown: Vec<&Field> = fields
            .iter()
            .filter(|field| field.left_out != "always" && !(of_event && field.name == "path"))
            .collect();
        if shown.is_empty() {
            return String::new();
        }
        let mut text = "\n| field | what it holds | |\n|---|---|---|\n".to_owned();
        for field in shown {
            let kind = self.kind(&field.of);
            let out = match field.left_out.as_str() {
                "" => "",
                "Option::is_none" => "; left out if there is none",
                "std::ops::Not::not" => "; left out when false",
                "is_zero" | "is_none" => "; left out when 0",
                "is_nothing" => "; left out when it is nothing",
                "Value::is_null" => "; left out when null",
                one if one.ends_with("is_empty") => "; left out when empty",
                _ => "; may be left out",
            };
            let kind = if field.left_out == "Option::is_none" {
                kind.trim_end_matches(" or null").to_owned()
            } else {
                kind
            };
            let absent = if field.left_out.is_empty() {
                "null"
            } else {
                "left out"
            };
            let docs = sentence(&field.docs)
                .replace('|', "\\|")
                .replace("`None`", absent);
            let _ = writeln!(text, "| `{}` | {kind}{out} | {docs} |", field.name);
        }
        text
    }

    /// Describes a type of the source in JSON.
    fn kind(&mut self, of: &str) -> String {
        let of = of.trim().trim_start_matches('&');
        if let Some((_, word)) = PLAIN.iter().find(|(name, _)| *name == of) {
            return (*word).to_owned();
        }
        if let Some(inner) = of.strip_prefix('(').and_then(|of| of.strip_suffix(')')) {
            let parts: Vec<String> = inner.split(", ").map(|part| self.kind(part)).collect();
            return format!("list of {}", parts.join(" and "));
        }
        if let Some((outer, inner)) = of.strip_suffix('>').and_then(|of| of.split_once('<')) {
            return match outer {
                "Option" => format!("{} or null", self.kind(inner)),
                "Vec" | "VecDeque" | "BTreeSet" => format!("list of {}", self.kind(inner)),
                "Arc" | "Box" => self.kind(inner),
                "BTreeMap" | "IndexMap" => {
                    let (_, value) = inner.split_once(", ").unwrap();
                    format!("object of {}", self.kind(value))
                }
                other => panic!("no word for {other}<{inner}>"),
            };
        }
        let name = of.rsplit("::").next().unwrap_or(of);
        if name == "FramePath" {
            return "list of text".to_owned();
        }
        let Some(found) = self.types.get(name) else {
            panic!("no type {name} in the source");
        };
        match &found.shape {
            Shape::Text => "text".to_owned(),
            Shape::Wraps(inner) => self.kind(&inner.clone()),
            Shape::Struct(_) | Shape::Enum(_) => {
                if self.known.insert(name.to_owned()) {
                    self.due.push(name.to_owned());
                }
                format!("[{name}](#{})", name.to_lowercase())
            }
        }
    }

    fn section(&mut self, name: &str) -> String {
        let found = self.types[name].clone();
        let mut text = format!("{}\n", sentence(&found.docs));
        match &found.shape {
            Shape::Struct(fields) => text.push_str(&self.table(fields, false)),
            Shape::Enum(variants) => {
                text.push_str("\n| value | |\n|---|---|\n");
                for variant in variants {
                    let docs = sentence(&variant.docs).replace('|', "\\|");
                    let value = self.value(variant, &found.rename_all);
                    let _ = writeln!(text, "| {value} | {docs} |");
                }
            }
            Shape::Text | Shape::Wraps(_) => {}
        }
        text
    }

    fn value(&mut self, variant: &Variant, rename_all: &str) -> String {
        let word = cased(&variant.name, rename_all);
        match &variant.of {
            Some(of) => format!("`{{\"{word}\": …}}` with {}", self.kind(of)),
            None if variant.fields.is_empty() => format!("`\"{word}\"`"),
            None => {
                let parts: Vec<String> = variant
                    .fields
                    .iter()
                    .map(|field| format!("`{}` ({})", field.name, self.kind(&field.of)))
                    .collect();
                format!("`{{\"{word}\": …}}` with {}", parts.join(", "))
            }
        }
    }
}

fn cased(name: &str, rename_all: &str) -> String {
    match rename_all {
        "lowercase" => name.to_lowercase(),
        "snake_case" => {
            let mut text = String::new();
            for letter in name.chars() {
                if letter.is_uppercase() && !text.is_empty() {
                    text.push('_');
                }
                text.extend(letter.to_lowercase());
            }
            text
        }
        _ => name.to_owned(),
    }
}
