//! `Read` and `read_file`.

use std::io::{BufRead as _, BufReader};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    Code, SeenFile, ToolContext, ToolEnd,
    disk::{self, Directory, OpenFile, Trouble},
    end::{Failure, length},
    input::{count, text},
    place::{self, Aim, Bounds},
};
use interlock_process::Cancel;

/// Default number of lines shown.
const LINES: usize = 2_000;
/// Maximum number of characters shown of a line.
const LINE_CHARS_MAX: usize = 2_000;
/// Maximum size of a file that counts as read, in bytes: it is read to its end for that.
const SEEN_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum size of the text that `read_file` returns, in bytes.
const TEXT_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// Number of lines between two checks for cancellation.
const LOOK_EVERY: usize = 4_096;

/// Shows numbered lines of a file.
pub(crate) fn numbered(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let found = place::find(
        text(input, "file_path"),
        Aim::Read,
        Bounds::Machine,
        context,
    )?;
    let shown = place::shown(&found.real, context);
    let failed = |trouble: Trouble| trouble.of(&shown, Aim::Read);
    let opened = open(&found.real).map_err(failed)?;
    let mut page = Page {
        first: count(input, "offset").unwrap_or(1).max(1),
        limit: count(input, "limit").unwrap_or(LINES),
        bytes_max: context.result_bytes_max,
        ..Page::default()
    };
    let digest = page.fill(opened, context).map_err(failed)?;
    if let Some(why) = page.binary {
        return Err(Failure::new(Code::Binary, format!("`{shown}` {why}")));
    }
    let mut end = ToolEnd::done(page.told());
    if let Some(digest) = digest {
        let file = SeenFile {
            path: found.real,
            digest,
        };
        context.seen.note(&file);
        end.seen.push(file);
    }
    Ok(end)
}

/// Opens a file by its path without links.
pub(crate) fn open(real: &str) -> Result<OpenFile, Trouble> {
    let (directory, name) = disk::split(real);
    Directory::open(directory)?.file(name)
}

/// The shown lines of a file.
#[derive(Debug, Default)]
struct Page {
    /// Number of the first line shown, from 1.
    first: usize,
    limit: usize,
    bytes_max: usize,
    text: String,
    /// Number of the last line shown.
    last: usize,
    /// Number of lines seen so far.
    lines: usize,
    /// Whether the file continues after the lines seen.
    goes_on: bool,
    ends_with_cr: bool,
    is_full: bool,
    binary: Option<&'static str>,
}

