//! Why an edit is refused.

use interlock_formats::{Diagnostic, Source, Span};

/// Why an edit is refused, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of the refusal.
    pub why: Why,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The bytes of the text that it concerns.
    pub at: Option<std::ops::Range<usize>>,
    /// The index of the refused operation.
    pub operation: usize,
    /// The text after the operations before it.
    pub within: String,
}

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The file cannot be read.
    Unreadable,
    /// There is no such state, event, guard or place.
    Unknown,
    /// The name is taken.
    Taken,
    /// Something else depends on it.
    InUse,
    /// It means nothing here, such as a field of a list.
    Misplaced,
    /// The text cannot be changed there without changing anything else.
    Text,
    /// The machine would not be the expected one.
    Machine,
}

impl Why {
    /// Returns the code for programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Unknown => "unknown",
            Self::Taken => "taken",
            Self::InUse => "in_use",
            Self::Misplaced => "misplaced",
            Self::Text => "text",
            Self::Machine => "machine",
        }
    }
}

impl Refusal {
    /// Returns it with its place in the file `name`; `None` if it has no place.
    #[must_use]
    pub fn diagnostic(&self, name: &str) -> Option<Diagnostic> {
        let at = self.at.clone()?;
        let within = Source::new(name, self.within.clone());
        let mut found = Diagnostic::error(&within, at, self.why.code(), self.message.clone());
        found.help.clone_from(&self.help);
        Some(found)
    }

    pub(crate) fn new(why: Why, message: impl Into<String>) -> Self {
        Self {
            why,
            message: message.into(),
            help: None,
            at: None,
            operation: 0,
            within: String::new(),
        }
    }

    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(Why::Unknown, message)
    }

    pub(crate) fn misplaced(message: impl Into<String>) -> Self {
        Self::new(Why::Misplaced, message)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn at(mut self, span: Span) -> Self {
        self.at = Some(span.start..span.end);
        self
    }

    /// The file has to be repaired by hand first.
    pub(crate) fn unreadable(found: &[Diagnostic]) -> Self {
        let first = found.first();
        let said = first.map_or("the file cannot be read", |first| first.message.as_str());
        Self {
            at: first.map(|first| first.span.clone()),
            ..Self::new(Why::Unreadable, said)
        }
    }

    /// The mark of its format would be lost.
    pub(crate) fn no_longer(format: &str) -> Self {
        Self::misplaced(format!(
            "without it the file would be no {format} workflow any more"
        ))
    }

    /// What is written there cannot be changed on its own.
    pub(crate) fn text(text: &str, at: Option<Span>) -> Self {
        // An anchor is written before what it marks, often on the same line.
        let lines = at.and_then(|span| {
            let from = text.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
            text.get(from..span.end.max(span.start))
        });
        let shared = |lines: &str| {
            let marks = lines.match_indices(['&', '*']);
            marks.into_iter().any(|(at, _)| {
                let before = lines
                    .get(..at)
                    .and_then(|before| before.chars().next_back());
                let next = lines.get(at + 1..).and_then(|rest| rest.chars().next());
                before.is_none_or(|before| " [{,:\n".contains(before))
                    && next.is_some_and(char::is_alphanumeric)
            })
        };
        let merges = text
            .lines()
            .any(|line| line.trim_start().starts_with("<<:"));
        let aliased = lines.is_some_and(shared) || merges;
        let reason = if aliased {
            "it is shared by an anchor (`&`), an alias (`*`) or a merge key (`<<`)"
        } else {
            "the way it is written leaves no room for it"
        };
        let refusal = Self::new(
            Why::Text,
            format!("this cannot be changed without changing something else: {reason}"),
        )
        .help("edit the text there");
        match at {
            Some(span) => refusal.at(span),
            None => refusal,
        }
    }
}
