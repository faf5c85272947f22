//! Text to a tree of values. Knows no format.

mod bounds;
mod json;
mod yaml;

use crate::{
    diagnostic::Report,
    node::Node,
    source::{Files, Span},
};

/// Why a text could not be read.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl SyntaxError {
    fn new(at: std::ops::Range<usize>, message: impl Into<String>) -> Self {
        Self {
            start: at.start,
            end: at.end,
            code: "syntax",
            message: message.into(),
            help: None,
        }
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

/// Reads a file: as JSON when its name says so, else as YAML.
///
/// A mistake of syntax is reported, the first one only.
pub(crate) fn parse(files: &Files, file: usize, report: &mut Report) -> Option<Node> {
    let (name, text) = files.name_and_text(file);
    let is_json = name
        .rsplit('.')
        .next()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let read = bounds::check(text).and_then(|()| {
        if is_json {
            json::parse(text, file)
        } else {
            yaml::parse(text, file)
        }
    });
    match read {
        Ok(node) => Some(node),
        Err(error) => {
            let problem = report.error(
                Span::new(file, error.start, error.end),
                error.code,
                error.message,
            );
            problem.help = error.help;
            None
        }
    }
}