impl Page {
    /// Reads the lines, and returns the digest of the whole file if it was read.
    fn fill(
        &mut self,
        opened: OpenFile,
        context: &ToolContext<'_>,
    ) -> Result<Option<String>, Trouble> {
        let is_whole = opened.size() <= SEEN_BYTES_MAX;
        let mut reader = BufReader::with_capacity(256 * 1024, opened.file);
        let mut digest = Sha256::new();
        let mut line = Vec::new();
        let mut taken = 0_u64;
        loop {
            if self.lines.is_multiple_of(LOOK_EVERY) && context.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            line.clear();
            let more = read_line(&mut reader, &mut line, &mut digest, context.cancel)?;
            if more == 0 {
                return Ok(is_whole.then(|| disk::hex(&digest.finalize())));
            }
            taken = taken.saturating_add(more);
            if self.take(&line) {
                return Ok(None);
            }
            // It may grow as fast as it is read.
            if (!is_whole || taken > SEEN_BYTES_MAX) && self.is_done() {
                self.goes_on = true;
                return Ok(None);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.is_full || self.lines >= self.first.saturating_add(self.limit).saturating_sub(1)
    }

    /// Adds one line; returns whether the file is not text.
    fn take(&mut self, line: &[u8]) -> bool {
        if line.contains(&0) {
            self.binary = Some("is a binary file");
            return true;
        }
        self.lines += 1;
        if self.lines < self.first || self.is_done_before() {
            return false;
        }
        let Ok(text) = std::str::from_utf8(cut_bytes(line)) else {
            self.binary = Some("is not UTF-8 text");
            return true;
        };
        let text = text.strip_suffix('\n').unwrap_or(text);
        let plain = text.strip_suffix('\r').unwrap_or(text);
        self.ends_with_cr |= plain.len() < text.len();
        let mut row = format!("{:>6}\t", self.lines);
        row.extend(plain.chars().take(LINE_CHARS_MAX));
        if plain.chars().nth(LINE_CHARS_MAX).is_some() || line.len() > KEPT_BYTES {
            row.push_str("... (the line is longer)");
        }
        row.push('\n');
        if !self.text.is_empty() && self.text.len() + row.len() > self.bytes_max {
            self.is_full = true;
            return false;
        }
        self.text.push_str(&row);
        self.last = self.lines;
        false
    }

    fn is_done_before(&self) -> bool {
        self.is_full || self.lines >= self.first.saturating_add(self.limit)
    }

    fn told(&self) -> String {
        let mut text = self.text.clone();
        let all = if self.goes_on {
            "more".to_owned()
        } else {
            self.lines.to_string()
        };
        if self.lines == 0 {
            text.push_str("(the file is empty)");
        } else if self.last == 0 {
            text.push_str(&format!("(the file has {all} lines)"));
        } else if self.last < self.lines || self.goes_on {
            text.push_str(&format!(
                "(lines {} to {} of {all}; continue with offset {})",
                self.first,
                self.last,
                self.last + 1
            ));
        }
        if self.ends_with_cr {
            text.push_str("(lines end with CR LF)");
        }
        text
    }
}

/// Number of bytes kept of a line: enough for its shown characters.
const KEPT_BYTES: usize = LINE_CHARS_MAX * 4 + 8;

/// Reads one line of any length into the digest, and its beginning into `line`.
fn read_line(
    reader: &mut BufReader<std::fs::File>,
    line: &mut Vec<u8>,
    digest: &mut Sha256,
    cancel: &Cancel,
) -> Result<u64, Trouble> {
    let mut read = 0_u64;
    loop {
        // One line may be as long as the disk.
        if read > 0 && cancel.is_cancelled() {
            return Err(Trouble::Cancelled);
        }
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if bytes.is_empty() {
            return Ok(read);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |end| end + 1);
        let part = bytes.get(..count).unwrap_or_default();
        digest.update(part);
        let room = (KEPT_BYTES + 1).saturating_sub(line.len());
        line.extend_from_slice(part.get(..room.min(count)).unwrap_or_default());
        read = read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        // What is not text is not read to its end.
        let is_binary = part.contains(&0);
        if is_binary {
            line.push(0);
        }
        reader.consume(count);
        if is_binary || end.is_some() {
            return Ok(read);
        }
    }
}

/// Cuts a long line between two characters.
fn cut_bytes(line: &[u8]) -> &[u8] {
    if line.len() <= KEPT_BYTES {
        return line;
    }
    let mut end = KEPT_BYTES;
    while end > 0 && line.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}

/// Returns the text of a file, or of some of its lines.
pub(crate) fn plain(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let found = place::find(text(input, "path"), Aim::Read, Bounds::Datasources, context)?;
    let shown = place::shown(&found.real, context);
    let whole = whole_text(&found.real, &shown, context)?;
    let offset = count(input, "offset").unwrap_or(0);
    let limit = count(input, "limit").unwrap_or(usize::MAX);
    let lines = whole.split_inclusive('\n').skip(offset).take(limit);
    let text: String = lines.collect();
    Ok(ToolEnd {
        bytes: length(&text),
        ..ToolEnd::done(text)
    })
}

/// Reads a text file whole, by its path without links.
pub(crate) fn whole_text(
    real: &str,
    shown: &str,
    context: &ToolContext<'_>,
) -> Result<String, Failure> {
    let failed = |trouble: Trouble| trouble.of(shown, Aim::Read);
    let mut opened = open(real).map_err(failed)?;
    let bytes = opened
        .read(TEXT_BYTES_MAX, context.cancel)
        .map_err(failed)?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::new(Code::Binary, format!("`{shown}` is not UTF-8 text")))
}
