//! Starts `interlock exec` for one line and follows it to its end.

use std::{
    io::{self, Read as _, Write as _},
    net::Shutdown,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use interlock_process::{HeadTail, OutputPipe, PERSONS_TOKEN, group};
use interlock_sandbox::carrier::{CarrierMessage, Order};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Pid,
};

use crate::{Progress, ToolContext};

/// How long a line may take to end after it was asked to.
const KILL_AFTER: Duration = Duration::from_secs(5);
/// How long the checks after a killed line may take before everything is killed.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
/// How long other processes' output is read after the line's end was reported.
const LINGER: Duration = Duration::from_millis(200);
/// Interval of checks of what was killed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Number of bytes read at once.
const CHUNK: usize = 64 * 1024;
/// Maximum size of a report that is read, in bytes.
const REPORT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Whether standard error goes to the same place as standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    One,
    Two,
}

/// Why a line was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    TooLong,
    Asked,
}

/// What to run, and how.
pub(super) struct CommandSpec<'a> {
    pub(super) program: &'a Path,
    pub(super) order: &'a Order,
    pub(super) timeout: Duration,
    pub(super) streams: Streams,
    pub(super) bytes_max: usize,
}

/// Its outcome.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) out: HeadTail,
    pub(super) err: HeadTail,
    /// The last report.
    pub(super) told: Option<CarrierMessage>,
    pub(super) stopped: Option<Stop>,
}

/// Runs the order.
pub(super) fn follow(wanted: &CommandSpec<'_>, context: &ToolContext<'_>) -> io::Result<Outcome> {
    let mut order = serde_json::to_vec(wanted.order)?;
    order.push(b'\n');
    let (ours, theirs) = UnixStream::pair()?;
    let (out, out_writer) = io::pipe()?;
    let mut command = Command::new(wanted.program);
    command
        .args(["exec", "--planned"])
        .env_remove(PERSONS_TOKEN)
        .stdin(Stdio::from(OwnedFd::from(theirs)));
    let err = match wanted.streams {
        Streams::One => {
            command.stderr(out_writer.try_clone()?);
            None
        }
        Streams::Two => {
            let (err, err_writer) = io::pipe()?;
            command.stderr(err_writer);
            Some(err)
        }
    };
    command.stdout(out_writer);
    let child = command.spawn()?;
    // Otherwise the pipes would stay open on this side.
    drop(command);
    let mut follow = Follow {
        leader: Pid::from_child(&child),
        child: Guarded(child),
        out: Printed::new(Some(out.into()), wanted.bytes_max)?,
        err: Printed::new(err.map(OwnedFd::from), wanted.bytes_max)?,
        report: Report::default(),
        stop: None,
        seen: None,
        ended: None,
        context,
        deadline: Instant::now().checked_add(wanted.timeout),
    };
    let mut caller = ours;
    // A process that is already gone has reported the reason.
    let _ = caller.write_all(&order);
    let _ = caller.shutdown(Shutdown::Write);
    caller.set_nonblocking(true)?;
    follow.follow(&mut caller);
    Ok(Outcome {
        out: follow.out.kept,
        err: follow.err.kept,
        told: follow.report.last,
        stopped: follow.stop.map(|stop| stop.why),
    })
}

/// The process that runs the line; nothing of it is left behind.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            group::kill(Pid::from_child(&self.0));
            let _ = self.0.wait();
        }
    }
}

/// A line that is being ended.
#[derive(Debug, Clone, Copy)]
struct Stopping {
    why: Stop,
    kill_at: Instant,
    give_up_at: Instant,
}

struct Follow<'a> {
    leader: Pid,
    child: Guarded,
    out: Printed,
    err: Printed,
    report: Report,
    stop: Option<Stopping>,
    /// State of the cancellation at the last check.
    seen: Option<interlock_process::Stop>,
    /// When the process that runs the line had ended.
    ended: Option<Instant>,
    context: &'a ToolContext<'a>,
    deadline: Option<Instant>,
}

