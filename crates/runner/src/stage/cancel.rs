//! What ends an attempt from outside: a cancellation, or its time limit.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use interlock_process::Cancel;

use super::{channel::ChannelAnswer, line::Heard};

/// Why an attempt must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It was stopped.
    Stopped,
    /// It took too long.
    Late,
}

/// Cancels whatever an attempt is doing; once cancelled, it stays so.
#[derive(Debug, Clone)]
pub(crate) struct CancelToken {
    cancel: Cancel,
    why: Arc<Mutex<Option<Why>>>,
    /// The channel of a waiting thread that must check again.
    waiting: Arc<Mutex<Option<Sender<Heard>>>>,
}

/// Number that belongs to no request.
const NO_REQUEST: usize = 0;

impl CancelToken {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            cancel: Cancel::new()?,
            why: Arc::default(),
            waiting: Arc::default(),
        })
    }

    /// Drops the open stream, and ends the running program.
    pub(crate) fn cancel(&self, why: Why) {
        let mut first = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        // A stop takes precedence: the run is asked nothing more.
        *first = Some(match (*first, why) {
            (None | Some(Why::Late), why) => why,
            (Some(Why::Stopped), _) => Why::Stopped,
        });
        drop(first);
        self.cancel.cancel();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = waiting.as_ref() {
            // If it cannot be sent, nobody waits any more.
            let _ = waiting.send(Heard::Channel(NO_REQUEST, ChannelAnswer::Broken));
        }
    }

    /// Makes the receiver of `waiting` check again once the token is cancelled.
    pub(super) fn wake(&self, waiting: Sender<Heard>) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    }

    /// Stops the attempt; with `at_once`, running programs are killed.
    pub(crate) fn stop(&self, at_once: bool) {
        if at_once {
            self.cancel.kill();
        }
        self.cancel(Why::Stopped);
    }

    /// Waits for so many milliseconds, or until it is cancelled.
    pub(super) fn rest(&self, ms: u64) {
        let (wake, woken) = channel();
        self.wake(wake);
        if self.reason().is_none() {
            // Cancelled, or the time is over: the caller checks again.
            let _ = woken.recv_timeout(Duration::from_millis(ms));
        }
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns why it was cancelled; `None` if it was not.
    pub(super) fn reason(&self) -> Option<Why> {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether it was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.reason().is_some()
    }

    /// Returns the handle for models and tools.
    pub(super) const fn handle(&self) -> &Cancel {
        &self.cancel
    }
}

/// Cancels a token when the time of an attempt is over; time that people take does not count.
pub(super) struct Timer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// When the time is over; `None` while the clock is stopped.
    end: Option<Instant>,
    closed: bool,
}

impl Timer {
    /// Creates a timer with a stopped clock.
    pub(super) fn new(cancel_token: CancelToken) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                end: None,
                closed: false,
            }),
            changed: Condvar::new(),
        });
        let followed = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("stage-time".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || {
                if followed.wait() {
                    cancel_token.cancel(Why::Late);
                }
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Starts the clock with this much time left.
    pub(super) fn run(&self, left: Duration) {
        // A time that the clock cannot represent is not a limit.
        self.set(Instant::now().checked_add(left));
    }

    /// Stops the clock.
    pub(super) fn stand(&self) {
        self.set(None);
    }

    fn set(&self, end: Option<Instant>) {
        self.shared.lock().end = end;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of the time; returns `false` if the timer is no longer needed.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        while !state.closed {
            let Some(end) = state.end else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has cancelled nothing.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn stopped_it_stays_stopped() {
        let cancel_token = CancelToken::new().unwrap();
        assert_eq!(cancel_token.reason(), None);
        for (reason, then) in [
            (Why::Late, Why::Late),
            (Why::Stopped, Why::Stopped),
            (Why::Late, Why::Stopped),
        ] {
            cancel_token.cancel(reason);
            assert_eq!(cancel_token.reason(), Some(then), "{reason:?}");
        }
    }
}
