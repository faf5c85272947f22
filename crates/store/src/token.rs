//! The person's token: shown once, kept only as its hash.

use serde::{Deserialize, Serialize};

use crate::{
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
}

impl Versioned for Kept {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 4 * 1024;
}

impl Home {
    /// Makes a new token in place of any other and returns it, this once.
    ///
    /// # Errors
    /// The system gives no random bytes, or the state directory cannot be written.
    pub fn make_token(&self) -> Result<String, StoreError> {
        let token = format!("{PREFIX}{}", hex(&id::random::<32>()?));
        let kept = Kept {
            sha256: hash(&token),
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

    /// Tells whether `token` is the person's; takes as long wherever it differs.
    ///
    /// # Errors
    /// What is kept cannot be read.
    pub fn token_holds(&self, token: &str) -> Result<bool, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(false);
        };
        let kept: Option<Kept> = files::read(&root.join(FILE_NAME))?;
        Ok(kept.is_some_and(|kept| same(&kept.sha256, &hash(token))))
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
