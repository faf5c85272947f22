//! Objects as tables of fields, which determine parsing, errors and the schema.

mod fields;
mod shape;

use interlock_expr::nearest::nearest;

use crate::{
    diagnostic::Report,
    node::{Entry, Kind, Node},
};

pub(crate) use fields::Fields;
pub(crate) use shape::{Shape, alternatives, milliseconds};

/// One kind of object and its fields.
#[derive(Debug)]
pub(crate) struct Table {
    /// Name in messages, with its article.
    pub(crate) name: &'static str,
    /// Name of its definition in the JSON Schema.
    pub(crate) key: &'static str,
    /// Description in one sentence.
    pub(crate) doc: &'static str,
    pub(crate) fields: &'static [Field],
    /// Whether unknown fields are allowed.
    pub(crate) open: bool,
    /// Requirements of the schema beyond single fields.
    pub(crate) choice: Choice,
}

/// Requirements of the schema for an object beyond its single fields.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// Nothing.
    Free,
    /// Exactly one of these fields, with those that it requires.
    OneOf(&'static [&'static [&'static str]]),
}

/// One field of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Other spellings; two of them at once are an error.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) required: bool,
    pub(crate) shape: Shape,
    /// Description in one sentence.
    pub(crate) doc: &'static str,
}

impl Table {
    /// Parses `node` as an object of this table, reporting everything that is wrong with it.
    pub(crate) fn read<'n>(&self, node: &'n Node, report: &mut Report) -> Option<Fields<'n>> {
        if !matches!(node.kind, Kind::Map(_)) {
            report.error(
                node.span,
                "wrong_type",
                format!("{} is an object, not {}", self.name, node.describe()),
            );
            return None;
        }
        let mut fields = Fields::of(node);
        let mut unknown = Vec::new();
        for entry in node.entries() {
            match self.field(&entry.key) {
                Some(field) => self.take(&mut fields, field, entry, report),
                None if self.open => {}
                None => unknown.push(entry),
            }
        }
        for entry in unknown {
            self.guess(&mut fields, entry, report);
        }
        self.demand(&fields, report);
        Some(fields)
    }

    fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields
            .iter()
            .find(|field| field.name == name || field.aliases.contains(&name))
    }

    fn take<'n>(
        &self,
        fields: &mut Fields<'n>,
        field: &'static Field,
        entry: &'n Entry,
        report: &mut Report,
    ) {
        if let Some(first) = fields.entry(field.name) {
            let message = format!(
                "`{}` and `{}` are two spellings of one field",
                first.key, entry.key
            );
            report
                .error(entry.key_span, "two_spellings", message)
                .help("keep one of the two");
            return;
        }
        let fits = field.shape.check(&entry.key, &entry.value, report);
        for name in std::iter::once(field.name).chain(field.aliases.iter().copied()) {
            fields.add(name, entry, fits);
        }
    }

    /// Reports an unknown field and treats it as the one that was likely meant.
    fn guess<'n>(&self, fields: &mut Fields<'n>, entry: &'n Entry, report: &mut Report) {
        let known = self
            .fields
            .iter()
            .flat_map(|field| std::iter::once(field.name).chain(field.aliases.iter().copied()));
        let near = nearest(&entry.key, known).and_then(|name| Some((name, self.field(name)?)));
        let Some((name, field)) = near else {
            let known: Vec<String> = self
                .fields
                .iter()
                .map(|field| format!("`{}`", field.name))
                .collect();
            report
                .error(
                    entry.key_span,
                    "unknown_field",
                    format!("unknown field `{}` in {}", entry.key, self.name),
                )
                .help(format!("it has {}", known.join(", ")));
            return;
        };
        report
            .error(
                entry.key_span,
                "unknown_field",
                format!("unknown field `{}`: did you mean `{name}`?", entry.key),
            )
            .help(format!("write `{name}`, or remove it"));
        // Continue as if it were right, so that one typo does not cause more errors.
        if !fields.has(field.name) {
            self.take(fields, field, entry, report);
        }
    }

    fn demand(&self, fields: &Fields<'_>, report: &mut Report) {
        for field in self
            .fields
            .iter()
            .filter(|field| field.required && !fields.has(field.name))
        {
            report
                .error(
                    fields.node.span,
                    "missing_field",
                    format!("`{}` is missing in {}", field.name, self.name),
                )
                .help(format!("add `{}`: {}", field.name, clause(field.doc)));
        }
    }
}

/// Turns a sentence into a clause.
pub(crate) fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    letters
        .next()
        .map(|first| first.to_lowercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Creates an optional field.
pub(crate) const fn field(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field {
        name,
        aliases: &[],
        required: false,
        shape,
        doc,
    }
}

/// Creates a required field.
pub(crate) const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field {
        name,
        aliases: &[],
        required: true,
        shape,
        doc,
    }
}

/// Creates a field with a second spelling.
pub(crate) const fn aliased(
    name: &'static str,
    aliases: &'static [&'static str],
    shape: Shape,
    doc: &'static str,
) -> Field {
    Field {
        name,
        aliases,
        required: false,
        shape,
        doc,
    }
}

/// Concatenates two lists of fields.
pub(crate) const fn joined<const A: usize, const B: usize, const ALL: usize>(
    first: [Field; A],
    second: [Field; B],
) -> [Field; ALL] {
    assert!(A + B == ALL, "as many fields as both have");
    let mut all = [PLACEHOLDER; ALL];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "computed when it is compiled")]
    while at < ALL {
        all[at] = if at < A { first[at] } else { second[at - A] };
        at += 1;
    }
    all
}

const PLACEHOLDER: Field = field("", Shape::Any, "");
