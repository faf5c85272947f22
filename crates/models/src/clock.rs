//! Time and randomness, as parameters.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use interlock_process::Cancel;

/// Result of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The time has passed.
    Over,
    /// The wait was cancelled.
    Cancelled,
}

/// Time and randomness. Tests and simulations provide their own.
pub trait Clock: Send + Sync {
    /// Returns milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Waits for `time`, or until `cancel` is set.
    fn wait(&self, time: Duration, cancel: &Cancel) -> Waited;

    /// Returns a random number from 0 up to, but excluding, 1.
    fn jitter(&self) -> f64;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    fn wait(&self, time: Duration, cancel: &Cancel) -> Waited {
        if cancel.wait(time) {
            Waited::Cancelled
        } else {
            Waited::Over
        }
    }

    fn jitter(&self) -> f64 {
        // Without randomness every caller waits the same time: worse for the provider, not wrong.
        let drawn = getrandom::u32().unwrap_or(0);
        f64::from(drawn) / (f64::from(u32::MAX) + 1.0)
    }
}
