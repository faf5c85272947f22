//! Errors, warnings and notes about a workflow file, each with its position.

use std::ops::Range;

use interlock_validate::Severity;
use serde::Serialize;

use crate::source::{Files, Source, Span};

/// An error, a warning or a note, with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Stable code.
    pub code: &'static str,
    /// What is wrong, with the user's words.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Location in the workflow as a JSON Pointer; `None` if it is in no value of it, or was not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The name of the file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1 in characters.
    pub column: usize,
    /// Byte range in the file.
    pub span: Range<usize>,
    /// The line itself, or the part of a very long one around the position.
    pub excerpt: String,
    /// Byte range in the excerpt.
    #[serde(skip)]
    pub(crate) marked: Range<usize>,
    /// Whether the excerpt is only a part of its line.
    #[serde(skip)]
    pub(crate) is_cut: bool,
}

impl Diagnostic {
    /// Creates an error about a part of a text, for additional checks.
    #[must_use]
    pub fn error(source: &Source, span: Range<usize>, code: &'static str, message: String) -> Self {
        let mut files = Files::default();
        let file = files.add(source.clone());
        let problem = Problem {
            severity: Severity::Error,
            code,
            message,
            help: None,
            span: Span::new(file, span.start, span.end),
        };
        problem.place(&files)
    }
}

/// Maximum number of bytes of a line shown before and after the position.
const EXCERPT_MAX: usize = 400;

/// Collects problems while a workflow is read.
#[derive(Debug, Default, Clone)]
pub(crate) struct Report {
    problems: Vec<Problem>,
}

/// A problem that is not assigned to a line yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) span: Span,
}

impl Report {
    /// Adds an error.
    pub(crate) fn error(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.add(Severity::Error, span, code, message.into())
    }

    /// Adds a warning.
    pub(crate) fn warning(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.add(Severity::Warning, span, code, message.into())
    }

    /// Adds a note.
    pub(crate) fn note(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.add(Severity::Note, span, code, message.into())
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the problem was pushed in the line before"
    )]
    fn add(
        &mut self,
        severity: Severity,
        span: Span,
        code: &'static str,
        message: String,
    ) -> &mut Problem {
        let index = self.problems.len();
        self.problems.push(Problem {
            severity,
            code,
            message,
            help: None,
            span,
        });
        &mut self.problems[index]
    }

    /// Returns the number of problems so far.
    pub(crate) const fn count(&self) -> usize {
        self.problems.len()
    }

    /// Returns whether there are errors.
    pub(crate) fn has_errors(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    /// Assigns problems to lines, sorted by position, without duplicates.
    pub(crate) fn into_diagnostics(mut self, files: &Files) -> Vec<Diagnostic> {
        self.problems.sort_by(|a, b| a.rank().cmp(&b.rank()));
        self.problems.dedup();
        self.problems
            .into_iter()
            .map(|problem| problem.place(files))
            .collect()
    }
}

impl Problem {
    /// Sort key: position, then severity; equal problems become adjacent.
    fn rank(&self) -> (usize, usize, Severity, usize, &str, &str) {
        let Span { file, start, end } = self.span;
        (file, start, self.severity, end, self.code, &self.message)
    }

    /// Adds advice.
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        self.help = Some(help.into());
    }

    fn place(self, files: &Files) -> Diagnostic {
        let span = self.span.start..self.span.end.max(self.span.start);
        let line = files.line(self.span);
        let whole = line.map_or("", |line| line.text);
        let start = line.map_or(0, |line| line.before);
        let end = start.saturating_add(span.len()).min(whole.len()).max(start);
        let (excerpt, marked) = cut(whole, start..end);
        Diagnostic {
            severity: self.severity,
            code: self.code,
            message: self.message,
            help: self.help,
            path: None,
            file: line.map_or_else(String::new, |line| line.file.to_owned()),
            line: line.map_or(1, |line| line.number),
            column: line.map_or(1, |line| line.column),
            span,
            is_cut: excerpt.len() < whole.len(),
            excerpt,
            marked,
        }
    }
}

/// Cuts a very long line to what is around `marked`.
fn cut(line: &str, marked: Range<usize>) -> (String, Range<usize>) {
    let begin = floor(line, marked.start.saturating_sub(EXCERPT_MAX));
    let stop = floor(line, marked.start.saturating_add(EXCERPT_MAX));
    let text = line.get(begin..stop).unwrap_or_default().to_owned();
    let end = floor(line, marked.end.min(stop)).max(marked.start);
    (text, marked.start - begin..end - begin)
}

/// Returns the last character boundary not after `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}
