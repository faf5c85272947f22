//! Errors of reading and editing settings.

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
        /// `read` or `written`.
        what: &'static str,
        /// The underlying error.
        source: io::Error,
    },
    /// The client would not accept the file either, or it cannot be extended.
    #[error("`{}:{line}:{column}`: {reason}; mend it first, nothing was changed", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// Reason for the error.
        reason: String,
    },
    /// The file is a link to a place where nothing should be written.
    #[error("`{path}` is a link that leads {where_to}; replace it by a file, nothing was changed")]
    Link {
        /// Path of the link.
        path: PathBuf,
        /// Target of the link.
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
    /// Line, from 1.
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) reason: String,
}

impl EditError {
    /// Creates an error at a byte offset.
    pub(crate) fn at(text: &str, start: usize, reason: String) -> Self {
        let before = text.get(..start).unwrap_or_default();
        let last = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            reason,
        }
    }

    /// Describes what is wrong with a file that is only read.
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
