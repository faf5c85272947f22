//! A pseudo-terminal in place of a person's.

use std::{
    io,
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
