//! The effect of an edit on the text of a file, and the number of lines that it touches.

use crate::{
    disk::{Disk, DiskError},
    lines::{count, touched, wide},
};

/// Maximum size of a file whose text is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Maximum size of the text that results from an edit, in bytes.
const RESULT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Text of a file before an edit, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OldText {
    /// There is no such file.
    Missing,
    /// The complete text.
    Known(String),
    /// It cannot be read; it has at most this many lines.
    Unknown {
        /// Upper bound of the number of lines.
        lines_max: u64,
    },
}

impl OldText {
    /// Reads the text from the disk.
    pub(crate) fn read(path: &str, disk: &dyn Disk) -> Self {
        match disk.read(path, FILE_BYTES_MAX) {
            Ok(Some(bytes)) => Self::Known(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
            Ok(None) => Self::Missing,
            Err(DiskError::TooLarge(bytes)) => Self::Unknown { lines_max: bytes },
            Err(_) => Self::Unknown {
                lines_max: u64::MAX,
            },
        }
    }

    /// Returns the text; empty if there is no file, `None` if it is unknown.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Missing => Some(""),
            Self::Known(text) => Some(text),
            Self::Unknown { .. } => None,
        }
    }

    /// Returns the number of lines touched by overwriting it with `new`.
    pub(crate) fn touched_by_write(&self, new: &str) -> u64 {
        match self {
            Self::Unknown { lines_max } => count(new).max(*lines_max),
            Self::Missing => count(new),
            Self::Known(old) => touched(old, new),
        }
    }

    /// Returns the number of lines touched by removing it.
    pub(crate) fn touched_by_removal(&self) -> u64 {
        match self {
            Self::Unknown { lines_max } => *lines_max,
            Self::Missing => 0,
            Self::Known(old) => count(old),
        }
    }
}

/// A replacement of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replacement<'a> {
    /// Text to replace; empty for a new file.
    pub(crate) old: &'a str,
    /// New text.
    pub(crate) new: &'a str,
    /// Whether to replace every occurrence.
    pub(crate) all: bool,
}

impl Replacement<'_> {
    /// Applies the replacement and returns the number of lines it touches.
    ///
    /// If the old text is not found, the text becomes unknown and an upper bound counts, because the client's behaviour is
    /// unknown.
    pub(crate) fn apply(self, before: OldText) -> (u64, OldText) {
        let Some(text) = before.text() else {
            return (self.bound(&before), before);
        };
        if let Some(after) = self.carried_out(text) {
            return (touched(text, &after), OldText::Known(after));
        }
        // Clients match lines with any line break.
        if text.contains('\r') {
            let unix = |text: &str| text.replace("\r\n", "\n");
            let (text, old, new) = (unix(text), unix(self.old), unix(self.new));
            let alike = Replacement {
                old: &old,
                new: &new,
                all: self.all,
            };
            if let Some(after) = alike.carried_out(&text) {
                return (touched(&text, &after), OldText::Known(after));
            }
        }
        (self.bound(&before), before)
    }

    fn carried_out(self, text: &str) -> Option<String> {
        if self.old.is_empty() {
            return text.is_empty().then(|| self.new.to_owned());
        }
        let places = if self.all {
            text.matches(self.old).count()
        } else {
            usize::from(text.contains(self.old))
        };
        let grown = places
            .checked_mul(self.new.len())?
            .checked_add(text.len())?;
        if places == 0 || grown > RESULT_BYTES_MAX {
            return None;
        }
        Some(text.replacen(self.old, self.new, places))
    }

    /// Returns an upper bound of the number of touched lines.
    fn bound(self, before: &OldText) -> u64 {
        let each = count(self.old).max(count(self.new));
        if !self.all {
            return each;
        }
        let places = match before.text() {
            // Clients also match straight quotes with curly ones.
            Some(text) => wide(straight(text).matches(&straight(self.old)).count()),
            None => match before {
                OldText::Unknown { lines_max } => *lines_max,
                OldText::Missing | OldText::Known(_) => 1,
            },
        };
        each.saturating_mul(places.max(1))
    }
}

fn straight(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            c => c,
        })
        .collect()
}

#[cfg(test)]
#[path = "edit/tests.rs"]
mod tests;
