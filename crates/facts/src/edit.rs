//! What an edit does to the text of a file, and how many lines that touches.

use crate::{
    disk::{Disk, DiskError},
    lines::{count, touched, wide},
};

/// Bytes of the largest file whose text is looked at.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Bytes of the longest text an edit is carried out to.
const RESULT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The text of a file before an edit, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OldText {
    /// There is no such file.
    Missing,
    /// All of it.
    Known(String),
    /// It cannot be read; it has at most so many lines.
    Unknown {
        /// An upper bound.
        lines_max: u64,
    },
}

impl OldText {
    /// Reads it from the disk.
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

    /// Returns the text; empty where there is no file, `None` where it is not known.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Missing => Some(""),
            Self::Known(text) => Some(text),
            Self::Unknown { .. } => None,
        }
    }

    /// Returns the lines that writing `new` over it touches.
    pub(crate) fn touched_by_write(&self, new: &str) -> u64 {
        match self {
            Self::Unknown { lines_max } => count(new).max(*lines_max),
            Self::Missing => count(new),
            Self::Known(old) => touched(old, new),
        }
    }

    /// Returns the lines that removing it touches.
    pub(crate) fn touched_by_removal(&self) -> u64 {
        match self {
            Self::Unknown { lines_max } => *lines_max,
            Self::Missing => 0,
            Self::Known(old) => count(old),
        }
    }
}

/// One replacement of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replacement<'a> {
    /// The text that goes; empty: the file is new.
    pub(crate) old: &'a str,
    /// The text that comes.
    pub(crate) new: &'a str,
    /// Whether every place is meant.
    pub(crate) all: bool,
}

impl Replacement<'_> {
    /// Carries the replacement out and returns the lines it touches.
    ///
    /// Where the place is not found the text becomes unknown and an upper
    /// bound counts: what the client makes of the call is not known.
    pub(crate) fn apply(self, before: OldText) -> (u64, OldText) {
        let Some(text) = before.text() else {
            return (self.bound(&before), before);
        };
        if let Some(after) = self.carried_out(text) {
            return (touched(text, &after), OldText::Known(after));
        }
        // Clients match lines whichever way they end.
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

    /// Returns a number of lines that the replacement surely does not exceed.
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
