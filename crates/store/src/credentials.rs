//! Credentials of runs: who shows one is held to its run.
//!
//! Shown once, kept only as their hashes: `credentials/HASH.json`. One counts
//! until its run ends or a person takes it back.

use std::collections::BTreeMap;

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    chain::hex,
    error::StoreError,
    files::{Sync, Versioned},
    home::Home,
    id,
    listed::Listed,
    records::{Key, Record},
};

const PREFIX: &str = "ilr_";
/// Longest text that is looked up as a credential.
const CHARS_MAX: usize = 200;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    run: RunId,
}

impl Versioned for Stored {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Record for Stored {
    const PLACE: &'static str = "credentials";
    const SYNC: Sync = Sync::Now;
}

impl Home {
    /// Makes a credential of a run and returns it, this once.
    ///
    /// # Errors
    /// The system gives no random bytes, or the state directory cannot be written.
    pub fn make_credential(&self, run: &RunId) -> Result<String, StoreError> {
        id::check(run)?;
        let credential = format!("{PREFIX}{}", hex(&id::random::<32>()?));
        self.records()
            .put(&key(&credential), &Stored { run: run.clone() })?;
        Ok(credential)
    }

    /// Returns the run that a credential was made for; `None`: it is none.
    ///
    /// Whether the run is still open is the caller's to look.
    ///
    /// # Errors
    /// What is kept cannot be read.
    pub fn run_of_credential(&self, credential: &str) -> Result<Option<RunId>, StoreError> {
        if credential.len() > CHARS_MAX || !credential.starts_with(PREFIX) {
            return Ok(None);
        }
        // Found by its hash, so that the time tells nothing of the credential.
        let kept = self.records::<Stored>().get(&key(credential))?;
        Ok(kept.map(|kept| kept.run))
    }

    /// Deletes the credentials of runs that are over or gone; returns how many there were.
    ///
    /// They count for nothing any more. What cannot be read is left as it is.
    ///
    /// # Errors
    /// The runs cannot be listed, or one cannot be removed.
    pub fn drop_ended_credentials(&self) -> Result<usize, StoreError> {
        let credentials = self.records::<Stored>();
        if credentials.keys()?.is_empty() {
            return Ok(0);
        }
        let runs: BTreeMap<RunId, bool> = self
            .list_runs()?
            .into_iter()
            .map(|run| {
                let over = matches!(&run.listed, Listed::Known(card) if card.is_over());
                (run.id, over)
            })
            .collect();
        credentials.remove_known_where(|kept| runs.get(&kept.run).copied().unwrap_or(true))
    }

    /// Takes back every credential of a run; returns how many there were.
    ///
    /// # Errors
    /// One cannot be read or removed.
    pub fn revoke_credentials(&self, run: &RunId) -> Result<usize, StoreError> {
        self.records::<Stored>()
            .remove_where(|kept| kept.run == *run)
    }
}

fn key(credential: &str) -> Key {
    Key::of(&[b"interlock credential", credential.as_bytes()])
}
