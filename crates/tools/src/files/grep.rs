//! `Grep` and `search`.

use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use serde_json::{Value, json};

use super::{
    list::place_of,
    walk::{self, Skipped, Start},
};
use crate::{
    Code, ToolContext, ToolEnd,
    disk::Trouble,
    end::Failure,
    input::{count, is_set, optional, text},
    place::{self, Aim, Bounds},
};

/// Maximum number of characters shown of a line.
const LINE_CHARS_MAX: usize = 500;
/// Maximum length of a line that is searched, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum size of the compiled expression, in bytes.
const EXPRESSION_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Output for matching files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Content,
    Files,
    Count,
}

/// Searches for matching lines.
pub(crate) fn grep(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let mode = match text(input, "output_mode") {
        "content" => Mode::Content,
        "count" => Mode::Count,
        _ => Mode::Files,
    };
    let matcher = expression(
        text(input, "pattern"),
        is_set(input, "ignore_case"),
        "pattern",
    )?;
    let real = place_of(input, Bounds::Machine, context)?;
    let search = Search {
        matcher,
        context: match mode {
            Mode::Content => count(input, "context").unwrap_or(0),
            Mode::Files | Mode::Count => 0,
        },
        glob: optional(input, "glob"),
    };
    let mut told = Matches {
        mode,
        text: String::new(),
        bytes_max: context.result_bytes_max,
        is_full: false,
    };
    let unread = search.through(&real, context, &mut |shown, file| told.take(shown, file))?;
    Ok(ToolEnd::done(told.into_text(unread)))
}

fn expression(pattern: &str, ignore_case: bool, name: &str) -> Result<RegexMatcher, Failure> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(EXPRESSION_BYTES_MAX)
        .dfa_size_limit(EXPRESSION_BYTES_MAX)
        .build(pattern)
        .map_err(|error| Failure::new(Code::InvalidArguments, format!("`{name}`: {error}")))
}

/// A search through files.
struct Search<'a> {
    matcher: RegexMatcher,
    context: usize,
    glob: Option<&'a str>,
}

/// A line of a file in the results.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    number: u64,
    text: String,
    is_match: bool,
    /// Whether lines are left out before it.
    after_gap: bool,
}

/// Results in one file.
#[derive(Debug, Default)]
struct InFile {
    rows: Vec<Row>,
    matches: u64,
    is_binary: bool,
    gap: bool,
    rows_max: usize,
    is_stopped: bool,
}

impl Search<'_> {
    /// Searches what is at `real`; `take` receives each matching file, and returns whether to continue.
    ///
    /// Returns how many files could not be searched.
    fn through(
        &self,
        real: &str,
        context: &ToolContext<'_>,
        take: &mut dyn FnMut(&str, &InFile) -> bool,
    ) -> Result<usize, Failure> {
        let mut searcher = self.searcher();
        let mut unread = 0;
        let mut look = |path: &Path| -> Result<bool, Failure> {
            if context.cancel.is_cancelled() {
                return Err(Trouble::Cancelled.of("", Aim::Read));
            }
            let shown = place::shown(&path.to_string_lossy(), context);
            match self.in_file(&mut searcher, path) {
                Ok(found) if found.matches > 0 => Ok(take(&shown, &found)),
                Ok(_) => Ok(true),
                Err(_) => {
                    unread += 1;
                    Ok(true)
                }
            }
        };
        if walk::start(real, &place::shown(real, context))? == Start::File {
            look(Path::new(real))?;
            return Ok(unread);
        }
        let left = Skipped {
            ignored: true,
            glob: self.glob,
            ..Skipped::default()
        };
        for entry in walk::walk(real, left, context)?.flatten() {
            if walk::is_file(&entry) && !look(entry.path())? {
                break;
            }
        }
        Ok(unread)
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_BYTES_MAX))
            .before_context(self.context)
            .after_context(self.context)
            .line_number(true)
            .build()
    }

    fn in_file(&self, searcher: &mut Searcher, path: &Path) -> Result<InFile, Trouble> {
        // A name that is not text is opened as it is.
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Trouble::NotAFile);
        };
        let opened = crate::disk::Directory::open(directory)?.file(Path::new(name))?;
        let mut found = InFile {
            rows_max: ROWS_MAX,
            ..InFile::default()
        };
        searcher.search_file(&self.matcher, &opened.file, &mut found)?;
        if found.is_binary {
            found.matches = 0;
        }
        Ok(found)
    }
}

