//! The outline of a workflow's text for a form: its states in order with their places, and the other fields.

use std::collections::BTreeMap;

use interlock_formats::{Node, Source, Tree};
use serde::Serialize;
use serde_json::{Map, Value};

/// The outline of one workflow in a file.
#[derive(Debug, Serialize)]
pub(crate) struct Outline {
    format: &'static str,
    /// JSON Pointer to the definition; empty if it is the whole file.
    base: String,
    states: Vec<StateRow>,
    /// The definition without its states.
    rest: Map<String, Value>,
    /// Byte offsets of the other fields, by key; of guards and interrupts by `guards/NAME`.
    places: BTreeMap<String, usize>,
    /// The names below the workflow's `machines`.
    machines: Vec<String>,
}

/// A state as written in the file.
#[derive(Debug, Serialize)]
struct StateRow {
    name: String,
    /// JSON Pointer to the state.
    at: String,
    /// The range of bytes of the state, starting with its key.
    span: (usize, usize),
    value: Value,
    /// Byte offsets of its fields, by key; of transitions by `on/EVENT`.
    places: BTreeMap<String, usize>,
}

impl Outline {
    /// Reads the outline of a workflow in a file, or of one of the machines below its `machines`.
    ///
    /// Returns `None` if the syntax is broken, or if it is not clear which workflow is meant.
    pub(crate) fn of(source: &Source, machine: Option<&str>, inner: Option<&str>) -> Option<Self> {
        let tree = Tree::read(source).ok()?;
        let mut base = match tree.format {
            "native" => {
                let mut found = tree
                    .definitions()
                    .into_iter()
                    .filter(|(name, _)| machine.is_none() || name.as_deref() == machine);
                let (_, base) = found.next()?;
                found.next().is_none().then_some(base)?
            }
            _ => Vec::new(),
        };
        let key = if tree.format == "pipeline" {
            "stages"
        } else {
            "states"
        };
        let mut definition = &tree.root;
        for word in &base {
            definition = &definition.get(word)?.value;
        }
        let machines = match (tree.format, definition.get("machines")) {
            ("native", Some(machines)) => keys(&machines.value),
            _ => Vec::new(),
        };
        // If the machine no longer exists, the workflow itself is shown.
        if let Some(inner) = inner.filter(|inner| machines.iter().any(|name| name == inner)) {
            definition = &definition.get("machines")?.value.get(inner)?.value;
            base.extend(["machines".to_owned(), inner.to_owned()]);
        }
        let base = pointer("", base.iter().map(String::as_str));
        let states = definition.get(key).map(|entry| &entry.value);
        let rest = definition
            .entries()
            .iter()
            .filter(|entry| entry.key != key)
            .map(|entry| (entry.key.clone(), entry.value.to_value()));
        Some(Self {
            format: tree.format,
            states: states.map_or_else(Vec::new, |states| rows(states, &pointer(&base, [key]))),
            rest: rest.collect(),
            places: places(definition, &["guards", "interrupts"]),
            machines,
            base,
        })
    }
}

/// Returns the states below `at`: entries of a map, or items with an `id`.
fn rows(states: &Node, at: &str) -> Vec<StateRow> {
    let keyed = states.entries().iter().map(|entry| StateRow {
        name: entry.key.clone(),
        at: pointer(at, [entry.key.as_str()]),
        span: (
            entry.key_span.start,
            entry.value.span.end.max(entry.key_span.end),
        ),
        value: entry.value.to_value(),
        places: places(&entry.value, &["on"]),
    });
    let listed = states
        .items()
        .iter()
        .enumerate()
        .filter_map(|(index, item)| {
            Some(StateRow {
                name: item.get("id")?.value.text()?.to_owned(),
                at: pointer(at, [index.to_string().as_str()]),
                span: (item.span.start, item.span.end),
                value: item.to_value(),
                places: places(item, &[]),
            })
        });
    keyed.chain(listed).collect()
}

/// Returns the byte offsets of the fields, and of the entries below those in `opened`.
fn places(fields: &Node, opened: &[&str]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for entry in fields.entries() {
        found.insert(entry.key.clone(), entry.key_span.start);
        if opened.contains(&entry.key.as_str()) {
            found.extend(entry.value.entries().iter().map(|inner| {
                let place = pointer(&entry.key, [inner.key.as_str()]);
                (place, inner.key_span.start)
            }));
        }
    }
    found
}

fn keys(node: &Node) -> Vec<String> {
    let entries = node.entries().iter();
    entries.map(|entry| entry.key.clone()).collect()
}

fn pointer<'w>(base: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    let mut pointer = base.to_owned();
    for word in words {
        pointer.push('/');
        pointer.push_str(&word.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_workflows_in_a_file_one_has_to_be_named() {
        let text = "
workflows:
  one: {initial: a, states: {a: {type: final}}}
  two: {initial: b, states: {b: {type: final}}}
upstream_servers: []
";
        let source = Source::new("w.yaml", text);
        for (machine, is_clear) in [(None, false), (Some("two"), true), (Some("three"), false)] {
            let outline = Outline::of(&source, machine, None);
            assert_eq!(outline.is_some(), is_clear, "{machine:?}");
        }
        let text = "{id: one, initial: a, states: {a: {type: final}}}";
        assert!(Outline::of(&Source::new("w.yaml", text), None, None).is_some());
    }
}
