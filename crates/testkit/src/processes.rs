//! The end of everything a session started, so that no test leaves a process behind; and what a process holds.

use std::path::Path;
use std::process::Command;

/// Makes the program the first of a process group of its own.
#[cfg(unix)]
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    std::os::unix::process::CommandExt::process_group(command, 0)
}

/// Makes the program the first of a process group of its own, where there are such groups.
#[cfg(not(unix))]
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    command
}

/// Kills a process group; one that is empty already is what is wanted.
#[cfg(unix)]
pub(crate) fn kill_group(group: u32) {
    use nix::sys::signal::{Signal, killpg};
    if let Ok(group) = i32::try_from(group) {
        let _ = killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// Kills a process group, where there are such groups.
#[cfg(not(unix))]
pub(crate) fn kill_group(_group: u32) {}

/// Returns the processes whose command line holds a word, oldest first.
#[cfg(target_os = "linux")]
pub fn with_word(word: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: Vec<u32> = processes
        .filter(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(word)
        })
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .collect();
    found.sort_unstable();
    found
}

/// Kills one process; one that is gone already is what is wanted.
#[cfg(target_os = "linux")]
pub fn kill(process: u32) {
    use nix::sys::signal::{Signal, kill};
    if let Ok(process) = i32::try_from(process) {
        let _ = kill(nix::unistd::Pid::from_raw(process), Signal::SIGKILL);
    }
}

/// Returns the memory a process holds, in KiB; `None`: it is gone.
#[cfg(target_os = "linux")]
pub fn memory_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Kills every process that was started with this home, which only the processes of one room were.
#[cfg(target_os = "linux")]
pub(crate) fn kill_of_home(home: &Path) {
    use nix::sys::signal::{Signal, kill};
    use std::os::unix::ffi::OsStrExt;

    let home = [b"HOME=", home.as_os_str().as_bytes()].concat();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let Some(id) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == home)
        {
            let _ = kill(nix::unistd::Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

/// Kills every process that was started with this home, where processes can be listed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_of_home(_home: &Path) {}
