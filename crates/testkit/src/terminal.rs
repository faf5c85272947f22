//! A pseudo-terminal in place of a person's.

use std::{
    fs::File,
    io::{self, Write as _},
    process::{Command, Output, Stdio},
};

use nix::pty::openpty;

/// Runs a command whose standard input is a terminal.
///
/// # Errors
/// No pseudo-terminal can be had, or the command cannot be started.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let terminal = openpty(None, None)?;
    command.stdin(Stdio::from(terminal.slave)).output()
}

/// Runs a command at a terminal on which `typed` has been typed.
///
/// # Errors
/// No pseudo-terminal can be had, or the command cannot be started.
pub fn answered(command: &mut Command, typed: &str) -> io::Result<Output> {
    let terminal = openpty(None, None)?;
    // The terminal keeps the line until somebody reads it.
    File::from(terminal.master.try_clone()?).write_all(typed.as_bytes())?;
    command.stdin(Stdio::from(terminal.slave)).output()
}
