//! The person's passkeys: public keys with their names and counters.

use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
};

const FILE_NAME: &str = "passkeys.json";
const LOCK: &str = "passkeys.lock";
/// Maximum number of passkeys.
const PASSKEYS_MAX: usize = 64;

/// A passkey of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passkey {
    /// Id of the passkey, in hex.
    pub credential: String,
    /// Name that the person gave it.
    pub name: String,
    /// Public key, a COSE key in hex.
    pub public_key: String,
    /// Signature counter at its last use; 0: it does not count.
    pub counter: u32,
    /// Time of enrolment, in milliseconds since 1970.
    pub enrolled_ms: u64,
    /// Time of its last use, in milliseconds since 1970; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_ms: Option<u64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    passkeys: Vec<Passkey>,
}

impl Versioned for Stored {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 1024 * 1024;
}

/// Result of enrolling a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enrolled {
    /// It is enrolled.
    Done,
    /// Another passkey has this name.
    NameTaken,
    /// It was already enrolled.
    KnownAlready,
    /// The maximum number of passkeys is reached.
    TooMany,
}

/// Result of using a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// The use is recorded.
    Noted,
    /// The passkey is not enrolled, or not with this key.
    Unknown,
    /// Its counter did not increase: somebody has a copy of the key, or the assertion is old.
    CountsBack,
}

impl Home {
    /// Lists the passkeys in the order of their enrolment.
    ///
    /// # Errors
    /// The stored data cannot be read.
    pub fn passkeys(&self) -> Result<Vec<Passkey>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Vec::new());
        };
        let stored: Option<Stored> = files::read(&root.join(FILE_NAME))?;
        Ok(stored.unwrap_or_default().passkeys)
    }

    /// Enrols a passkey.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn add_passkey(&self, new: Passkey) -> Result<Enrolled, StoreError> {
        self.change_passkeys(|all| {
            if all.iter().any(|one| one.name == new.name) {
                return (Enrolled::NameTaken, false);
            }
            if all.iter().any(|one| one.credential == new.credential) {
                return (Enrolled::KnownAlready, false);
            }
            if all.len() >= PASSKEYS_MAX {
                return (Enrolled::TooMany, false);
            }
            all.push(new);
            (Enrolled::Done, true)
        })
    }

    /// Removes the passkey with this name; `false`: there is none.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn remove_passkey(&self, name: &str) -> Result<bool, StoreError> {
        self.change_passkeys(|all| {
            let before = all.len();
            all.retain(|one| one.name != name);
            (all.len() < before, all.len() < before)
        })
    }

    /// Records a signature of a passkey; refuses a counter that does not increase.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn use_passkey(
        &self,
        credential: &str,
        public_key: &str,
        counter: u32,
        at_ms: u64,
    ) -> Result<Used, StoreError> {
        self.change_passkeys(|all| {
            let known =
                |one: &&mut Passkey| one.credential == credential && one.public_key == public_key;
            let Some(one) = all.iter_mut().find(known) else {
                return (Used::Unknown, false);
            };
            if (one.counter != 0 || counter != 0) && counter <= one.counter {
                return (Used::CountsBack, false);
            }
            one.counter = counter;
            one.used_ms = Some(at_ms);
            (Used::Noted, true)
        })
    }

    /// Changes the list under a lock; `change` also returns whether it changed anything.
    fn change_passkeys<T>(
        &self,
        change: impl FnOnce(&mut Vec<Passkey>) -> (T, bool),
    ) -> Result<T, StoreError> {
        let root = self.made()?;
        let _lock = files::lock(&root.join(LOCK))?;
        let path = root.join(FILE_NAME);
        let mut stored: Stored = files::read(&path)?.unwrap_or_default();
        let (result, changed) = change(&mut stored.passkeys);
        if changed {
            files::write(&path, &stored, Sync::Now)?;
        }
        Ok(result)
    }
}
