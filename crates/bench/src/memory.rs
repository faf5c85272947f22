//! The most memory that a process has at any time.

use std::{
    env,
    fs::{self, File},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use interlock_testkit::room::Room;
use nix::sys::resource::{UsageWho, getrusage};

use crate::{
    arguments::Arguments,
    process::{GUARDED, before, guarded_room},
    table::Table,
};

/// Makes this program the parent of exactly one other.
const PARENT_OF: &str = "--parent-of";
const TIMES: usize = 5;
const TARGET_KILOBYTES: u32 = 20 * 1024;

/// Measures a hook of a guarded session.
///
/// The system tells only the peak of all children together, so a fresh process
/// of this program has a hook as its only child and reports it.
pub(crate) fn peak(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let room = guarded_room(arguments)?;
    let mut most = 0;
    for time in 0..TIMES {
        let input = room.path("input.json");
        let call = before(&room, GUARDED, &format!("toolu_{time}"));
        fs::write(&input, call.to_string())?;
        let mut parent = parent_of(&room, &[&arguments.interlock, "hook", "claude-code"])?;
        most = most.max(reported(parent.stdin(File::open(input)?))?);
    }
    table.kilobytes("memory: the peak of a hook", most, TARGET_KILOBYTES);
    Ok(())
}

/// A process of this program in the project of `room` that will have the call as its only child.
pub(crate) fn parent_of(room: &Room, call: &[&str]) -> Result<Command> {
    let mut parent = room.command(env::current_exe()?);
    parent.arg(PARENT_OF).args(call);
    Ok(parent)
}

/// Runs such a process and returns the peak of its child in KiB.
pub(crate) fn reported(parent: &mut Command) -> Result<u32> {
    let output = parent.output()?;
    ensure!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    let kilobytes = text.trim().parse();
    kilobytes.with_context(|| format!("`{text}` is no size"))
}

/// Returns the call whose memory this process is to report.
pub(crate) fn asked_for(words: &[String]) -> Option<&[String]> {
    match words.split_first() {
        Some((first, call)) if first == PARENT_OF => Some(call),
        _ => None,
    }
}

/// Runs `call` as the only child, with this process's own input, and prints its peak.
#[expect(clippy::print_stdout, reason = "the number is the result")]
pub(crate) fn report(call: &[String]) -> Result<ExitCode> {
    let (program, arguments) = call.split_first().context("a program is missing")?;
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null());
    let status = command.status()?;
    ensure!(status.success(), "`{program}` ended with {status}");
    let most = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    // Bytes on macOS, kilobytes elsewhere.
    println!(
        "{}",
        if cfg!(target_os = "macos") {
            most / 1024
        } else {
            most
        }
    );
    Ok(ExitCode::SUCCESS)
}
