//! Wakes the thread that follows a program from the thread that waits for it.

use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Wakes the thread that follows a program.
#[derive(Debug)]
pub(crate) struct Waker {
    /// Whether the program was stopped at the terminal since the last check.
    halted: AtomicBool,
    wake: PipeWriter,
    woken: PipeReader,
}

impl Waker {
    /// # Errors
    /// The system has no more descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        for end in [woken.as_fd(), wake.as_fd()] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            halted: AtomicBool::new(false),
            wake,
            woken,
        })
    }

    /// Wakes the following thread.
    pub(crate) fn wake(&self) {
        // A full pipe wakes it as well.
        let _ = (&self.wake).write(&[0]);
    }

    /// Wakes it because the program was stopped at the terminal.
    pub(crate) fn wake_halted(&self) {
        self.halted.store(true, Ordering::Release);
        self.wake();
    }

    /// Returns the descriptor that becomes readable when the thread is woken.
    pub(crate) fn woken(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    /// Clears the wake-up; returns whether the program was stopped at the terminal.
    pub(crate) fn take_halted(&self) -> bool {
        let mut bytes = [0; 64];
        while matches!((&self.woken).read(&mut bytes), Ok(1..)) {}
        self.halted.swap(false, Ordering::AcqRel)
    }
}
