//! Parses text as a tree of values, independent of any format.

mod bounds;
mod json;
mod yaml;

use serde_json::Value;

use crate::{
    diagnostic::Report,
    node::{Kind, Node},
    source::{Files, Span},
};

/// Why a text could not be parsed.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// Whether the parser of the syntax gave up, rather than an additional rule.
    by_parser: bool,
}

/// How unquoted scalars are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalars {
    /// Numbers, booleans and null, by the core schema.
    Typed,
    /// The text as written; a type is applied where a key has one.
    AsWritten,
}

impl SyntaxError {
    fn new(at: std::ops::Range<usize>, message: impl Into<String>) -> Self {
        Self {
            start: at.start,
            end: at.end,
            code: "syntax",
            message: message.into(),
            help: None,
            by_parser: false,
        }
    }

    const fn by_parser(mut self) -> Self {
        self.by_parser = true;
        self
    }

    fn code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }
}

/// Parses a file: as JSON if its name says so, otherwise as YAML.
///
/// Only the first syntax error is reported.
pub(crate) fn parse(files: &Files, file: usize, report: &mut Report) -> Option<Node> {
    let (name, text) = files.name_and_text(file);
    let read = bounds::check(text, Scalars::Typed).and_then(|()| {
        if is_json(name) {
            json::parse(text, file)
        } else {
            yaml::parse(text, file)
        }
    });
    read.map_err(|error| add(error, file, report)).ok()
}

/// Parses a file with every scalar as the text as written.
pub(crate) fn parse_as_written(files: &Files, file: usize, report: &mut Report) -> Option<Node> {
    let (name, text) = files.name_and_text(file);
    let read = bounds::check(text, Scalars::AsWritten).and_then(|()| {
        if is_json(name) {
            let mut node = json::parse(text, file)?;
            let max = Scalars::AsWritten.values_max();
            if node.count() > max {
                return Err(bounds::too_many(node.span.start, max));
            }
            node.keep_as_written(text);
            Ok((node, Vec::new()))
        } else {
            yaml::parse_as_written(text, file)
        }
    });
    let (node, paths) = read.map_err(|error| add(error, file, report)).ok()?;
    for at in paths {
        let path = text.get(at.clone()).unwrap_or("@/");
        report
            .warning(
                Span::new(file, at.start, at.end),
                "unquoted_path",
                format!("`{path}` begins with `@`, which YAML reserves"),
            )
            .help(format!("put it in quotes: \"{path}\""));
    }
    Some(node)
}

/// Parses an unquoted scalar by the core schema, where types matter.
pub(crate) fn typed(text: &str) -> Node {
    let kind = yaml::scalar::read(text.into(), true);
    Node {
        span: Span::new(0, 0, 0),
        kind: kind.unwrap_or_else(|_| Kind::Text(text.to_owned())),
    }
}

/// Returns a value with the types of YAML's core schema, where keys have no types of their own.
pub(crate) fn typed_value(node: &Node) -> Value {
    match &node.kind {
        Kind::Plain(text) => typed(text).to_value(),
        Kind::List(items) => items.iter().map(typed_value).collect(),
        Kind::Map(entries) => Value::Object(
            entries
                .iter()
                .map(|entry| (entry.key.clone(), typed_value(&entry.value)))
                .collect(),
        ),
        _ => node.to_value(),
    }
}

pub(crate) fn is_json(name: &str) -> bool {
    name.rsplit('.')
        .next()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"))
}

fn add(error: SyntaxError, file: usize, report: &mut Report) {
    let span = Span::new(file, error.start, error.end);
    let problem = report.error(span, error.code, error.message);
    problem.help = error.help;
}
