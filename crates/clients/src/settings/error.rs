//! Why settings cannot be read or changed.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why nothing was planned or written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The file cannot be read or written.
    #[error("`{path}` cannot be {what}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Read or written.
        what: &'static str,
        /// The underlying error.
        source: io::Error,
    },
    /// The file is not what the client would accept either, or cannot be added to.
    #[error("`{}:{line}:{column}`: {reason}; mend it first, nothing was changed", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The reason given.
        reason: String,
    },
    /// The file is a link to where nothing should be written.
    #[error("`{path}` is a link that leads {where_to}; replace it by a file, nothing was changed")]
    Link {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        where_to: &'static str,
    },
    /// Somebody else wrote the file meanwhile.
    #[error("`{path}` was changed meanwhile; nothing was written, try again")]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditError {
    /// Counted from 1; the column in characters.
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) reason: String,
}

impl EditError {
    /// Makes one of a place in bytes.
    pub(crate) fn at(text: &str, start: usize, reason: String) -> Self {
        let before = text.get(..start).unwrap_or_default();
        let last = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            reason,
        }
    }

    /// Says what is wrong with a file that is only read.
    pub(crate) fn said(&self, path: &Path) -> String {
        let (line, column) = (self.line, self.column);
        format!("`{}:{line}:{column}`: {}", path.display(), self.reason)
    }

    pub(crate) fn of_file(self, path: &Path) -> InstallError {
        InstallError::Malformed {
            path: path.to_owned(),
            line: self.line,
            column: self.column,
            reason: self.reason,
        }
    }
}
