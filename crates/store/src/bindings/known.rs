//! All bindings, cached for repeated use.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Binding, kept::SESSIONS, kept::all_sessions};
use crate::error::StoreError;

/// Seconds within which a directory may change again without a visible difference.
const SETTLED_SECONDS: i64 = 2;

/// The bindings as last read; they are read again only after one was written or removed.
#[derive(Debug, Default)]
pub struct KnownSessions(Mutex<Option<(Stamp, Arc<[Binding]>)>>);

/// Stamp of a directory that changes whenever a file in it is written or removed.
///
/// The time of the last change of its entries cannot be set back, unlike that of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    changed: (i64, i64),
}

impl Stamp {
    /// Reads the stamp of a directory; `None`: it proves nothing, because the directory changed too recently.
    fn of(directory: &Path, now_ms: u64) -> Option<Self> {
        let found = fs::symlink_metadata(directory).ok()?;
        let now = i64::try_from(now_ms / 1_000).ok()?;
        (found.ctime() + SETTLED_SECONDS < now).then(|| Self {
            file: (found.dev(), found.ino()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl KnownSessions {
    /// Returns all bindings below `root`.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(super) fn read(&self, root: &Path, now_ms: u64) -> Result<Arc<[Binding]>, StoreError> {
        // Looked at first: what is written while the files are read makes another stamp.
        let stamp = Stamp::of(&root.join(SESSIONS), now_ms);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(stamp), Some((before, bindings))) = (stamp, known.as_ref())
            && stamp == *before
        {
            return Ok(Arc::clone(bindings));
        }
        let bindings: Arc<[Binding]> = all_sessions(root)?.into_iter().collect::<Result<_, _>>()?;
        *known = stamp.map(|stamp| (stamp, Arc::clone(&bindings)));
        Ok(bindings)
    }
}
