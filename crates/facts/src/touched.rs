//! Paths that a line touches.

use interlock_core::facts::SimpleCommand;

use crate::place::Located;

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It is read.
    Read,
    /// It is written or created.
    Write,
    /// It is removed, renamed or moved away.
    Remove,
}

/// A path a line touches, as far as it is known.
pub(crate) struct Touched {
    pub(crate) deed: Deed,
    pub(crate) path: TouchedPath,
    pub(crate) by: String,
}

/// How much of a touched path is known.
pub(crate) enum TouchedPath {
    /// All of it.
    Found(Located),
    /// Only its beginning.
    Below(String),
}

/// Returns the last part of a command's own name.
pub(crate) fn program(command: &SimpleCommand) -> Option<&str> {
    let name = command.words.first()?.literal()?;
    name.rsplit('/').next()
}
