//! What ends an attempt from outside: a stop, or its time.

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

/// Why an attempt is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody stopped it.
    Stopped,
    /// It took too long.
    Late,
}

/// Ends what an attempt does, wherever it is; pulled once it stays pulled.
#[derive(Debug, Clone)]
pub(crate) struct CancelToken {
    cancel: Cancel,
    why: Arc<Mutex<Option<Why>>>,
    /// Who waits for others meanwhile, and is to look again.
    waiting: Arc<Mutex<Option<Sender<Heard>>>>,
}

/// The number of no request.
const NO_REQUEST: usize = 0;

impl CancelToken {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            cancel: Cancel::new()?,
            why: Arc::default(),
            waiting: Arc::default(),
        })
    }

    /// Drops the stream that is read, and ends the program that runs.
    pub(crate) fn pull(&self, why: Why) {
        let mut first = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        // Being stopped says more: nothing is asked of the run any more.
        *first = Some(match (*first, why) {
            (None | Some(Why::Late), why) => why,
            (Some(Why::Stopped), _) => Why::Stopped,
        });
        drop(first);
        self.cancel.cancel();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = waiting.as_ref() {
            // Nobody waits any more when it cannot be sent.
            let _ = waiting.send(Heard::Channel(NO_REQUEST, ChannelAnswer::Broken));
        }
    }

    /// Has whoever waits at the other end of `waiting` look again once it is pulled.
    pub(super) fn wake(&self, waiting: Sender<Heard>) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    }

    /// Stops it; `at_once`: what runs is killed.
    pub(crate) fn stop(&self, at_once: bool) {
        if at_once {
            self.cancel.kill();
        }
        self.pull(Why::Stopped);
    }

    /// Waits so many milliseconds, or until it is pulled.
    pub(super) fn rest(&self, ms: u64) {
        let (wake, woken) = channel();
        self.wake(wake);
        if self.pulled().is_none() {
            // Pulled, or the time is over: whoever waits looks anew.
            let _ = woken.recv_timeout(Duration::from_millis(ms));
        }
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns why it was pulled; `None`: it was not.
    pub(super) fn pulled(&self) -> Option<Why> {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether it was pulled.
    pub(crate) fn is_pulled(&self) -> bool {
        self.pulled().is_some()
    }

    /// Returns what models and tools are given.
    pub(super) const fn cancel(&self) -> &Cancel {
        &self.cancel
    }
}

/// Pulls a brake when the time of an attempt is over; time that people take does not count.
pub(super) struct Timer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// When it is over; `None`: the clock stands.
    end: Option<Instant>,
    closed: bool,
}

impl Timer {
    /// Starts with a clock that stands.
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
                    cancel_token.pull(Why::Late);
                }
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Lets the clock run, with so much left.
    pub(super) fn run(&self, left: Duration) {
        // Beyond what the clock can say is no bound.
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

    /// Waits for the end of the time; `false`: it is not waited for any more.
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
            // One that broke has pulled nothing.
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
        assert_eq!(cancel_token.pulled(), None);
        for (pulled, then) in [
            (Why::Late, Why::Late),
            (Why::Stopped, Why::Stopped),
            (Why::Late, Why::Stopped),
        ] {
            cancel_token.pull(pulled);
            assert_eq!(cancel_token.pulled(), Some(then), "{pulled:?}");
        }
    }
}
