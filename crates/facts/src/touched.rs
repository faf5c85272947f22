//! Paths that a line touches.

use interlock_core::facts::SimpleCommand;

use crate::place::Located;

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// The path is read.
    Read,
    /// The path is written or created.
    Write,
    /// The path is removed, renamed or moved away.
    Remove,
}

/// A path that a line touches, as far as known.
pub(crate) struct Touched {
    pub(crate) deed: Deed,
    pub(crate) path: TouchedPath,
    pub(crate) by: String,
}

/// How much of a touched path is known.
pub(crate) enum TouchedPath {
    /// The complete path.
    Found(Located),
    /// Only its beginning.
    Below(String),
}

/// Returns the last part of a command's own name.
pub(crate) fn program(command: &SimpleCommand) -> Option<&str> {
    let name = command.words.first()?.literal()?;
    name.rsplit('/').next()
}
