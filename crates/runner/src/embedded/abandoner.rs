//! Ends what a run has started when this process may no longer carry it.

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use interlock_process::{Cancel, Stop};
use interlock_store::StoreError;

use crate::stage::CancelToken;

/// A run is no longer carried by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this process no longer carries the run: nothing more of it is recorded here")]
pub struct Abandoned;

/// A handle to end what a run has started, from another thread. Clones are the same handle.
///
/// It does not wait for the log: the programs end even if the database does not answer. From then on, the run appends
/// nothing here and starts nothing, and [`Embedded::drive`](super::Embedded::drive) fails with [`Abandoned`].
#[derive(Clone, Default)]
pub struct Abandoner(Arc<Mutex<Started>>);

#[derive(Default)]
struct Started {
    how: Option<Stop>,
    /// What ends each effect under way, by its id.
    running: BTreeMap<String, Ends>,
}

type Ends = (Cancel, Option<CancelToken>);

impl Abandoner {
    /// Kills everything at once.
    pub fn abandon(&self) {
        self.stop(Stop::AtOnce);
    }

    /// Asks everything to end; what does not end is killed.
    pub fn abandon_gently(&self) {
        self.stop(Stop::Gently);
    }

    fn stop(&self, how: Stop) {
        let mut started = self.lock();
        // INVARIANT: set before anything ends, so that no end that it causes is recorded.
        started.how = started.how.max(Some(how));
        for (cancel, cancel_token) in started.running.values() {
            cancel.stop(how);
            if let Some(cancel_token) = cancel_token {
                cancel_token.stop(how == Stop::AtOnce);
            }
        }
    }

    /// Fails if the run was abandoned.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match self.how() {
            None => Ok(()),
            Some(_) => Err(StoreError::Elsewhere(Box::new(Abandoned))),
        }
    }

    /// Returns how the run was abandoned; `None` if it was not.
    pub(super) fn how(&self) -> Option<Stop> {
        self.lock().how
    }

    /// Remembers what ends an effect; fails if the run was abandoned, so that nothing starts.
    pub(super) fn enter(&self, id: &str, ends: Ends) -> io::Result<()> {
        let mut started = self.lock();
        if started.how.is_some() {
            return Err(io::Error::other(Abandoned));
        }
        started.running.insert(id.to_owned(), ends);
        Ok(())
    }

    /// Forgets an effect that has ended.
    pub(super) fn leave(&self, id: &str) {
        self.lock().running.remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, Started> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Abandoner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abandoner").finish_non_exhaustive()
    }
}
