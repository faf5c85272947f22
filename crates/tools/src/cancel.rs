//! How another thread ends a call.

use std::{
    io::{self, PipeReader, PipeWriter},
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// A way to end a call from another thread; copies of it are the same one.
///
/// Pulled once it stays pulled.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Line>);

#[derive(Debug)]
struct Line {
    is_pulled: AtomicBool,
    /// Closed when it is pulled, which the other end shows to whoever waits.
    open: Mutex<Option<PipeWriter>>,
    end: PipeReader,
}

impl Cancel {
    /// Makes one that nobody has pulled.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        let (end, open) = io::pipe()?;
        Ok(Self(Arc::new(Line {
            is_pulled: AtomicBool::new(false),
            open: Mutex::new(Some(open)),
            end,
        })))
    }

    /// Ends what is under way and what would begin.
    pub fn pull(&self) {
        self.0.is_pulled.store(true, Ordering::Release);
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open = None;
    }

    /// Tells whether it was pulled.
    #[must_use]
    pub fn is_pulled(&self) -> bool {
        self.0.is_pulled.load(Ordering::Acquire)
    }

    /// Returns what hangs up when it is pulled, to be waited for beside others.
    #[must_use]
    pub fn pulled(&self) -> BorrowedFd<'_> {
        self.0.end.as_fd()
    }
}
