//! Lets another thread end what is under way.

use std::{
    io::{self, PipeReader, PipeWriter},
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::watch;

/// How something is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// It is asked to end first.
    Gently,
    /// It is killed.
    AtOnce,
}

/// Ends what is under way from another thread: a program, a request, a wait. Clones are the same token.
///
/// Once set, it stays set; a request to end gently does not take back a request to kill.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Flags>);

#[derive(Debug)]
struct Flags {
    cancelled: Flag,
    killed: Flag,
}

/// Something that is set once and wakes whoever waits for it.
#[derive(Debug)]
struct Flag {
    is_set: watch::Sender<bool>,
    /// The write end of a pipe: closed when the flag is set, so that the read end hangs up.
    open: Mutex<Option<PipeWriter>>,
    end: PipeReader,
}

impl Flag {
    fn new() -> io::Result<Self> {
        let (end, open) = io::pipe()?;
        Ok(Self {
            is_set: watch::Sender::new(false),
            open: Mutex::new(Some(open)),
            end,
        })
    }

    fn set(&self) {
        self.is_set.send_replace(true);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open = None;
    }

    fn is_set(&self) -> bool {
        *self.is_set.borrow()
    }
}

impl Cancel {
    /// Makes a token that nobody has set.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(Flags {
            cancelled: Flag::new()?,
            killed: Flag::new()?,
        })))
    }

    /// Ends what is under way and anything started later; what runs is asked to end, and killed if it does not.
    pub fn cancel(&self) {
        self.0.cancelled.set();
    }

    /// Cancels, and kills what runs without asking it to end first.
    pub fn kill(&self) {
        self.0.killed.set();
        self.0.cancelled.set();
    }

    /// Sets the token to `stop`.
    pub fn stop(&self, stop: Stop) {
        match stop {
            Stop::Gently => self.cancel(),
            Stop::AtOnce => self.kill(),
        }
    }

    /// Returns whether it was set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_set()
    }

    /// Returns whether what runs is to be killed without being asked to end.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.0.killed.is_set()
    }

    /// Returns how far it was set; `None` if it was not.
    #[must_use]
    pub fn stopped(&self) -> Option<Stop> {
        if self.is_killed() {
            return Some(Stop::AtOnce);
        }
        self.is_cancelled().then_some(Stop::Gently)
    }

    /// Returns a descriptor that hangs up when the token is set, to be polled with others.
    #[must_use]
    pub fn cancelled_fd(&self) -> BorrowedFd<'_> {
        self.0.cancelled.end.as_fd()
    }

    /// Returns a descriptor that hangs up when what runs is to be killed.
    #[must_use]
    pub fn killed_fd(&self) -> BorrowedFd<'_> {
        self.0.killed.end.as_fd()
    }

    /// Returns a descriptor that hangs up when the token is set further than `seen`; `None` if it cannot be.
    ///
    /// If it was set since the caller looked, the descriptor has hung up already, so that polling it returns at once.
    #[must_use]
    pub fn fd_beyond(&self, seen: Option<Stop>) -> Option<BorrowedFd<'_>> {
        match seen {
            None => Some(self.cancelled_fd()),
            Some(Stop::Gently) => Some(self.killed_fd()),
            Some(Stop::AtOnce) => None,
        }
    }

    /// Blocks until it is set, for at most `time`; returns whether it was set.
    #[must_use]
    pub fn wait(&self, time: Duration) -> bool {
        // A deadline that the clock cannot represent is no bound.
        let end = Instant::now().checked_add(time);
        while !self.is_cancelled() {
            let left = end.map_or(LONGEST, |end| {
                end.saturating_duration_since(Instant::now()).min(LONGEST)
            });
            if left.is_zero() {
                return false;
            }
            let left = Timespec::try_from(left).ok();
            // Whether interrupted or not, everything is checked again.
            let hung_up = PollFd::from_borrowed_fd(self.cancelled_fd(), PollFlags::IN);
            let _ = poll(&mut [hung_up], left.as_ref());
        }
        true
    }

    /// Completes when the token is set.
    pub async fn cancelled(&self) {
        // The sender lives as long as `self`.
        let _ = self
            .0
            .cancelled
            .is_set
            .subscribe()
            .wait_for(|set| *set)
            .await;
    }
}

/// The longest time for which every system can wait at once.
const LONGEST: Duration = Duration::from_hours(24);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn who_asks_gently_takes_no_kill_back() {
        let cancel = Cancel::new().unwrap();
        assert_eq!(cancel.stopped(), None);
        for (asked, then) in [
            (Stop::Gently, Stop::Gently),
            (Stop::AtOnce, Stop::AtOnce),
            (Stop::Gently, Stop::AtOnce),
        ] {
            cancel.stop(asked);
            assert_eq!(cancel.stopped(), Some(then), "{asked:?}");
            assert!(cancel.is_cancelled());
        }
    }

    #[test]
    fn a_wait_ends_with_its_time_or_with_the_token() {
        let cancel = Cancel::new().unwrap();
        assert!(!cancel.wait(Duration::ZERO));
        let other = cancel.clone();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| cancel.wait(Duration::MAX));
            other.cancel();
            assert!(waits.join().unwrap());
        });
        assert!(cancel.wait(Duration::ZERO));
    }

    #[test]
    fn whoever_polls_is_woken_by_what_it_has_not_seen() {
        let is_ready = |fd| {
            let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
            poll(&mut fds, Some(&Timespec::default())).unwrap() > 0
        };
        let cancel = Cancel::new().unwrap();
        let wakes = |seen| cancel.fd_beyond(seen).is_some_and(is_ready);
        let all = [None, Some(Stop::Gently), Some(Stop::AtOnce)];
        assert_eq!(all.map(wakes), [false, false, false]);
        cancel.cancel();
        assert!(is_ready(cancel.cancelled_fd()));
        assert_eq!(all.map(wakes), [true, false, false]);
        cancel.kill();
        assert!(is_ready(cancel.killed_fd()));
        assert_eq!(all.map(wakes), [true, true, false]);
    }
}
