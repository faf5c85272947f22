//! The most memory that a hook process has at any time.

use std::{
    env,
    fs::{self, File},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, Result, ensure};
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
        let mut parent = room.command(env::current_exe()?);
        parent.args([
            PARENT_OF,
            arguments.interlock.as_str(),
            "hook",
            "claude-code",
        ]);
        most = most.max(child_peak(&mut parent, &input)?);
    }
    table.kilobytes("memory: the peak of a hook", most, TARGET_KILOBYTES);
    Ok(())
}

fn child_peak(parent: &mut Command, input: &Path) -> Result<u32> {
    let output = parent.stdin(File::open(input)?).output()?;
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
