//! How others tell the thread that follows a program to stop it.

use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// How a program is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// Asked to end first.
    Gently,
    /// Killed.
    AtOnce,
}

/// The way to stop what one thread carries out.
#[derive(Debug)]
pub(crate) struct Control {
    stop: Mutex<Option<Stop>>,
    /// Whether the program stands still, stopped at the terminal.
    halted: AtomicBool,
    wake: PipeWriter,
    woken: PipeReader,
}

impl Control {
    /// Makes the way.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        for end in [woken.as_fd(), wake.as_fd()] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            stop: Mutex::new(None),
            halted: AtomicBool::new(false),
            wake,
            woken,
        })
    }

    /// Asks that it be ended: gently at first, at once when asked with `at_once`.
    pub(crate) fn stop(&self, how: Stop) {
        let mut stop = self.lock();
        *stop = Some(stop.map_or(how, |before| before.max(how)));
        drop(stop);
        self.wake();
    }

    /// Returns what was asked so far.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        *self.lock()
    }

    /// Wakes the thread that follows.
    pub(crate) fn wake(&self) {
        // A full pipe wakes it as well.
        let _ = (&self.wake).write(&[0]);
    }

    /// Returns what becomes readable when somebody woke the thread.
    pub(crate) fn woken(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    /// Tells the thread that follows that the program was stopped at the terminal.
    pub(super) fn tell_stopped(&self) {
        self.halted.store(true, Ordering::Release);
        self.wake();
    }

    /// Forgets having been woken; tells whether it was because the program was stopped.
    pub(super) fn hear(&self) -> bool {
        let mut bytes = [0; 64];
        while matches!((&self.woken).read(&mut bytes), Ok(1..)) {}
        self.halted.swap(false, Ordering::AcqRel)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Stop>> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn who_asks_gently_takes_no_kill_back() {
        let control = Control::new().unwrap();
        assert_eq!(control.stopped(), None);
        for (asked, then) in [
            (Stop::Gently, Stop::Gently),
            (Stop::AtOnce, Stop::AtOnce),
            (Stop::Gently, Stop::AtOnce),
        ] {
            control.stop(asked);
            assert_eq!(control.stopped(), Some(then), "{asked:?}");
        }
    }
}
