//! The handle that another thread pulls.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;

/// Gives a call up from another thread: its wait or its stream ends at once.
///
/// Clones pull the same handle. Once pulled it stays so.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pulled: watch::Sender<bool>,
    /// For threads that wait without a runtime.
    waiting: Mutex<()>,
    woken: Condvar,
}

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(Inner {
            pulled: watch::Sender::new(false),
            waiting: Mutex::default(),
            woken: Condvar::new(),
        }))
    }
}

impl Cancel {
    /// Makes a handle that nobody has pulled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up whatever was called with it; again: nothing more happens.
    pub fn pull(&self) {
        let _held = self
            .0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.0.pulled.send_replace(true);
        self.0.woken.notify_all();
    }

    /// Tells whether it was pulled.
    #[must_use]
    pub fn is_pulled(&self) -> bool {
        *self.0.pulled.borrow()
    }

    /// Blocks until it is pulled, at most `time`; `true`: it was pulled.
    #[must_use]
    pub fn wait(&self, time: Duration) -> bool {
        let end = Instant::now().checked_add(time);
        let mut held = self
            .0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while !self.is_pulled() {
            // Beyond what the clock can say: as long as can be said, then again.
            let left = end.map_or(Duration::MAX / 4, |end| {
                end.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return false;
            }
            let waited = self.0.woken.wait_timeout(held, left.min(LONGEST));
            (held, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// Ends when it is pulled.
    pub(crate) async fn pulled(&self) {
        // Its sender lives as long as `self`.
        let _ = self.0.pulled.subscribe().wait_for(|pulled| *pulled).await;
    }
}

/// What every system can wait for at once.
const LONGEST: Duration = Duration::from_hours(24);
