//! Whether anything that binds sessions to runs has changed since it was last examined.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

/// A file system may give two changes this close together the same timestamp.
const SETTLED: Duration = Duration::from_millis(100);

/// Modification times of some directories; `None` for a missing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp<const N: usize>([Option<SystemTime>; N]);

impl<const N: usize> Stamp<N> {
    /// Reads the times of `places` below `home`.
    pub(super) fn look(home: &Path, places: [&str; N]) -> Self {
        Self(places.map(|place| {
            let data = fs::metadata(home.join(place));
            data.and_then(|data| data.modified()).ok()
        }))
    }

    /// Returns whether a later change would certainly be visible.
    fn is_settled(self) -> bool {
        let now = SystemTime::now();
        let since = |at: &SystemTime| now.duration_since(*at).ok();
        let mut at = self.0.iter().flatten();
        at.all(|at| since(at).is_some_and(|since| since > SETTLED))
    }
}

/// A value that stays valid until a directory changes.
#[derive(Debug, Clone)]
pub(super) struct Cached<T, const N: usize>(Option<(Stamp<N>, T)>, bool);

impl<T, const N: usize> Cached<T, N> {
    pub(super) const fn new() -> Self {
        Self(None, false)
    }

    /// Returns the value if nothing has changed since.
    pub(super) fn get(&self, now: Stamp<N>) -> Option<&T> {
        let (then, found) = self.0.as_ref()?;
        (self.1 && *then == now).then_some(found)
    }

    /// Stores a value that was computed after `seen` was read.
    pub(super) fn keep(&mut self, seen: Stamp<N>, found: T) {
        self.0 = Some((seen, found));
        self.1 = seen.is_settled();
    }

    /// Returns the last value.
    pub(super) fn last(&self) -> Option<&T> {
        self.0.as_ref().map(|(_, found)| found)
    }

    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}
