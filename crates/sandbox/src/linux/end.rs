//! Follows a started command to its end: signals, stops, and leftover processes.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use interlock_process::table;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::probe::Channel;
use crate::outcome::Exit;

/// Signals that are passed on if they were sent to this process alone.
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

/// Maximum number of rounds for ending leftover processes.
const ROUNDS_MAX: usize = 1_000;

/// Interval of checks whether a command may continue, in milliseconds.
const WATCHED_EVERY_MS: u16 = 200;
const WATCHED_EVERY: Duration = Duration::from_millis(200);

/// How long a process that is about to end by itself may take after its command has ended.
const GRACE: Duration = Duration::from_millis(500);

/// How long a killed process may take to end; the system may hold it for longer.
const END_MAX: Duration = Duration::from_secs(5);

/// Returns whether a command may continue.
pub(crate) type MayContinue<'a> = dyn FnMut() -> bool + 'a;

/// Whether a command may continue, and the handling of its leftovers meanwhile.
pub(super) struct Watch<'w, 'a> {
    wanted: Option<&'w mut MayContinue<'a>>,
    known: &'w BTreeSet<i32>,
    last: Instant,
    /// Whether it was ended because it may not continue.
    pub(super) ended: bool,
}

impl<'w, 'a> Watch<'w, 'a> {
    pub(super) fn new(wanted: Option<&'w mut MayContinue<'a>>, known: &'w BTreeSet<i32>) -> Self {
        Self {
            wanted,
            known,
            last: Instant::now(),
            ended: false,
        }
    }

    /// Checks at intervals, however many events there are.
    fn look(&mut self, command: Pid) {
        let Some(wanted) = self
            .wanted
            .as_mut()
            .filter(|_| self.last.elapsed() >= WATCHED_EVERY)
        else {
            return;
        };
        // Orphans that ended here would otherwise stay zombies for as long as the line runs.
        for process in children().unwrap_or_default().difference(self.known) {
            if *process != command.as_raw() {
                let _ = waitpid(Pid::from_raw(*process), Some(WaitPidFlag::WNOHANG));
            }
        }
        if !wanted() {
            self.ended = true;
            self.wanted = None;
            end_below(command, 0);
        }
        self.last = Instant::now();
    }
}

/// An event while following a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called {
    Signal,
    Channel,
    Nothing,
}

/// `SI_KERNEL`: the terminal sent the signal, to the command as well.
const FROM_KERNEL: i32 = 0x80;

/// Blocks this thread's signals while a command runs.
#[derive(Debug)]
pub(super) struct Signals {
    before: SigSet,
    heard: SignalFd,
}

