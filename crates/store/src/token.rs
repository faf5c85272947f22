//! The person's token: shown once, kept only as its hash.

use serde::{Deserialize, Serialize};

use crate::{
    bindings::ClientProcess,
    chain::{ChainHash, hex},
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
    id,
};

const FILE_NAME: &str = "token.json";
const PREFIX: &str = "ilk_";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    sha256: String,
    made_below: Vec<ClientProcess>,
}

impl Versioned for Kept {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 1024 * 1024;
}

impl Home {
    /// Makes a new token in place of any other and returns it, this once.
    ///
    /// `made_below` are the processes above the one that makes it: the person's own.
    ///
    /// # Errors
    /// The system gives no random bytes, or the state directory cannot be written.
    pub fn make_token(&self, made_below: Vec<ClientProcess>) -> Result<String, StoreError> {
        let token = format!("{PREFIX}{}", hex(&id::random::<32>()?));
        let kept = Kept {
            sha256: hash(&token),
            made_below,
        };
        files::write(&self.made()?.join(FILE_NAME), &kept, Sync::Now)?;
        Ok(token)
    }

    /// Ends the token; `false` when there was none.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn revoke_token(&self) -> Result<bool, StoreError> {
        match self.existing()? {
            Some(root) => files::remove(&root.join(FILE_NAME)),
            None => Ok(false),
        }
    }

    /// Returns the processes that `token` was made below; `None`: it is not the person's.
    ///
    /// Takes as long wherever it differs.
    ///
    /// # Errors
    /// What is kept cannot be read.
    pub fn token_made_below(&self, token: &str) -> Result<Option<Vec<ClientProcess>>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        let kept: Option<Kept> = files::read(&root.join(FILE_NAME))?;
        let kept = kept.filter(|kept| same(&kept.sha256, &hash(token)));
        Ok(kept.map(|kept| kept.made_below))
    }
}

fn hash(token: &str) -> String {
    ChainHash::of_parts(&[b"interlock token", token.as_bytes()]).to_string()
}

// Of hashes, so that the time tells nothing of the token in any case.
fn same(kept: &str, given: &str) -> bool {
    kept.len() == given.len()
        && kept
            .bytes()
            .zip(given.bytes())
            .fold(0, |differs, (a, b)| differs | (a ^ b))
            == 0
}
