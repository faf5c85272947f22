//! Reads types from the engine's source: names, docs, fields, and the form in which serde writes them.

use std::{collections::BTreeMap, fs, path::Path};

/// A type of the source.
#[derive(Debug, Clone, Default)]
pub(crate) struct Type {
    pub(crate) docs: String,
    pub(crate) shape: Shape,
    /// How serde renames its variants, such as `snake_case` or `lowercase`; empty if it does not.
    pub(crate) rename_all: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) enum Shape {
    Struct(Vec<Field>),
    /// A newtype, with the type that it wraps.
    Wraps(String),
    Enum(Vec<Variant>),
    #[default]
    Text,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) docs: String,
    pub(crate) fields: Vec<Field>,
    /// The type that it wraps, if any.
    pub(crate) of: Option<String>,
    /// The name that serde writes, if it is not derived from the variant's.
    pub(crate) renamed: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) docs: String,
    pub(crate) of: String,
    /// Condition on which serde leaves the field out; empty if it never does.
    pub(crate) left_out: String,
}

/// Docs and attributes before an item.
#[derive(Debug, Default)]
struct Before {
    docs: String,
    attributes: String,
}

impl Before {
    /// Takes a line of docs or attributes; returns `false` for any other line.
    fn take(&mut self, line: &str, rest: &mut dyn Iterator<Item = &str>) -> bool {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            let text = text.trim();
            // An empty line ends the first paragraph.
            if text.is_empty() && !self.docs.is_empty() {
                self.docs.push('\n');
            } else if !self.docs.ends_with('\n') {
                let blank = if self.docs.is_empty() { "" } else { " " };
                self.docs.push_str(blank);
                self.docs.push_str(text);
            }
            return true;
        }
        if line.starts_with("#[") {
            self.attributes.push_str(line);
            let mut last = line.to_owned();
            while !last.ends_with(")]") && !last.ends_with(']') {
                last = rest.next().unwrap_or(")]").trim().to_owned();
                self.attributes.push_str(&last);
            }
            return true;
        }
        false
    }

    fn docs(&self) -> String {
        self.docs.trim().to_owned()
    }

    /// Returns the text of `key = "text"` in the attributes.
    fn attribute(&self, key: &str) -> String {
        let found = self.attributes.split_once(&format!("{key} = \""));
        let text = found.and_then(|(_, rest)| rest.split_once('"'));
        text.map(|(text, _)| text.to_owned()).unwrap_or_default()
    }
}

/// Reads all types below a folder of source files.
pub(crate) fn read(folder: &Path) -> BTreeMap<String, Type> {
    let mut types = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                of_text(&fs::read_to_string(path).unwrap(), &mut types);
            }
        }
    }
    types
}

/// Reads all types of a source text, private ones too.
pub(crate) fn of_text(text: &str, types: &mut BTreeMap<String, Type>) {
    let mut lines = text.lines();
    let mut before = Before::default();
    while let Some(line) = lines.next() {
        // The names of a macro's list.
        if line == "names! {" || line == "codes! {" {
            of_macro(line, &mut lines, types);
        }
        if before.take(line, &mut lines) {
            continue;
        }
        let mut found = Type {
            docs: before.docs(),
            rename_all: before.attribute("rename_all"),
            ..Type::default()
        };
        before = Before::default();
        let line = line.strip_prefix("pub ").unwrap_or(line);
        if let Some(name) = line
            .strip_prefix("enum ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            found.shape = Shape::Enum(variants(&mut lines));
            types.insert(name.to_owned(), found);
        } else if let Some(rest) = line.strip_prefix("struct ") {
            if let Some(name) = rest.strip_suffix(" {") {
                found.shape = Shape::Struct(fields("    ", &mut lines));
                types.insert(name.to_owned(), found);
            } else if let Some((name, of)) = rest
                .strip_suffix(");")
                .and_then(|rest| rest.split_once('('))
            {
                let of = of
                    .trim_start_matches("pub(crate) ")
                    .trim_start_matches("pub ");
                found.shape = Shape::Wraps(of.to_owned());
                types.insert(name.to_owned(), found);
            }
        }
    }
}

fn of_macro(kind: &str, lines: &mut dyn Iterator<Item = &str>, types: &mut BTreeMap<String, Type>) {
    let mut before = Before::default();
    let mut codes = Vec::new();
    while let Some(line) = lines.next() {
        if line == "}" {
            break;
        }
        if before.take(line, lines) {
            continue;
        }
        let docs = before.docs();
        before = Before::default();
        if kind == "codes! {" {
            let (_, word) = line.split_once(" = ").unwrap();
            codes.push(Variant {
                name: word.trim_matches('"').to_owned(),
                docs,
                ..Variant::default()
            });
        } else {
            let shape = Shape::Text;
            types.insert(
                line.trim().to_owned(),
                Type {
                    docs,
                    shape,
                    ..Type::default()
                },
            );
        }
    }
    if !codes.is_empty() {
        let found = Type {
            docs: "The stable words for why something was refused.".to_owned(),
            shape: Shape::Enum(codes),
            ..Type::default()
        };
        types.insert("Code".to_owned(), found);
    }
}

fn variants(lines: &mut dyn Iterator<Item = &str>) -> Vec<Variant> {
    let mut found = Vec::new();
    let mut before = Before::default();
    while let Some(line) = lines.next() {
        if line == "}" {
            break;
        }
        if before.take(line, lines) {
            continue;
        }
        let mut variant = Variant {
            docs: before.docs(),
            renamed: before.attribute("rename"),
            ..Variant::default()
        };
        before = Before::default();
        let line = line.trim().trim_end_matches(',');
        if let Some(name) = line.strip_suffix(" {") {
            variant.name = name.to_owned();
            variant.fields = fields("        ", lines);
        } else if let Some((name, of)) =
            line.strip_suffix(')').and_then(|line| line.split_once('('))
        {
            variant.name = name.to_owned();
            variant.of = Some(of.to_owned());
        } else {
            variant.name = line.to_owned();
        }
        if !variant.name.is_empty() && !variant.name.starts_with("//") {
            found.push(variant);
        }
    }
    found
}

/// Reads fields up to the closing brace.
fn fields(indent: &str, lines: &mut dyn Iterator<Item = &str>) -> Vec<Field> {
    let mut found = Vec::new();
    let mut before = Before::default();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with('}') && !line.starts_with(indent) {
            break;
        }
        if before.take(line, lines) {
            continue;
        }
        let mut whole = line.trim().to_owned();
        while !whole.ends_with(',') && !whole.is_empty() {
            let Some(next) = lines.next() else { break };
            whole.push_str(next.trim());
        }
        let written = whole.trim_end_matches(',').trim_start_matches("pub ");
        let written = written.trim_start_matches("pub(crate) ");
        if let Some((name, of)) = written.split_once(": ") {
            let renamed = before.attribute("rename");
            found.push(Field {
                name: if renamed.is_empty() {
                    name.to_owned()
                } else {
                    renamed
                },
                docs: before.docs(),
                of: of.to_owned(),
                left_out: if before.attributes.contains("#[serde(skip)]") {
                    "always".to_owned()
                } else {
                    before.attribute("skip_serializing_if")
                },
            });
        }
        before = Before::default();
    }
    found
}
