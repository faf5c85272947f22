//! Time and chance, as they come in.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use interlock_process::Cancel;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The time is over.
    Over,
    /// It was given up.
    Cancelled,
}

/// Time and chance. Tests and simulations bring their own.
pub trait Clock: Send + Sync {
    /// Returns milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Waits for `time`, or until `cancel` is pulled.
    fn wait(&self, time: Duration, cancel: &Cancel) -> Waited;

    /// Draws a number from 0 up to, and without, 1.
    fn lot(&self) -> f64;
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

    fn lot(&self) -> f64 {
        // Without chance every caller waits the same: worse for the provider, not wrong.
        let drawn = getrandom::u32().unwrap_or(0);
        f64::from(drawn) / (f64::from(u32::MAX) + 1.0)
    }
}
