//! The parsed fields of one object, in any format.

use std::collections::BTreeMap;

use crate::node::{Entry, Kind, Node};

/// The entries of one object, by the names of its table.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    /// The object.
    pub(crate) node: &'n Node,
    found: BTreeMap<&'static str, &'n Entry>,
    /// Fields with invalid values.
    broken: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Creates the fields of an object without any entry yet.
    pub(crate) const fn of(node: &'n Node) -> Self {
        Self {
            node,
            found: BTreeMap::new(),
            broken: Vec::new(),
        }
    }

    /// Adds an entry by the name of its field; `fits` if its value has the right form.
    pub(crate) fn add(&mut self, name: &'static str, entry: &'n Entry, fits: bool) {
        if fits {
            self.found.insert(name, entry);
        } else {
            self.broken.push(name);
        }
    }

    /// Returns the entry of a field whose value has the right form.
    pub(crate) fn entry(&self, name: &str) -> Option<&'n Entry> {
        self.found.get(name).copied()
    }

    /// Returns the value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|entry| &entry.value)
    }

    /// Returns the text of a field.
    pub(crate) fn text(&self, name: &str) -> Option<&'n str> {
        self.get(name).and_then(Node::text)
    }

    /// Returns the text of a field as an owned string.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// Returns whether a field is true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|node| node.kind == Kind::Bool(true))
    }

    /// Returns the number of a counting field.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        match &self.get(name)?.kind {
            Kind::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns the items of a list of texts.
    pub(crate) fn names(&self, name: &str) -> Option<Vec<(&'n str, &'n Node)>> {
        let items = self.get(name)?.items();
        Some(
            items
                .iter()
                .filter_map(|item| Some((item.text()?, item)))
                .collect(),
        )
    }

    /// Returns whether the field was written, whatever its value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.found.contains_key(name) || self.is_broken(name)
    }

    /// Returns whether the field was written with an invalid value.
    pub(crate) fn is_broken(&self, name: &str) -> bool {
        self.broken.contains(&name)
    }
}