/// Maximum number of lines kept of one file.
const ROWS_MAX: usize = 20_000;

impl InFile {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) -> bool {
        if self.rows.len() >= self.rows_max {
            self.is_stopped = true;
            return false;
        }
        let end = bytes.len().min(LINE_CHARS_MAX * 4 + 4);
        let line = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default());
        let line = line.trim_end_matches(['\n', '\r']);
        let mut text: String = line.chars().take(LINE_CHARS_MAX).collect();
        if text.len() < line.len() {
            text.push_str("...");
        }
        self.rows.push(Row {
            number: number.unwrap_or(0),
            text,
            is_match,
            after_gap: std::mem::take(&mut self.gap),
        });
        true
    }
}

impl Sink for InFile {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        Ok(self.push(found.line_number(), found.bytes(), true))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Self::Error> {
        Ok(self.push(found.line_number(), found.bytes(), false))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), Self::Error> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Result for the model.
struct Matches {
    mode: Mode,
    text: String,
    bytes_max: usize,
    is_full: bool,
}

impl Matches {
    /// Adds the results of one file; returns whether there is room for more.
    fn take(&mut self, shown: &str, file: &InFile) -> bool {
        match self.mode {
            Mode::Files => self.line(shown),
            Mode::Count => {
                let more = if file.is_stopped { "+" } else { "" };
                self.line(&format!("{shown}:{}{more}", file.matches));
            }
            Mode::Content => {
                let separate = file.rows.iter().any(|row| !row.is_match);
                if separate && !self.text.is_empty() {
                    self.line("--");
                }
                for row in &file.rows {
                    if row.after_gap {
                        self.line("--");
                    }
                    let mark = if row.is_match { ':' } else { '-' };
                    self.line(&format!("{shown}{mark}{}{mark}{}", row.number, row.text));
                }
                self.is_full |= file.is_stopped;
            }
        }
        !self.is_full
    }

    fn line(&mut self, line: &str) {
        let is_first = self.text.is_empty();
        if self.is_full || !is_first && self.text.len() + line.len() + 1 > self.bytes_max {
            self.is_full = true;
            return;
        }
        if !is_first {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    fn into_text(self, unread: usize) -> String {
        let mut text = self.text;
        if text.is_empty() {
            text.push_str("no matches");
        }
        if self.is_full {
            text.push_str("\n(there is more: narrow the pattern, the path or the glob)");
        }
        if unread > 0 {
            text.push_str(&format!("\n({unread} files could not be looked through)"));
        }
        text
    }
}

/// Searches for lines like CodeMie's tool.
pub(crate) fn as_object(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let query = text(input, "query");
    let pattern = if is_set(input, "regex") {
        query.to_owned()
    } else {
        regex::escape(query)
    };
    let max = count(input, "max_results").unwrap_or(100);
    let search = Search {
        matcher: expression(&pattern, false, "query")?,
        context: 0,
        glob: None,
    };
    let real = place_of(input, Bounds::Datasources, context)?;
    let mut matches = Vec::new();
    search.through(&real, context, &mut |shown, file| {
        let rows = file.rows.iter().take(max.saturating_sub(matches.len()));
        matches
            .extend(rows.map(|row| json!({"path": shown, "line": row.number, "text": row.text})));
        matches.len() < max
    })?;
    Ok(ToolEnd::done(json!({"matches": matches}).to_string()))
}
