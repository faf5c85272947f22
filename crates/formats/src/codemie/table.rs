//! Maps as tables of keys, which determine parsing, errors and the JSON Schema.

use interlock_expr::nearest::nearest;

use super::{
    keys::{DEAD, FOREIGN, SILENT, SUPERVISED, TABLES},
    notes::{Notes, shown},
    scalars,
};
use crate::{
    fit::truth,
    node::{Entry, Kind as NodeKind, Node},
    source::Span,
};

pub(super) use crate::table::Fields;

/// One kind of map and its keys.
#[derive(Debug)]
pub(super) struct Table {
    /// Name in messages, with its article.
    pub(super) name: &'static str,
    /// Name of its definition in the JSON Schema.
    pub(super) key: &'static str,
    pub(super) keys: &'static [Key],
}

/// One key of a map.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) standing: Standing,
    /// Description in one sentence.
    pub(super) doc: &'static str,
}

/// Whether a key is required, and whether it has any effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It may be left out.
    Optional,
    /// It must be there.
    Required,
    /// It is known from elsewhere, and has no effect here.
    Idle,
}

/// The kind of a key's value; its type is determined by this, not by the form of a scalar.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    Flag,
    /// A whole number between two bounds.
    Integer(u64, u64),
    /// A number between two bounds.
    Decimal(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    Texts,
    /// The same, or one text with an entry per line.
    Lines,
    /// A map of texts.
    TextMap,
    /// Any map.
    Map,
    Any,
    /// A JSON Schema: JSON as text, or a map.
    Schema,
    /// `false`, `true` or `keep_current`.
    Clear,
    One(&'static Table),
    List(&'static Table),
}

/// Values as CodeMie writes them: the types of scalars come from the keys.
impl<'n> Fields<'n> {
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).and_then(truth)
    }

    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        self.text(name)?.trim().parse().ok()
    }

    /// Returns the text of a decimal number.
    pub(super) fn decimal(&self, name: &str) -> Option<String> {
        self.text(name).map(|text| text.trim().to_owned())
    }

    /// Returns the items of a list of texts.
    pub(super) fn texts(&self, name: &str) -> Vec<(&'n str, Span)> {
        let items = self.names(name).unwrap_or_default().into_iter();
        items.map(|(text, item)| (text, item.span)).collect()
    }

    /// Returns the position of a key with a valid value.
    pub(super) fn key_span(&self, name: &str) -> Option<Span> {
        self.entry(name).map(|entry| entry.key_span)
    }
}

impl Table {
    pub(super) fn key_of(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Parses a map by this table, reporting everything that is wrong with it.
    ///
    /// `what` is the name of this map in messages.
    pub(super) fn read<'n>(
        &'static self,
        what: &str,
        node: &'n Node,
        notes: &mut Notes<'_>,
    ) -> Option<Fields<'n>> {
        if !matches!(node.kind, NodeKind::Map(_)) {
            notes.wrong_type(what, "a map", node);
            return None;
        }
        if let Some(entry) = self.supervised(node) {
            notes
                .report
                .error(
                    entry.key_span,
                    "supervised",
                    format!("a workflow that a model leads by its `{SUPERVISED}` is not carried out: that mode is deprecated"),
                )
                .help("write `states` that say who works when, and remove it");
            return None;
        }
        let mut fields = Fields::of(node);
        for entry in node.entries() {
            match self.key_of(&entry.key) {
                Some(key) => take(&mut fields, key, entry, notes),
                None => self.unknown(what, entry, notes),
            }
        }
        for key in self.keys {
            if key.standing == Standing::Required && !fields.has(key.name) {
                notes.missing(what, key.name, key.doc, node.span);
            }
        }
        Some(fields)
    }

    /// Finds the key that makes a model control the workflow, which is not supported.
    fn supervised<'n>(&self, node: &'n Node) -> Option<&'n Entry> {
        let leads = matches!(self.key, "package" | "workflow");
        let mut entries = node.entries().iter();
        entries.find(|entry| leads && entry.key == SUPERVISED)
    }

    /// Returns what to write instead of a key without effect; `None` for other keys.
    fn instead_of_dead(&self, name: &str) -> Option<String> {
        let foreign = FOREIGN
            .iter()
            .find(|(table, key, _)| *table == self.key && *key == name);
        if let Some((.., help)) = foreign {
            return Some((*help).to_owned());
        }
        let in_case = (name == "iter_key" && self.key == "case").then_some(&None);
        let dead = DEAD.iter().find(|(dead, _)| *dead == name);
        Some(match dead.map(|(_, right)| right).or(in_case)? {
            Some(right) => format!("write `{right}`"),
            None => "remove it".to_owned(),
        })
    }

    fn unknown(&'static self, what: &str, entry: &Entry, notes: &mut Notes<'_>) {
        let name = entry.key.as_str();
        if SILENT.contains(&name) {
            return;
        }
        if let Some(help) = self.instead_of_dead(name) {
            notes
                .doubt(
                    entry.key_span,
                    "dead_key",
                    format!("`{name}` in {what} has no effect"),
                )
                .help(help);
            return;
        }
        let shown = shown(name);
        // A key written at the top of a workflow most likely belongs around it.
        let around = TABLES
            .iter()
            .filter(|table| self.key == "workflow" && table.key == "package");
        let owner = around
            .chain(TABLES)
            .find(|table| table.key != self.key && table.key_of(name).is_some());
        if let Some(owner) = owner {
            notes
                .report
                .error(
                    entry.key_span,
                    "misplaced_key",
                    format!("`{shown}` does not belong in {what}"),
                )
                .help(match owner.key {
                    "package" => format!(
                        "it stands beside `execution_config`, which holds {}",
                        self.name
                    ),
                    _ => format!("it is a key of {}", owner.name),
                });
            return;
        }
        let near = nearest(name, self.keys.iter().map(|key| key.name));
        let guess = near
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_default();
        let known: Vec<String> = self
            .keys
            .iter()
            .filter(|key| key.standing != Standing::Idle)
            .map(|key| format!("`{}`", key.name))
            .collect();
        notes
            .report
            .error(
                entry.key_span,
                "unknown_key",
                format!("unknown key `{shown}` in {what}{guess}"),
            )
            .help(match near {
                Some(near) => format!("write `{near}`, or remove it"),
                None => format!("known are {}", known.join(", ")),
            });
    }
}

fn take<'n>(fields: &mut Fields<'n>, key: &'static Key, entry: &'n Entry, notes: &mut Notes<'_>) {
    if key.standing == Standing::Idle {
        notes.report.note(
            entry.key_span,
            "idle_key",
            format!("`{}` has no effect here", key.name),
        );
        return;
    }
    // An empty value counts as missing: the default applies.
    if entry.value.kind == NodeKind::Null {
        return;
    }
    let fits = scalars::check(key.kind, key.name, &entry.value, notes);
    fields.add(key.name, entry, fits);
}
