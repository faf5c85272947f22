//! Measures a process: its peak memory and its processor time.

use std::{
    env,
    fs::{self, File},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use interlock_testkit::room::Room;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};

use crate::{
    arguments::Arguments,
    process::{GUARDED, before, guarded_room},
    table::Table,
};

/// The flag that makes this program the parent of exactly one other.
const PARENT_OF: &str = "--parent-of";
/// Set if the child must succeed.
const ENDS_WELL: &str = "INTERLOCK_BENCH_ENDS_WELL";
const TIMES: usize = 5;
const TARGET_KILOBYTES: u32 = 20 * 1024;

/// Measures a hook of a guarded session.
///
/// The system reports only the peak of all children together, so a fresh process of this program runs a hook as its
/// only child and reports it.
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

/// Returns a command for a process of this program in the project of `room`, with the call as its only child.
pub(crate) fn parent_of(room: &Room, call: &[&str]) -> Result<Command> {
    let mut parent = room.command(env::current_exe()?);
    parent.arg(PARENT_OF).args(call);
    Ok(parent)
}

/// The resources that a process used.
pub(crate) struct Peak {
    /// Peak memory in KiB.
    pub(crate) kilobytes: u32,
    /// Processor time.
    pub(crate) time: Duration,
}

/// Runs such a process and returns the peak memory of its child in KiB; the child must succeed.
pub(crate) fn reported(parent: &mut Command) -> Result<u32> {
    parent.env(ENDS_WELL, "1");
    Ok(peak_of(parent)?.kilobytes)
}

/// Runs such a process and returns the resources of its child, which may fail but not be killed by a signal.
pub(crate) fn peak_of(parent: &mut Command) -> Result<Peak> {
    let output = parent.output()?;
    ensure!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    let numbers: Option<Vec<u64>> = text
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    let Some([kilobytes, microseconds]) = numbers.as_deref() else {
        bail!("`{text}` is not a size and time");
    };
    Ok(Peak {
        kilobytes: u32::try_from(*kilobytes)?,
        time: Duration::from_micros(*microseconds),
    })
}

/// Returns the call whose resources this process is to report.
pub(crate) fn asked_for(words: &[String]) -> Option<&[String]> {
    match words.split_first() {
        Some((first, call)) if first == PARENT_OF => Some(call),
        _ => None,
    }
}

/// Runs `call` as the only child, with this process's own input, and prints its resources.
#[expect(clippy::print_stdout, reason = "the number is the result")]
pub(crate) fn report(call: &[String]) -> Result<ExitCode> {
    let (program, arguments) = call.split_first().context("a program is missing")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status()?;
    let well = status.success() || env::var_os(ENDS_WELL).is_none() && status.code().is_some();
    ensure!(well, "`{program}` ended with {status}");
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // `max_rss` is in bytes on macOS and in kilobytes elsewhere.
    let scale = if cfg!(target_os = "macos") { 1024 } else { 1 };
    let time = used.user_time() + used.system_time();
    println!("{} {}", used.max_rss() / scale, time.num_microseconds());
    Ok(ExitCode::SUCCESS)
}
