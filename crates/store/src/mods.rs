//! Code inside a client that a person has accepted, identified by its digest.

use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{Sync, Versioned},
    home::Home,
    records::{Key, Record},
};

/// Code that runs inside a client and may overrule its hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientMod {
    /// Folder that the code is loaded from, links resolved.
    pub path: String,
    /// SHA-256 of all its files, in lower-case hex; other text if some file could not be read.
    pub digest: String,
}

impl Versioned for ClientMod {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Record for ClientMod {
    const PLACE: &'static str = "mods";
    const SYNC: Sync = Sync::Now;
}

/// Digits of a complete digest.
const DIGITS: usize = 64;

impl ClientMod {
    /// Returns whether the digest covers all files, so that the code can be accepted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.digest.len() == DIGITS && self.digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn key(&self) -> Key {
        Key::of(&[self.path.as_bytes()])
    }
}

impl Home {
    /// Returns whether a person has accepted the current code.
    ///
    /// # Errors
    /// The stored data cannot be read.
    pub fn is_accepted_mod(&self, found: &ClientMod) -> Result<bool, StoreError> {
        let accepted = self.records::<ClientMod>().get(&found.key())?;
        Ok(found.is_whole() && accepted.as_ref() == Some(found))
    }

    /// Records that a person accepts the current code.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn accept_mod(&self, found: &ClientMod) -> Result<(), StoreError> {
        self.records().put(&found.key(), found)
    }
}
