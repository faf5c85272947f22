//! Calls that a client reports to two hooks, with what the second hook needs to know.

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

/// The second report of a judged call, which another hook will make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateCall {
    /// Run that judged the call.
    pub run: RunId,
    /// Id of the call.
    pub call: CallId,
    /// Sequence number of the state entry.
    pub entered_seq: u64,
    /// Digest of what both reports have in common.
    pub key: Digest,
    /// Hook that makes the second report.
    pub side: String,
    /// Why the call was refused; `entered_seq` is then the number of the last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// Duplicate calls of a session as stored.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredDuplicates {
    duplicates: Vec<DuplicateCall>,
}

impl Versioned for StoredDuplicates {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 1_048_576;
}

impl Record for StoredDuplicates {
    const PLACE: &'static str = "duplicate_calls";
}

/// Duplicate calls of a session, locked against its other hooks.
#[derive(Debug)]
pub struct DuplicateCalls<'a> {
    home: &'a Home,
    key: Key,
    kept: StoredDuplicates,
    _lock: File,
}

impl Home {
    /// Locks the duplicate calls of a session until the result is dropped.
    ///
    /// # Errors
    /// They cannot be read, or another process holds the lock for too long.
    pub fn lock_duplicate_calls(
        &self,
        session: &SessionKey,
    ) -> Result<DuplicateCalls<'_>, StoreError> {
        let records = self.records::<StoredDuplicates>();
        let lock = records.lock()?;
        let key = session.key();
        Ok(DuplicateCalls {
            kept: records.get(&key)?.unwrap_or_default(),
            home: self,
            key,
            _lock: lock,
        })
    }

    /// Removes the duplicate calls of a session that has no open call.
    ///
    /// # Errors
    /// They cannot be removed.
    pub fn drop_duplicate_calls(&self, session: &SessionKey) -> Result<(), StoreError> {
        let records = self.records::<StoredDuplicates>();
        if records.keys()?.is_empty() {
            return Ok(());
        }
        let _lock = records.lock()?;
        records.remove(&session.key()).map(drop)
    }
}

impl DuplicateCalls<'_> {
    /// Returns whether a duplicate with this key is expected from the hook `side`.
    #[must_use]
    pub fn has(&self, key: &Digest, side: &str) -> bool {
        let mut duplicates = self.kept.duplicates.iter();
        duplicates.any(|duplicate| duplicate.key == *key && duplicate.side == side)
    }

    /// Removes and returns the oldest duplicate with this key from the hook `side` that `fits`.
    ///
    /// # Errors
    /// The rest cannot be written.
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

    /// Adds duplicates, and removes those that are no longer `alive`.
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
