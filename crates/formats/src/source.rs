//! Texts of workflow files, and positions in them.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

/// A workflow file: its text, and its name in messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The name shown in messages; a name that ends in `.json` is read as JSON.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// Creates a source.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }
}

/// Finds the workflows that others invoke by id.
///
/// The caller searches the project's `.interlock/workflows/`, then the user's own.
pub trait Workflows {
    /// Returns the workflow with this id; `None` if there is none.
    ///
    /// An error says why an existing file cannot be read.
    fn find(&self, id: &str) -> Option<Result<Source, String>>;

    /// Returns the workflow that `wanted`, a name or a path, refers to in the file `from`.
    ///
    /// This is for formats whose files refer to each other by path. Without access to paths, only names are found.
    fn resolve(&self, from: &Source, wanted: &str) -> Option<Result<Source, String>> {
        let _ = from;
        let is_path = wanted.contains('/');
        if is_path { None } else { self.find(wanted) }
    }

    /// Returns whether a program of this name can be started; `None` if unknown.
    fn has_program(&self, name: &str) -> Option<bool> {
        let _ = name;
        None
    }

    /// Returns the ids in the configuration's `table`; `None` if unknown.
    ///
    /// The tables are those that CodeMie files refer to: `assistants`, `mcp_servers`,
    /// `integrations`, `datasources`, `skills`, `providers` and `models`.
    fn entries(&self, table: &str) -> Option<Vec<String>> {
        let _ = table;
        None
    }

    /// Returns whether everything that a file needs from the configuration is assumed to exist.
    fn assumes_configured(&self) -> bool {
        false
    }

    /// Returns the text of `id` in the configuration's `table`; `None` if there is none.
    ///
    /// For `assistants`, it is YAML or JSON with the keys of one; for `skills`, plain text. An error says why it cannot be read.
    fn configured(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        let _ = (table, id);
        None
    }
}

/// A source without other workflows than those of the same file.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWorkflows;

impl Workflows for NoWorkflows {
    fn find(&self, _id: &str) -> Option<Result<Source, String>> {
        None
    }
}

/// Byte-order mark, which may be at the start of a file and has no meaning.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A range of bytes in one of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Index of the file, in the order of opening.
    pub file: usize,
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    pub(crate) const fn new(file: usize, start: usize, end: usize) -> Self {
        Self { file, start, end }
    }
}

/// The files read so far, in the order they were opened.
#[derive(Debug, Default, Clone)]
pub(crate) struct Files {
    files: Vec<Rc<File>>,
}

#[derive(Debug)]
struct File {
    source: Source,
    /// Start of each line, in bytes.
    lines: Vec<usize>,
    letters: Letters,
}

/// Counts characters of a text without reading all of it again.
#[derive(Debug)]
pub(crate) struct Letters {
    /// Number of characters before each block of bytes.
    before: Vec<usize>,
}

/// Number of bytes between two counts.
const BLOCK: usize = 128;

impl Letters {
    pub(crate) fn of(text: &str) -> Self {
        let counts = text.as_bytes().chunks(BLOCK).scan(0, |sum, block| {
            let before = *sum;
            *sum += starts(block);
            Some(before)
        });
        Self {
            before: counts.collect(),
        }
    }

    /// Returns how many characters begin before the byte `at` of the same `text`.
    pub(crate) fn before(&self, text: &str, at: usize) -> usize {
        let block = (at / BLOCK).min(self.before.len().saturating_sub(1));
        let counted = self.before.get(block).copied().unwrap_or_default();
        let rest = text.as_bytes().get(block * BLOCK..at.min(text.len()));
        counted + rest.map_or(0, starts)
    }

    /// Returns the byte at which the character with index `count` of the same `text` begins.
    pub(crate) fn byte(&self, text: &str, count: usize) -> usize {
        let after = self.before.partition_point(|before| *before <= count);
        let block = after.saturating_sub(1);
        let missing = count
            - self
                .before
                .get(block)
                .copied()
                .unwrap_or_default()
                .min(count);
        let bytes = text.as_bytes().iter().enumerate().skip(block * BLOCK);
        let mut letters = bytes.filter(|(_, byte)| is_start(**byte));
        letters.nth(missing).map_or(text.len(), |(at, _)| at)
    }
}

/// Counts the characters that begin in `bytes`.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| is_start(**byte)).count()
}

/// Returns whether a byte of UTF-8 is the first of its character.
const fn is_start(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// A line of a file, and the position of a span in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceLine<'a> {
    pub(crate) file: &'a str,
    /// Counted from 1.
    pub(crate) number: usize,
    /// Counted from 1, in characters.
    pub(crate) column: usize,
    /// Without its line break, and without a byte-order mark.
    pub(crate) text: &'a str,
    /// Bytes of `text` before the span.
    pub(crate) before: usize,
}

impl Files {
    /// Adds a file and returns its index.
    pub(crate) fn add(&mut self, source: Source) -> usize {
        let breaks = source.text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(breaks).collect();
        let letters = Letters::of(&source.text);
        self.files.push(Rc::new(File {
            source,
            lines,
            letters,
        }));
        self.files.len() - 1
    }

    /// Returns the name and the text of a file.
    pub(crate) fn name_and_text(&self, file: usize) -> (&str, &str) {
        self.files
            .get(file)
            .map_or(("", ""), |file| (&file.source.name, &file.source.text))
    }

    /// Returns a file.
    pub(crate) fn source(&self, file: usize) -> Option<&Source> {
        self.files.get(file).map(|file| &file.source)
    }

    /// Returns the index of a file that equals `source`.
    pub(crate) fn position_of(&self, source: &Source) -> Option<usize> {
        self.files.iter().position(|file| file.source == *source)
    }

    /// Returns the line in which `span` begins.
    pub(crate) fn line(&self, span: Span) -> Option<SourceLine<'_>> {
        let file = self.files.get(span.file)?;
        let after = file.lines.partition_point(|start| *start <= span.start);
        let begin = *file.lines.get(after.checked_sub(1)?)?;
        let end = file
            .lines
            .get(after)
            .copied()
            .unwrap_or(file.source.text.len());
        let whole = file.source.text.get(begin..end)?;
        let text = whole.trim_start_matches(BYTE_ORDER_MARK);
        let skipped = whole.len() - text.len();
        let before = span.start.checked_sub(begin + skipped)?;
        let letters = |at| file.letters.before(&file.source.text, at);
        Some(SourceLine {
            file: &file.source.name,
            number: after,
            column: letters(span.start) - letters(begin + skipped) + 1,
            text: text.trim_end_matches(['\n', '\r']),
            before: before.min(text.trim_end_matches(['\n', '\r']).len()),
        })
    }
}
