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
use interlock_sandbox::carried::{CarrierMessage, Order};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Pid,
};

use crate::{Progress, ToolContext};

/// How long a line has to end after it was asked to.
const KILL_AFTER: Duration = Duration::from_secs(5);
/// How long what comes after a killed line may take before all of it is killed.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
/// How long what others still print is waited for once the line's end is told.
const LINGER: Duration = Duration::from_millis(200);
/// Time between two looks at what was killed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Bytes taken at one time.
const CHUNK: usize = 64 * 1024;
/// Bytes of the longest report that is read.
const REPORT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Whether standard error goes where standard output goes.
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

/// What is to be carried out, and how.
pub(super) struct CommandSpec<'a> {
    pub(super) program: &'a Path,
    pub(super) order: &'a Order,
    pub(super) timeout: Duration,
    pub(super) streams: Streams,
    pub(super) bytes_max: usize,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) out: HeadTail,
    pub(super) err: HeadTail,
    /// The last that was told.
    pub(super) told: Option<CarrierMessage>,
    pub(super) stopped: Option<Stop>,
}

/// Carries the order out.
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
    // Else the pipes would stay open on this side.
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
    // One that is gone already has told why.
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

/// The process that carries the line; nothing of it is left behind.
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
    /// How far it was cancelled when that was last looked at.
    seen: Option<interlock_process::Stop>,
    /// When the process that carries the line was gone.
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
                // What a line that nothing holds has left in its group.
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
        // Interrupted or not, everything is looked at again.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    fn next_look(&self, now: Instant) -> Option<Instant> {
        let soon = now.checked_add(LOOK_EVERY);
        match (&self.ended, &self.stop) {
            // The end of the report comes a moment before the end of the process.
            (Some(_), _) => soon,
            _ if self.report.is_over => soon,
            (None, Some(stop)) if now < stop.kill_at => Some(stop.kill_at),
            (None, Some(_)) => soon,
            (None, None) => self.deadline,
        }
    }

    /// Ends the line where it is due.
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

/// What the process that carries the line has told.
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
            if let (CarrierMessage::Started { level, not_held }, Some(progress)) =
                (&told, context.progress)
            {
                progress(Progress::Held {
                    level: *level,
                    not_held,
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

    /// Takes what is there; tells whether there may be more at once.
    fn drain(&mut self, buffer: &mut Vec<u8>, tell: &mut dyn FnMut(&[u8])) -> bool {
        self.pipe.drain(buffer, |bytes| {
            self.kept.take(bytes);
            tell(bytes);
        })
    }
}
