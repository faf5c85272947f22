//! Problems of a file, with their severity.

use interlock_expr::{
    expression::{self, Expression},
    template::Template,
};

use super::syntax::Named;
use crate::{
    diagnostic::{Problem, Report},
    node::{Kind, Node},
    source::{Files, Span},
    table::clause,
};

/// Collects problems while a file is read.
#[derive(Debug)]
pub(super) struct Notes<'r> {
    pub(super) report: &'r mut Report,
    pub(super) files: &'r Files,
    /// Whether ambiguities are errors.
    pub(super) strict: bool,
}

impl Notes<'_> {
    /// Adds a problem that is an error in strict files.
    pub(super) fn doubt(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Problem {
        if self.strict {
            self.report.error(span, code, message)
        } else {
            self.report.warning(span, code, message)
        }
    }

    pub(super) fn wrong_type(&mut self, what: &str, wanted: &str, node: &Node) {
        let what = if what.contains(' ') {
            what.to_owned()
        } else {
            format!("`{what}`")
        };
        let problem = self.report.error(
            node.span,
            "wrong_type",
            format!("{what} must be {wanted}, not {}", describe(node)),
        );
        match (&node.kind, node.text()) {
            (_, Some("None" | "none" | "NULL")) => {
                problem.help("write `null`, or leave the key out");
            }
            (_, Some(text)) if what == "`next`" => {
                problem.help(format!("write `next: {{state_id: {}}}`", shown(text)));
            }
            (Kind::List(_) | Kind::Map(_), _) if wanted == "text" => {
                problem.help("quote it, or write it as a block below `|`");
            }
            _ => {}
        }
    }

    pub(super) fn missing(&mut self, what: &str, name: &str, doc: &str, span: Span) {
        self.report
            .error(
                Span {
                    end: span.start + 1,
                    ..span
                },
                "missing_key",
                format!("`{name}` is missing in {what}"),
            )
            .help(format!("add `{name}`: {}", clause(doc)));
    }

    /// Parses an expression; an error is reported at its column.
    pub(super) fn expression(&mut self, text: &Named) -> Option<Expression> {
        match expression::parse(&text.text) {
            Ok(read) => Some(read),
            Err(mistake) => {
                let at = self.within(text.span, &text.text, mistake.at, mistake.length.max(1));
                self.report
                    .error(at, "expression", mistake.message)
                    .help(mistake.help);
                None
            }
        }
    }

    /// Parses a template; a block that cannot be parsed is reported at its position.
    pub(super) fn template(&mut self, text: &Named) {
        for fault in Template::new(text.text.as_str()).faults() {
            let at = self.within(text.span, &text.text, fault.at, fault.length);
            let block = text.text.get(fault.at..fault.at + fault.length);
            let block = shown(block.unwrap_or_default());
            self.doubt(
                at,
                "template",
                format!("the block `{block}` cannot be read: {}", fault.reason),
            )
            .help("correct it, or put it between `{% raw %}` and `{% endraw %}`");
        }
    }

    /// Returns the position in the file of the byte `at` of a scalar's decoded text.
    ///
    /// Written and decoded text differ in blanks, and otherwise only in escapes; with escapes, the whole scalar is returned.
    pub(super) fn within(&self, span: Span, text: &str, at: usize, length: usize) -> Span {
        let (_, file) = self.files.name_and_text(span.file);
        let written = file.get(span.start..span.end).unwrap_or_default();
        let start = match written.find(text) {
            Some(start) => Some(start + at),
            None => aligned(written, text, at),
        };
        start.map_or(span, |start| {
            let start = span.start + start;
            Span::new(span.file, start, (start + length).min(span.end.max(start)))
        })
    }
}

/// Finds the position in `written` of the byte `at` of `text`, by the non-blank characters before it.
fn aligned(written: &str, text: &str, at: usize) -> Option<usize> {
    // The header of a block (`|-`, `>2`) is not part of its text.
    let head = match written.chars().next()? {
        '|' | '>' => written.find('\n')?,
        _ => usize::from(written.starts_with(['"', '\''])),
    };
    let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let before = solid(text.get(..at)?);
    let mut body = written
        .get(head..)?
        .char_indices()
        .filter(|(_, c)| !c.is_whitespace());
    let wanted: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    for expected in wanted.iter().take(before) {
        if body.next()?.1 != *expected {
            return None;
        }
    }
    body.next().map(|(start, _)| head + start)
}

/// Describes a value, with its text if that is short.
pub(super) fn describe(node: &Node) -> String {
    match &node.kind {
        Kind::Map(_) => "a map".to_owned(),
        _ => node.describe(),
    }
}

/// Shortens a text for a message, on one line.
pub(super) fn shown(text: &str) -> String {
    let plain = |letter: char| {
        let escaped = letter.is_control().then(|| letter.escape_debug());
        let kept = (!letter.is_control()).then_some(letter);
        escaped.into_iter().flatten().chain(kept)
    };
    let mut line: String = text.chars().take(60).flat_map(plain).collect();
    if text.chars().nth(60).is_some() {
        line.push('…');
    }
    line
}