impl Follow<'_> {
    fn follow(&mut self, caller: &mut UnixStream) {
        let mut buffer = vec![0; CHUNK];
        loop {
            self.wait(caller);
            let context = self.context;
            let mut tell = |bytes: &[u8]| {
                if let Some(progress) = context.progress {
                    progress(Progress::Printed(bytes));
                }
            };
            let more_out = self.out.drain(&mut buffer, &mut tell);
            let more_err = self.err.drain(&mut buffer, &mut tell);
            let more = more_out || more_err;
            self.report.hear(caller, &mut buffer, context);
            let now = Instant::now();
            self.press(now);
            if self.ended.is_none() && matches!(self.child.0.try_wait(), Ok(Some(_))) {
                self.ended = Some(now);
                // What an unconfined line has left in its process group.
                group::kill(self.leader);
            }
            if !more && self.is_over(now) {
                self.report.hear(caller, &mut buffer, context);
                return;
            }
        }
    }

    /// Waits until something may have happened.
    fn wait(&self, caller: &UnixStream) {
        let mut fds = Vec::new();
        let mut add = |fd| fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        if !self.report.is_over {
            add(caller.as_fd());
        }
        self.out.pipe.waits().into_iter().for_each(&mut add);
        self.err.pipe.waits().into_iter().for_each(&mut add);
        let unseen = self.context.cancel.fd_beyond(self.seen);
        unseen.into_iter().for_each(&mut add);
        let now = Instant::now();
        let timeout = self
            .next_look(now)
            .map(|at| at.saturating_duration_since(now));
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        // Interrupted or not, everything is checked again.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    fn next_look(&self, now: Instant) -> Option<Instant> {
        let soon = now.checked_add(LOOK_EVERY);
        match (&self.ended, &self.stop) {
            // The end of the report comes shortly before the end of the process.
            (Some(_), _) => soon,
            _ if self.report.is_over => soon,
            (None, Some(stop)) if now < stop.kill_at => Some(stop.kill_at),
            (None, Some(_)) => soon,
            (None, None) => self.deadline,
        }
    }

    /// Ends the line if it is time.
    fn press(&mut self, now: Instant) {
        self.seen = self.context.cancel.stopped();
        if self.stop.is_none() && self.ended.is_none() {
            let is_late = self.deadline.is_some_and(|deadline| now >= deadline);
            let why = match (self.seen.is_some(), is_late) {
                (true, _) => Stop::Asked,
                (false, true) => Stop::TooLong,
                (false, false) => return,
            };
            group::ask(self.leader);
            let kill_at = now.checked_add(KILL_AFTER).unwrap_or(now);
            self.stop = Some(Stopping {
                why,
                kill_at,
                give_up_at: kill_at.checked_add(GIVE_UP_AFTER).unwrap_or(now),
            });
        }
        if let Some(stop) = &mut self.stop
            && self.seen == Some(interlock_process::Stop::AtOnce)
        {
            stop.kill_at = stop.kill_at.min(now);
        }
        if let (Some(stop), None) = (&self.stop, &self.ended)
            && now >= stop.kill_at
        {
            if now >= stop.give_up_at {
                group::kill(self.leader);
            } else {
                group::kill_members(self.leader);
            }
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let Some(ended) = self.ended else {
            return false;
        };
        let is_silent = self.out.pipe.waits().is_none() && self.err.pipe.waits().is_none();
        is_silent || now.saturating_duration_since(ended) >= LINGER
    }
}

/// Reports of the process that runs the line.
#[derive(Debug, Default)]
struct Report {
    bytes: Vec<u8>,
    last: Option<CarrierMessage>,
    is_over: bool,
}

impl Report {
    fn hear(&mut self, caller: &mut UnixStream, buffer: &mut [u8], context: &ToolContext<'_>) {
        while !self.is_over {
            match caller.read(buffer) {
                Ok(0) => self.is_over = true,
                Ok(count) => self
                    .bytes
                    .extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_over = true,
            }
            self.is_over |= self.bytes.len() > REPORT_BYTES_MAX;
        }
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let Ok(told) = serde_json::from_slice::<CarrierMessage>(&line) else {
                continue;
            };
            if let (CarrierMessage::Started { level, unconfined }, Some(progress)) =
                (&told, context.progress)
            {
                progress(Progress::Confined {
                    level: *level,
                    unconfined,
                });
            }
            self.last = Some(told);
        }
    }
}

/// One output of the line, and what is kept of it.
struct Printed {
    pipe: OutputPipe,
    kept: HeadTail,
}

impl Printed {
    fn new(pipe: Option<OwnedFd>, bytes_max: usize) -> io::Result<Self> {
        Ok(Self {
            pipe: OutputPipe::new(pipe)?,
            kept: HeadTail::new(bytes_max),
        })
    }

    /// Reads what is available; returns whether there may be more at once.
    fn drain(&mut self, buffer: &mut Vec<u8>, tell: &mut dyn FnMut(&[u8])) -> bool {
        self.pipe.drain(buffer, |bytes| {
            self.kept.take(bytes);
            tell(bytes);
        })
    }
}
