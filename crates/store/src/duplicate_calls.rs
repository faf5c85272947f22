//! Calls that a client tells of twice: what the hook that is still to come will ask.

use std::fs::File;

use interlock_core::names::{CallId, Digest, RunId};
use serde::{Deserialize, Serialize};

use crate::{
    bindings::SessionKey,
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Key, Record},
};

/// The other telling of an allowed call, which is still to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateCall {
    /// The run that allowed the call.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// When its state was entered.
    pub entered_seq: u64,
    /// Digest of what both tellings say.
    pub key: Digest,
    /// Which hook tells it.
    pub side: String,
    /// Why the call was refused; `entered_seq` is then the number of the last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// The twins of a session, as they are kept.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    duplicates: Vec<DuplicateCall>,
}

impl Versioned for Kept {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 1_048_576;
}

impl Record for Kept {
    const PLACE: &'static str = "twins";
}

/// The twins of a session, to be changed; no other hook of it changes them meanwhile.
#[derive(Debug)]
pub struct DuplicateCalls<'a> {
    home: &'a Home,
    key: Key,
    kept: Kept,
    _lock: File,
}

impl Home {
    /// Holds the twins of a session still, for one process at a time, until dropped.
    ///
    /// # Errors
    /// They cannot be read, or another process holds on for too long.
    pub fn lock_twins(&self, session: &SessionKey) -> Result<DuplicateCalls<'_>, StoreError> {
        let twins = self.records::<Kept>();
        let lock = twins.lock()?;
        let key = session.key();
        Ok(DuplicateCalls {
            kept: twins.get(&key)?.unwrap_or_default(),
            home: self,
            key,
            _lock: lock,
        })
    }

    /// Removes the twins of a session: none of its calls is under way.
    ///
    /// # Errors
    /// They cannot be removed.
    pub fn drop_twins(&self, session: &SessionKey) -> Result<(), StoreError> {
        let twins = self.records::<Kept>();
        if twins.keys()?.is_empty() {
            return Ok(());
        }
        let _lock = twins.lock()?;
        twins.remove(&session.key()).map(drop)
    }
}

impl DuplicateCalls<'_> {
    /// Tells whether there is a twin of this side, whether it fits or not.
    #[must_use]
    pub fn has(&self, key: &Digest, side: &str) -> bool {
        let mut duplicates = self.kept.duplicates.iter();
        duplicates.any(|duplicate| duplicate.key == *key && duplicate.side == side)
    }

    /// Takes the oldest twin of this side that `fits`; nobody else gets it.
    ///
    /// # Errors
    /// What is left cannot be written.
    pub fn take(
        &mut self,
        key: &Digest,
        side: &str,
        fits: impl Fn(&DuplicateCall) -> bool,
    ) -> Result<Option<DuplicateCall>, StoreError> {
        let is_it = |duplicate: &DuplicateCall| {
            duplicate.key == *key && duplicate.side == side && fits(duplicate)
        };
        let Some(at) = self.kept.duplicates.iter().position(is_it) else {
            return Ok(None);
        };
        let duplicate = self.kept.duplicates.remove(at);
        self.write()?;
        Ok(Some(duplicate))
    }

    /// Leaves twins, and drops those that are not `alive` any more.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn leave(
        &mut self,
        duplicates: impl IntoIterator<Item = DuplicateCall>,
        alive: impl Fn(&DuplicateCall) -> bool,
    ) -> Result<(), StoreError> {
        self.kept.duplicates.retain(alive);
        self.kept.duplicates.extend(duplicates);
        self.write()
    }

    fn write(&self) -> Result<(), StoreError> {
        self.home.records().put(&self.key, &self.kept)
    }
}
