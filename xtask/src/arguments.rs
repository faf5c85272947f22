//! Checks the arguments of a chore.

use anyhow::{Result, bail};

/// Refuses arguments for a chore that takes none.
pub(crate) fn none(arguments: &[&str]) -> Result<()> {
    match arguments.first() {
        None => Ok(()),
        Some(word) => bail!("`{word}` means nothing here: `cargo xtask help` lists what does"),
    }
}
