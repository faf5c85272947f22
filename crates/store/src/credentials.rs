//! Credentials of runs: a caller with one is guarded by its run.
//!
//! A credential is shown once, and only its hash is stored, in `credentials/HASH.json`. It is valid until its run ends or a
//! person revokes it.

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
/// Maximum length of a text that is looked up as a credential.
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
    /// Makes a credential of a run and returns it; it cannot be read again.
    ///
    /// # Errors
    /// The system provides no random bytes, or the state directory cannot be written.
    pub fn make_credential(&self, run: &RunId) -> Result<String, StoreError> {
        id::check(run)?;
        let credential = format!("{PREFIX}{}", hex(&id::random::<32>()?));
        self.records()
            .put(&key(&credential), &Stored { run: run.clone() })?;
        Ok(credential)
    }

    /// Returns the run that a credential was made for; `None`: it is not a credential.
    ///
    /// The caller has to check whether the run is still open.
    ///
    /// # Errors
    /// The stored data cannot be read.
    pub fn run_of_credential(&self, credential: &str) -> Result<Option<RunId>, StoreError> {
        if credential.len() > CHARS_MAX || !credential.starts_with(PREFIX) {
            return Ok(None);
        }
        // Found by its hash, so that the time tells nothing of the credential.
        let kept = self.records::<Stored>().get(&key(credential))?;
        Ok(kept.map(|kept| kept.run))
    }

    /// Deletes the credentials of runs that have ended or are gone; returns their number.
    ///
    /// Such credentials are no longer valid. Files that cannot be read are left alone.
    ///
    /// # Errors
    /// The runs cannot be listed, or a credential cannot be removed.
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

    /// Revokes every credential of a run; returns their number.
    ///
    /// # Errors
    /// A credential cannot be read or removed.
    pub fn revoke_credentials(&self, run: &RunId) -> Result<usize, StoreError> {
        self.records::<Stored>()
            .remove_where(|kept| kept.run == *run)
    }
}

fn key(credential: &str) -> Key {
    Key::of(&[b"interlock credential", credential.as_bytes()])
}
