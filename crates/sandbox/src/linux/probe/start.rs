//! The probe: starts one program, ends as it ends, and reports both.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::prctl;
use nix::sys::signal::{SigmaskHow, Signal, sigprocmask};
use nix::unistd::{AccessFlags, Pid, access, getpid, getppid};

use super::super::end::{self, Watch};
use super::super::raw;
use super::{ID, Message, PARKED_INPUT};
use crate::outcome::Exit;

/// Search path of a shell without `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Exit codes of a shell for a missing program, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// Starts `words` and reports to the runner of the line, if `place` is one of its places.
///
/// If the reporting fails, the program still runs.
///
/// # Errors
/// `place` is invalid, or there are no words.
pub(crate) fn start(place: &str, words: &[OsString]) -> Result<Exit, String> {
    let refusal = || "`--probe` is for Interlock itself".to_owned();
    let (at, line) = place.split_once(':').ok_or_else(refusal)?;
    let at: usize = at.parse().map_err(|_| refusal())?;
    let (name, operands) = words.split_first().ok_or_else(refusal)?;
    // Before any report: from now on nobody can trace this process or take its descriptors.
    let hidden = prctl::set_dumpable(false).is_ok();
    let teller = Teller::open(at).filter(|_| hidden && !is_traced());
    let found = find(name);
    let exit = match &found {
        Some(program) => {
            let told = teller.as_ref().filter(|teller| teller.tell(None));
            let exit = run(program, name, operands);
            if let (Some(teller), Ok(exit)) = (told, &exit) {
                teller.tell(Some(exit.code()));
            }
            exit
        }
        None => Err(io::ErrorKind::NotFound.into()),
    };
    Ok(exit
        .unwrap_or_else(|error| refused(line, found.as_deref().unwrap_or(Path::new(name)), &error)))
}

impl Exit {
    const fn code(self) -> Option<u8> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }
}

/// Connection to the runner of the line.
struct Teller {
    socket: UnixDatagram,
    id: [u8; ID],
    at: usize,
}

impl Teller {
    /// Takes the socket from standard input and puts the program's own input there.
    fn open(at: usize) -> Option<Self> {
        let parked = raw::take(PARKED_INPUT)?;
        let socket = UnixDatagram::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
        nix::unistd::dup2_stdin(&parked).ok()?;
        // It must be a datagram socket with a peer.
        socket.peer_addr().ok()?;
        let mut id = [0_u8; ID];
        getrandom::fill(&mut id).ok()?;
        Some(Self { socket, id, at })
    }

    fn tell(&self, end: Option<Option<u8>>) -> bool {
        let message = Message {
            id: self.id,
            at: self.at,
            end,
        };
        self.socket.send(&message.bytes()).is_ok()
    }
}

fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_none_or(|number| number.trim() != "0")
}

/// Finds a program like the shell.
fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    let mut first = None;
    for directory in std::env::split_paths(&path) {
        let directory = if directory.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            directory
        };
        let candidate = directory.join(name);
        let Ok(metadata) = candidate.metadata() else {
            continue;
        };
        if metadata.is_file() {
            if metadata.permissions().mode() & 0o111 != 0 {
                return Some(candidate);
            }
            first.get_or_insert(candidate);
        }
    }
    first
}

/// Runs the program with this process's input, output and group, to its end.
fn run(program: &Path, name: &OsStr, operands: &[OsString]) -> io::Result<Exit> {
    let signals = end::Signals::hold()?;
    let before = signals.before();
    let parent = getpid();
    access(program, AccessFlags::X_OK)?;
    let mut command = match script_of_no_interpreter(program) {
        // The shell itself runs such a file.
        true => {
            let mut command = Command::new("/bin/bash");
            command.arg("--").arg(program);
            command
        }
        false => {
            let mut command = Command::new(program);
            command.arg0(name);
            command
        }
    };
    command.args(operands).env("_", program);
    raw::before_start(&mut command, move || {
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        if getppid() == parent {
            Ok(())
        } else {
            Err(nix::errno::Errno::ESRCH.into())
        }
    });
    raw::hear_of_children();
    let child = command.spawn()?;
    let child = Pid::from_raw(child.id().cast_signed());
    let exit = signals.follow(child, None, &mut Watch::new(None, &BTreeSet::new()))?;
    Ok(exit)
}

/// Reads the beginning of a file; empty if that fails.
fn beginning(program: &Path) -> Vec<u8> {
    let mut start = [0_u8; 80];
    let length = File::open(program)
        .and_then(|mut file| file.read(&mut start))
        .unwrap_or(0);
    start.get(..length).unwrap_or_default().to_vec()
}

/// Returns whether a file is text without a first line that names its interpreter.
fn script_of_no_interpreter(program: &Path) -> bool {
    let start = beginning(program);
    let is_binary = start.starts_with(b"\x7fELF")
        || start
            .split(|byte| *byte == b'\n')
            .next()
            .is_some_and(|line| line.contains(&0));
    !start.is_empty() && !start.starts_with(b"#!") && !is_binary
}

/// Reports why nothing was run, in the shell's own words.
fn refused(line: &str, program: &Path, error: &io::Error) -> Exit {
    use std::io::Write as _;
    let is_path = program.as_os_str().as_encoded_bytes().contains(&b'/');
    let (said, code) = match error.kind() {
        io::ErrorKind::NotFound if !is_path => ("command not found".to_owned(), NOT_FOUND),
        io::ErrorKind::NotFound if program.exists() => (
            "cannot execute: required file not found".to_owned(),
            NOT_FOUND,
        ),
        io::ErrorKind::NotFound => ("No such file or directory".to_owned(), NOT_FOUND),
        _ if program.is_dir() => ("Is a directory".to_owned(), NOT_RUN),
        io::ErrorKind::PermissionDenied => ("Permission denied".to_owned(), NOT_RUN),
        _ => (error.to_string(), NOT_RUN),
    };
    let shell = shell().unwrap_or_else(|| "bash".to_owned());
    let program = program.display();
    // If standard error is closed, only the code remains.
    let _ = writeln!(io::stderr(), "{shell}: line {line}: {program}: {said}");
    Exit::Code(code)
}

/// Returns the name under which the shell was started.
fn shell() -> Option<String> {
    let words = std::fs::read(format!("/proc/{}/cmdline", getppid())).ok()?;
    let first = words.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(first).into_owned())
}
