//! Cancels a run on a signal of the system or the person at the terminal.

use std::thread::{self, JoinHandle};

use interlock_runner::Canceller;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::{Handle, Signals},
};

use crate::{authority, failure::Failure};

/// Cancels the run on each signal, until dropped.
pub(super) struct Cancelling {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Cancelling {
    /// Begins to listen: the first signal cancels the run, the second kills at once.
    pub(super) fn begin(canceller: Canceller) -> Result<Self, Failure> {
        let wanted = [SIGINT, SIGTERM, SIGHUP];
        let ignored = ignored();
        // A signal that was ignored at the start, as with `nohup`, stays ignored.
        let mut signals = Signals::new(
            wanted
                .into_iter()
                .filter(|signal| ignored >> (signal - 1) & 1 == 0),
        )?;
        let handle = signals.handle();
        let by = authority::name();
        let thread = thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for _ in signals.forever() {
                    canceller.cancel(&by);
                }
            })?;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for Cancelling {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // If it panicked, there is nothing left to report.
            let _ = thread.join();
        }
    }
}

/// Returns the signals that this process was started with ignored, as a bit set, if the system tells.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
