//! Follows a started command to its end: signals, stops, and what is left of it.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd as _;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::probe::Channel;
use crate::run::Exit;

/// What is passed on when somebody sends it to this process alone.
const PASSED_ON: [Signal; 8] = [
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGWINCH,
];

/// More rounds than this are not spent on ending what is left.
const ROUNDS_MAX: usize = 1_000;

/// `SI_KERNEL`: the terminal sent it, to the command as well.
const FROM_KERNEL: i32 = 0x80;

/// Holds back this thread's signals while a command runs.
#[derive(Debug)]
pub(super) struct Signals {
    before: SigSet,
    heard: SignalFd,
}

impl Signals {
    /// Begins to hold them back.
    pub(super) fn hold() -> Result<Self, Errno> {
        let mut held: SigSet = PASSED_ON.into_iter().collect();
        held.add(Signal::SIGCHLD);
        held.add(Signal::SIGCONT);
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut before))?;
        let heard = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { before, heard })
    }

    /// The signals that were held back before, as the command is to have them.
    pub(super) const fn before(&self) -> SigSet {
        self.before
    }

    /// Waits until `command` ends, and takes in meanwhile what comes through `channel`.
    pub(super) fn follow(
        &self,
        command: Pid,
        mut channel: Option<&mut Channel>,
    ) -> Result<Exit, Errno> {
        loop {
            let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
            match waitpid(command, Some(flags)) {
                Ok(WaitStatus::Exited(_, code)) => {
                    return Ok(Exit::Code(u8::try_from(code & 0xff).unwrap_or(u8::MAX)));
                }
                Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(Exit::Signal(signal as i32)),
                // Whoever waits for this process is to see that the command has stopped.
                Ok(WaitStatus::Stopped(..)) => raise(Signal::SIGSTOP)?,
                Ok(_) => match &mut channel {
                    Some(channel) if !self.is_called(channel)? => channel.hear(),
                    _ => self.hear(command)?,
                },
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until a signal has come, or something through `channel`; tells whether it is a signal.
    fn is_called(&self, channel: &Channel) -> Result<bool, Errno> {
        let mut both = [
            PollFd::new(self.heard.as_fd(), PollFlags::POLLIN),
            PollFd::new(channel.near().as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut both, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        let [signals, _] = &both;
        Ok(signals.any().unwrap_or(false))
    }

    /// Waits for one signal and passes it on where the command has not got it already.
    fn hear(&self, command: Pid) -> Result<(), Errno> {
        let heard = match self.heard.read_signal() {
            Ok(Some(heard)) => heard,
            Ok(None) | Err(Errno::EINTR) => return Ok(()),
            Err(error) => return Err(error),
        };
        let signal = i32::try_from(heard.ssi_signo)
            .ok()
            .and_then(|number| Signal::try_from(number).ok());
        match signal {
            Some(Signal::SIGCHLD) | None => {}
            Some(signal) if heard.ssi_code == FROM_KERNEL && signal != Signal::SIGCONT => {}
            // It may just have ended; then there is nobody to tell.
            Some(signal) => drop(kill(command, signal)),
        }
        Ok(())
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // What came for the command while it ended is not for this process.
        if let Ok(rest) = SignalFd::with_flags(&self.all(), SfdFlags::SFD_NONBLOCK) {
            while let Ok(Some(_)) = rest.read_signal() {}
        }
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}

impl Signals {
    fn all(&self) -> SigSet {
        let mut all: SigSet = PASSED_ON.into_iter().collect();
        all.add(Signal::SIGCHLD);
        all.add(Signal::SIGCONT);
        all
    }
}

/// The children of this process, by their numbers.
pub(super) fn children() -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    for thread in fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_ascii_whitespace()
                .filter_map(|word| word.parse::<i32>().ok()),
        );
    }
    found
}

/// Ends every process that a command has left, `known` children of this process apart.
///
/// This process is the one that orphans come to; each one that ends brings its own
/// children here, until none is left. Returns whether all have ended.
pub(super) fn end_left_over(known: &BTreeSet<i32>) -> bool {
    for _ in 0..ROUNDS_MAX {
        let left: Vec<_> = children()
            .difference(known)
            .copied()
            .map(Pid::from_raw)
            .collect();
        if left.is_empty() {
            return true;
        }
        for process in &left {
            end_below(*process, 0);
        }
        for process in left {
            let _ = waitpid(process, None);
        }
    }
    false
}

/// Ends `process` and, so that fewer rounds are needed, all below it first.
fn end_below(process: Pid, depth: usize) {
    let _ = kill(process, Signal::SIGKILL);
    if depth > 64 {
        return;
    }
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    for child in text
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
    {
        end_below(Pid::from_raw(child), depth + 1);
    }
}
