//! Runs and kills the processes of a session, so that no test leaves one behind; and measures their memory.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::room::Room;

/// The result and the output of a session's program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code; `None` if a signal ended it.
    pub(crate) exit: Option<i32>,
    pub(crate) elapsed: Duration,
}

/// Runs the program of a session, and kills all processes that it left behind.
///
/// # Errors
/// It cannot be started or has not ended within the time limit.
pub(crate) fn run(mut command: Command, room: &Room, deadline: Duration) -> io::Result<Ended> {
    let (stdout, stderr) = (room.path("stdout"), room.path("stderr"));
    command.stdin(Stdio::null());
    command
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?);
    let started = Instant::now();
    let exit = wait(in_own_group(&mut command).spawn()?, deadline)?;
    let elapsed = started.elapsed();
    // Processes started by the agent's shell are in other process groups.
    kill_of_home(&room.home());
    let stderr = String::from_utf8_lossy(&fs::read(stderr)?).into_owned();
    let stdout = String::from_utf8_lossy(&fs::read(stdout)?).into_owned();
    let Some(exit) = exit else {
        let message = format!("no end after {deadline:?}\n{stdout}\n{stderr}");
        return Err(io::Error::other(message));
    };
    Ok(Ended {
        stdout,
        stderr,
        exit: exit.code(),
        elapsed,
    })
}

/// Waits for `child`; after the deadline, its group is killed and there is no status.
fn wait(mut child: Child, deadline: Duration) -> io::Result<Option<ExitStatus>> {
    let group = child.id();
    let (ended, end) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let late = end.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout);
        if late {
            kill_group(group);
        }
        late
    });
    let status = child.wait()?;
    drop(ended);
    let late = watch.join().unwrap_or(true);
    Ok((!late).then_some(status))
}

/// Starts the program in a new process group.
#[cfg(unix)]
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    std::os::unix::process::CommandExt::process_group(command, 0)
}

/// Does nothing where there are no process groups.
#[cfg(not(unix))]
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    command
}

/// Kills a process group; an empty group is not an error.
#[cfg(unix)]
pub(crate) fn kill_group(group: u32) {
    use nix::sys::signal::{Signal, killpg};
    if let Ok(group) = i32::try_from(group) {
        let _ = killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// Does nothing where there are no process groups.
#[cfg(not(unix))]
pub(crate) fn kill_group(_group: u32) {}

/// Returns the processes whose command line contains a word, ordered by id.
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

/// Kills one process; a missing process is not an error.
#[cfg(target_os = "linux")]
pub fn kill(process: u32) {
    use nix::sys::signal::{Signal, kill};
    if let Ok(process) = i32::try_from(process) {
        let _ = kill(nix::unistd::Pid::from_raw(process), Signal::SIGKILL);
    }
}

/// Returns the resident memory of a process, in KiB; `None` if it has ended.
#[cfg(target_os = "linux")]
pub fn memory_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Kills every process started with this home directory, which is unique to one room.
#[cfg(target_os = "linux")]
fn kill_of_home(home: &Path) {
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

/// Does nothing where processes cannot be listed.
#[cfg(not(target_os = "linux"))]
fn kill_of_home(_home: &Path) {}
