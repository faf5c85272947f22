//! Code inside of a client that a person has accepted, bound to its digest.

use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{Sync, Versioned},
    home::Home,
    records::{Key, Record},
};

/// Code that runs inside of a client and may overrule its hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientMod {
    /// The folder it is loaded from, its links resolved.
    pub path: String,
    /// SHA-256 of everything in it, lower-case hex; other text where not everything could be read.
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

/// Digits of a digest over everything.
const DIGITS: usize = 64;

impl ClientMod {
    /// Tells whether the digest is over everything in the folder, so that it can be accepted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.digest.len() == DIGITS && self.digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn key(&self) -> Key {
        Key::of(&[self.path.as_bytes()])
    }
}

impl Home {
    /// Tells whether a person has accepted the code as it is now.
    ///
    /// # Errors
    /// What was accepted cannot be read.
    pub fn is_accepted_mod(&self, found: &ClientMod) -> Result<bool, StoreError> {
        let accepted = self.records::<ClientMod>().get(&found.key())?;
        Ok(found.is_whole() && accepted.as_ref() == Some(found))
    }

    /// Keeps that a person accepts the code as it is now.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn accept_mod(&self, found: &ClientMod) -> Result<(), StoreError> {
        self.records().put(&found.key(), found)
    }
}
