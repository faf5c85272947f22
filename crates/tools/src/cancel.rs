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
pub struct Cancel(Arc<CancelState>);

#[derive(Debug)]
struct CancelState {
    pulled: Mark,
    hurried: Mark,
}

/// Something that is said once, and wakes whoever waits for it.
#[derive(Debug)]
struct Mark {
    is_set: AtomicBool,
    /// Closed when it is set, which the other end shows to whoever waits.
    open: Mutex<Option<PipeWriter>>,
    end: PipeReader,
}

impl Mark {
    fn new() -> io::Result<Self> {
        let (end, open) = io::pipe()?;
        Ok(Self {
            is_set: AtomicBool::new(false),
            open: Mutex::new(Some(open)),
            end,
        })
    }

    fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open = None;
    }

    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }
}

impl Cancel {
    /// Makes one that nobody has pulled.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(CancelState {
            pulled: Mark::new()?,
            hurried: Mark::new()?,
        })))
    }

    /// Ends what is under way and what would begin.
    pub fn pull(&self) {
        self.0.pulled.set();
    }

    /// The same, and does not wait for a line that was asked to end: it is killed.
    pub fn pull_at_once(&self) {
        self.0.hurried.set();
        self.0.pulled.set();
    }

    /// Tells whether it was pulled.
    #[must_use]
    pub fn is_pulled(&self) -> bool {
        self.0.pulled.is_set()
    }

    /// Tells whether what was asked to end is not waited for.
    #[must_use]
    pub fn is_hurried(&self) -> bool {
        self.0.hurried.is_set()
    }

    /// Returns what hangs up when it is pulled, to be waited for beside others.
    #[must_use]
    pub fn pulled(&self) -> BorrowedFd<'_> {
        self.0.pulled.end.as_fd()
    }

    /// Returns what hangs up when nothing is waited for any more.
    #[must_use]
    pub fn hurried(&self) -> BorrowedFd<'_> {
        self.0.hurried.end.as_fd()
    }
}
