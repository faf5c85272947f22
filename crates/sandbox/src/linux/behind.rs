//! Background work that may continue after its line has ended, with a process that stays with it.
//!
//! The caller of the line waits only for its exit code. So the line is run by a second process, which tells the first how the
//! line ended and stays: orphans are reparented to it, and it ends them once nothing may write any more.

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, getpid, getppid, setsid};

use super::end;
use crate::outcome::{Exit, RunError};

/// Option of `interlock exec` that names where the first process listens.
pub const OPTION: &str = "--behind";

/// Interval of checks whether the work may continue.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Size of an encoded exit: its kind and its number.
const EXIT_BYTES: usize = 5;
const BY_CODE: u8 = 0;
const BY_SIGNAL: u8 = 1;

/// Runs `arguments` of `interlock exec` in a second process, until that reports how its line ended.
///
/// # Errors
/// It cannot be started or followed.
pub fn start(arguments: &[OsString]) -> Result<Exit, RunError> {
    let failed = |step: &'static str| move |source: io::Error| RunError::Start { step, source };
    let (mut near, far) = io::pipe().map_err(failed("make a pipe"))?;
    fcntl(&far, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|error| failed("hand on a pipe")(error.into()))?;
    let program = env::current_exe().map_err(failed("find this program"))?;
    let place = format!("{}:{}", getpid(), far.as_raw_fd());
    let mut child = Command::new(program)
        .args(["exec", OPTION, &place])
        .args(arguments)
        .spawn()
        .map_err(failed("start a second process"))?;
    drop(far);
    let mut told = [0; EXIT_BYTES];
    if near.read_exact(&mut told).is_ok() {
        let [kind, number @ ..] = told;
        let number = i32::from_be_bytes(number);
        return Ok(match kind {
            BY_SIGNAL => Exit::Signal(number),
            _ => Exit::Code(u8::try_from(number).unwrap_or(u8::MAX)),
        });
    }
    // The second process itself has said why no line ran.
    let ended = child.wait().map_err(failed("wait for a second process"))?;
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    Ok(match (code, ended.signal()) {
        (_, Some(signal)) => Exit::Signal(signal),
        (code, None) => Exit::Code(code.unwrap_or(u8::MAX)),
    })
}

/// The second process's view of the first.
#[derive(Debug)]
pub struct Behind {
    first: File,
}

impl Behind {
    /// Uses the place of the option [`OPTION`]; from now on this process ends when the first one does.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn take(place: &str) -> Result<Self, String> {
        let unknown = || format!("`{OPTION}` is for Interlock itself");
        let (first, far) = place.split_once(':').ok_or_else(unknown)?;
        let far: u32 = far.parse().map_err(|_| unknown())?;
        set_pdeathsig(Signal::SIGTERM).map_err(|error| error.to_string())?;
        if getppid().to_string() != first {
            return Err(unknown());
        }
        let first = OpenOptions::new()
            .write(true)
            .open(format!("/proc/self/fd/{far}"))
            .map_err(|_| unknown())?;
        Ok(Self { first })
    }

    /// Reports how the line ended.
    ///
    /// # Errors
    /// The first process is gone.
    pub fn tell(&mut self, exit: Exit) -> io::Result<()> {
        // The end of this process no longer means the end of the work.
        set_pdeathsig(None)?;
        let (kind, number) = match exit {
            Exit::Code(code) => (BY_CODE, i32::from(code)),
            Exit::Signal(signal) => (BY_SIGNAL, signal),
        };
        let [a, b, c, d] = number.to_be_bytes();
        self.first.write_all(&[kind, a, b, c, d])
    }

    /// Stays with what the line left until that has ended, or until it is no longer `wanted`.
    pub fn stay(self, wanted: &mut dyn FnMut() -> bool) {
        drop(self.first);
        // Nobody must wait for these streams because of this process.
        if let Ok(nothing) = OpenOptions::new().read(true).write(true).open("/dev/null") {
            let _ = dup2_stdin(&nothing);
            let _ = dup2_stdout(&nothing);
            let _ = dup2_stderr(&nothing);
        }
        let _ = setsid();
        loop {
            // If it is unknown what is left, nothing is waited for.
            let left = end::children().unwrap_or_default();
            for process in &left {
                let process = nix::unistd::Pid::from_raw(*process);
                let _: Result<WaitStatus, _> = waitpid(process, Some(WaitPidFlag::WNOHANG));
            }
            if left.is_empty() && end::children().is_none_or(|left| left.is_empty()) {
                return;
            }
            if !wanted() {
                end::end_left_over(&std::collections::BTreeSet::new(), false);
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}
