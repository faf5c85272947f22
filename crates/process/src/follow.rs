//! Follows a started program and its group until they end.

use std::{
    os::{fd::OwnedFd, unix::process::ExitStatusExt as _},
    process::{Child, ExitStatus},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitId, WaitIdOptions, waitid},
};

use crate::{
    At, Cancel, Exit, GroupRecords, Input, Program, StartError, Stop,
    group::{self, KILL_AFTER},
    pipe::{InputPipe, OutputPipe},
    spawn,
    terminal::ForegroundGuard,
    waker::Waker,
};

/// How long other members of the group may go on after the program has ended, as `>(…)` does.
const LINGER: Duration = Duration::from_millis(200);
/// How long they then have to end.
const LEFTOVERS_KILL_AFTER: Duration = Duration::from_secs(1);
/// The longest time for which a group is waited for after it was killed.
const GONE_AFTER: Duration = Duration::from_secs(2);
/// Time between two checks of a group whose leader has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Stack size of the thread that only waits.
const STACK_BYTES: usize = 64 * 1024;

/// An output of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Runs `program` to its end and to the end of its group.
///
/// `take` gets what it prints, as it comes. A group that is asked to end is killed after five seconds.
///
/// # Errors
/// The program was not started.
pub fn run(
    program: &Program,
    cancel: &Cancel,
    records: &GroupRecords,
    terminal: Option<At<'_>>,
    take: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Exit, StartError> {
    let failed = |source| StartError::System {
        program: program.file.display().to_string(),
        source,
    };
    let started = spawn::spawn(program, terminal)?;
    let mut child = started.child;
    let group = Pid::from_child(&child);
    // Without a record, the group is found by its environment.
    let _noted = records.note(group).ok();
    let out = started.merged.map(OwnedFd::from);
    let out = out.or_else(|| child.stdout.take().map(OwnedFd::from));
    let bytes = match &program.input {
        Input::Bytes(bytes) => bytes.as_slice(),
        Input::Rule => &[],
    };
    let pipes = OutputPipe::new(out).and_then(|out| {
        let err = OutputPipe::new(child.stderr.take().map(OwnedFd::from))?;
        let into = InputPipe::new(child.stdin.take(), bytes)?;
        let waker = Arc::new(Waker::new()?);
        watch(group, Arc::clone(&waker))?;
        Ok((out, err, into, waker))
    });
    let (out, err, into, waker) = match pipes {
        Ok(pipes) => pipes,
        Err(error) => {
            group::send(group, Signal::KILL);
            let _ = child.wait();
            return Err(failed(error));
        }
    };
    let now = Instant::now();
    let mut follow = Follow {
        child,
        group,
        cancel,
        seen: None,
        waker,
        out,
        err,
        into,
        lent: terminal.and_then(|at| at.terminal().lend(group)),
        deadline: program
            .timeout_ms
            .and_then(|limit| now.checked_add(Duration::from_millis(limit))),
        ending: None,
        ended: None,
    };
    Ok(follow.follow(take))
}

/// Wakes the following thread whenever the leader of `group` stops or ends.
fn watch(group: Pid, waker: Arc<Waker>) -> std::io::Result<()> {
    let wait = move || {
        loop {
            let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(group), options) {
                Ok(Some(status)) if status.stopped() => {
                    // Consumed, so that it is not reported twice.
                    let taken = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
                    let _ = waitid(WaitId::Pid(group), taken);
                    waker.wake_halted();
                }
                Err(rustix::io::Errno::INTR) => {}
                _ => break,
            }
        }
        waker.wake();
    };
    thread::Builder::new()
        .name("wait".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(wait)
        .map(drop)
}

/// Why a group is being ended, and when it is killed.
#[derive(Debug, Clone, Copy)]
struct Ending {
    why: Why,
    kill_at: Instant,
    killed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    TooLong,
    Asked,
    LeftOver,
}

/// How the leader ended.
#[derive(Debug, Clone, Copy)]
struct Ended {
    status: ExitStatus,
    at: Instant,
    interrupted: bool,
}

struct Follow<'a> {
    child: Child,
    group: Pid,
    cancel: &'a Cancel,
    /// How far the token was set when it was last checked.
    seen: Option<Stop>,
    waker: Arc<Waker>,
    out: OutputPipe,
    err: OutputPipe,
    into: InputPipe<'a>,
    lent: Option<ForegroundGuard<'a>>,
    deadline: Option<Instant>,
    ending: Option<Ending>,
    ended: Option<Ended>,
}