impl Signals {
    /// Begins to block them.
    pub(super) fn hold() -> Result<Self, Errno> {
        let mut held: SigSet = PASSED_ON.into_iter().collect();
        held.add(Signal::SIGCHLD);
        held.add(Signal::SIGCONT);
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut before))?;
        let heard = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { before, heard })
    }

    /// Returns the previously blocked signals, for the command.
    pub(super) const fn before(&self) -> SigSet {
        self.before
    }

    /// Waits until `command` ends, and handles what arrives through `channel`.
    ///
    /// Once `watch` says that it may not continue, it is ended with all its descendants.
    pub(super) fn follow(
        &self,
        command: Pid,
        mut channel: Option<&mut Channel>,
        watch: &mut Watch<'_, '_>,
    ) -> Result<Exit, Errno> {
        loop {
            watch.look(command);
            let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
            match waitpid(command, Some(flags)) {
                Ok(WaitStatus::Exited(_, code)) => {
                    return Ok(Exit::Code(u8::try_from(code & 0xff).unwrap_or(u8::MAX)));
                }
                Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(Exit::Signal(signal as i32)),
                // The parent of this process must see that the command has stopped.
                Ok(WaitStatus::Stopped(..)) => raise(Signal::SIGSTOP)?,
                Ok(_) => match self.next(channel.as_deref(), watch.wanted.is_some())? {
                    Called::Signal => self.hear(command)?,
                    Called::Channel => channel.iter_mut().for_each(|channel| channel.hear()),
                    Called::Nothing => {}
                },
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a signal or a message through `channel`; with a time limit if `watched`.
    fn next(&self, channel: Option<&Channel>, watched: bool) -> Result<Called, Errno> {
        let of_signals = || PollFd::new(self.heard.as_fd(), PollFlags::POLLIN);
        let mut both = vec![of_signals()];
        both.extend(channel.map(|channel| PollFd::new(channel.near().as_fd(), PollFlags::POLLIN)));
        let longest = if watched {
            PollTimeout::from(WATCHED_EVERY_MS)
        } else {
            PollTimeout::NONE
        };
        match poll(&mut both, longest) {
            Ok(0) | Err(Errno::EINTR) => return Ok(Called::Nothing),
            Ok(_) => {}
            Err(error) => return Err(error),
        }
        let is_signal = both.first().and_then(PollFd::any).unwrap_or(false);
        Ok(if is_signal {
            Called::Signal
        } else {
            Called::Channel
        })
    }

    /// Waits for one signal and passes it on unless the command has already received it.
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
            // It may just have ended; then nobody needs it.
            Some(signal) => drop(kill(command, signal)),
        }
        Ok(())
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Signals for the command that arrived while it ended are not for this process.
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

/// Returns the children of this process; `None` if the system does not tell.
pub(super) fn children() -> Option<BTreeSet<i32>> {
    by_threads().or_else(by_parents)
}

/// Returns what each thread of this process has started; not every kernel lists that.
fn by_threads() -> Option<BTreeSet<i32>> {
    let mut found = BTreeSet::new();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let thread = thread.ok()?.path();
        match fs::read_to_string(thread.join("children")) {
            Ok(text) => found.extend(numbers(&text)),
            // The thread has ended; its children belong to another one now.
            Err(_) if !thread.exists() => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

/// Returns every process whose parent is this one.
fn by_parents() -> Option<BTreeSet<i32>> {
    let own = std::process::id();
    // A process that cannot be looked up has ended, and so is not a running child.
    let children = table::entries()?.filter(|entry| entry.parent == own);
    Some(
        children
            .filter_map(|entry| i32::try_from(entry.id).ok())
            .collect(),
    )
}

fn numbers(text: &str) -> impl Iterator<Item = i32> {
    text.split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
}

/// What happened to the leftover processes of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LeftOvers {
    /// Number of processes that were ended.
    pub(super) ended: usize,
    /// Whether one may still be running.
    pub(super) remain: bool,
}

/// Waits briefly for processes that end by themselves, such as the reader of a closed pipe.
///
/// Returns whether nothing is left.
fn wait_for_left_over(known: &BTreeSet<i32>) -> bool {
    let until = Instant::now() + GRACE;
    loop {
        let Some(left) = children() else {
            return false;
        };
        let left: Vec<_> = left.difference(known).copied().map(Pid::from_raw).collect();
        // A process that is not reaped stays in the list, and so do the children that it would pass on.
        if left.is_empty() {
            return true;
        }
        let mut reaped = false;
        for process in left {
            let status = waitpid(process, Some(WaitPidFlag::WNOHANG));
            reaped |= !matches!(status, Ok(WaitStatus::StillAlive));
        }
        if Instant::now() >= until {
            return false;
        }
        // A process that has ended may have passed on its own children.
        if reaped {
            continue;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends every leftover process of a command, except the `known` children of this process.
///
/// Orphans are reparented to this process; each one that ends passes its own children on, until none is left.
pub(super) fn end_left_over(known: &BTreeSet<i32>, may_end_itself: bool) -> LeftOvers {
    let mut ended = 0;
    if may_end_itself && wait_for_left_over(known) {
        return LeftOvers {
            ended,
            remain: false,
        };
    }
    let remain = |ended| LeftOvers {
        ended,
        remain: true,
    };
    for _ in 0..ROUNDS_MAX {
        let Some(children) = children() else {
            return remain(ended);
        };
        let left: Vec<_> = children
            .difference(known)
            .copied()
            .map(Pid::from_raw)
            .collect();
        if left.is_empty() {
            return LeftOvers {
                ended,
                remain: false,
            };
        }
        for process in &left {
            end_below(*process, 0);
        }
        let until = Instant::now() + END_MAX;
        for process in left {
            match end_of(process, until) {
                Some(status) => {
                    ended += usize::from(matches!(status, Ok(WaitStatus::Signaled(..))))
                }
                None => return remain(ended),
            }
        }
    }
    remain(ended)
}

/// Waits for the end of a killed process; returns `None` if the system holds it.
fn end_of(process: Pid, until: Instant) -> Option<Result<WaitStatus, Errno>> {
    let mut pause = Duration::from_micros(100);
    loop {
        match waitpid(process, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) if Instant::now() >= until => return None,
            Ok(WaitStatus::StillAlive) => std::thread::sleep(pause),
            status => return Some(status),
        }
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Ends `process` and, to need fewer rounds, all its descendants first.
fn end_below(process: Pid, depth: usize) {
    let _ = kill(process, Signal::SIGKILL);
    if depth > 64 {
        return;
    }
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    for child in numbers(&text) {
        end_below(Pid::from_raw(child), depth + 1);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::process::Command;

    use super::{by_parents, by_threads};

    #[test]
    fn children_are_found_by_either_way() {
        let mut child = Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let number = i32::try_from(child.id()).unwrap();
        let seen = (by_threads(), by_parents());
        child.kill().unwrap();
        child.wait().unwrap();
        // A kernel may not list them by threads.
        assert!(seen.0.is_none_or(|seen| seen.contains(&number)));
        assert!(seen.1.unwrap().contains(&number));
        assert!(!by_parents().unwrap().contains(&number));
    }
}