impl Follow<'_> {
    fn follow(&mut self, take: &mut dyn FnMut(Stream, &[u8])) -> Exit {
        let mut buffer = Vec::new();
        loop {
            self.wait();
            self.into.fill();
            let more = self.drain(&mut buffer, take);
            if self.waker.take_halted()
                && let Some(lent) = &self.lent
            {
                lent.stop_with_it();
            }
            let now = Instant::now();
            self.look(now);
            self.press(now);
            if !more && self.is_over(now) {
                while self.drain(&mut buffer, take) {}
                return self.exit();
            }
        }
    }

    /// Waits until something may have happened.
    fn wait(&self) {
        let input = PollFlags::IN;
        let mut fds = vec![PollFd::from_borrowed_fd(self.waker.woken(), input)];
        fds.extend(
            self.cancel
                .fd_beyond(self.seen)
                .map(|fd| PollFd::from_borrowed_fd(fd, input)),
        );
        for outlet in [&self.out, &self.err] {
            fds.extend(outlet.waits().map(|fd| PollFd::from_borrowed_fd(fd, input)));
        }
        let output = PollFlags::OUT;
        fds.extend(
            self.into
                .waits()
                .map(|fd| PollFd::from_borrowed_fd(fd, output)),
        );
        let next = self.next_look(Instant::now());
        let timeout = next.and_then(|next| Timespec::try_from(next).ok());
        // Whether interrupted or not, everything is checked again.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    /// Returns how long nothing changes by itself.
    fn next_look(&self, now: Instant) -> Option<Duration> {
        if self.ended.is_some() {
            return Some(LOOK_EVERY);
        }
        let next = match self.ending {
            // Killed: an end that the system does not report is not waited for.
            Some(ending) if ending.killed => ending.kill_at.checked_add(GONE_AFTER),
            Some(ending) => Some(ending.kill_at),
            None => self.deadline,
        };
        next.map(|next| next.saturating_duration_since(now))
    }

    fn drain(&mut self, buffer: &mut Vec<u8>, take: &mut dyn FnMut(Stream, &[u8])) -> bool {
        let out = self.out.drain(buffer, |bytes| take(Stream::Out, bytes));
        let err = self.err.drain(buffer, |bytes| take(Stream::Err, bytes));
        out || err
    }

    /// Checks whether the leader has ended.
    fn look(&mut self, now: Instant) {
        if self.ended.is_some() {
            return;
        }
        let Ok(Some(status)) = self.child.try_wait() else {
            return;
        };
        let at_terminal = self.lent.take().is_some();
        self.ended = Some(Ended {
            status,
            at: now,
            interrupted: at_terminal && status.signal() == Some(Signal::INT.as_raw()),
        });
    }

    /// Ends the group where that is due.
    fn press(&mut self, now: Instant) {
        self.seen = self.cancel.stopped();
        match self.seen {
            Some(Stop::Gently) if self.ending.is_none() => self.begin_to_end(Why::Asked, now),
            Some(Stop::AtOnce) => {
                if self.ending.is_none() {
                    self.begin_to_end(Why::Asked, now);
                }
                if let Some(ending) = &mut self.ending
                    && !ending.killed
                {
                    ending.kill_at = now;
                }
            }
            _ => {}
        }
        let is_late = self.deadline.is_some_and(|deadline| now >= deadline);
        if self.ending.is_none() && self.ended.is_none() && is_late {
            self.begin_to_end(Why::TooLong, now);
        }
        let lingers = |ended: &Ended| now.saturating_duration_since(ended.at) >= LINGER;
        if self.ending.is_none() && self.ended.as_ref().is_some_and(lingers) {
            self.begin_to_end(Why::LeftOver, now);
        }
        if let Some(ending) = &mut self.ending
            && !ending.killed
            && now >= ending.kill_at
        {
            ending.killed = true;
            group::send(self.group, Signal::KILL);
        }
    }

    fn begin_to_end(&mut self, why: Why, now: Instant) {
        let patience = match why {
            Why::LeftOver => LEFTOVERS_KILL_AFTER,
            Why::TooLong | Why::Asked => KILL_AFTER,
        };
        group::send(self.group, Signal::TERM);
        self.ending = Some(Ending {
            why,
            kill_at: now.checked_add(patience).unwrap_or(now),
            killed: false,
        });
    }

    /// Returns whether the leader and its whole group have ended.
    fn is_over(&self, now: Instant) -> bool {
        let gave_up = self.ending.is_some_and(|ending| {
            ending.killed && now.saturating_duration_since(ending.kill_at) >= GONE_AFTER
        });
        gave_up || (self.ended.is_some() && !group::is_alive(self.group))
    }

    fn exit(&self) -> Exit {
        match self.ending.map(|ending| ending.why) {
            Some(Why::TooLong) => return Exit::TimedOut,
            // A program that ended by itself before it was asked to counts as having ended by itself.
            Some(Why::Asked) => return Exit::Stopped,
            Some(Why::LeftOver) | None => {}
        }
        match self.ended {
            Some(ended) if ended.interrupted => Exit::Interrupted,
            Some(ended) => of_status(ended.status),
            None => Exit::Signal(Signal::KILL.as_raw()),
        }
    }
}

fn of_status(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Signal(Signal::KILL.as_raw()),
    }
}
