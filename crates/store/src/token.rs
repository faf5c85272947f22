//! The person's token, which is shown once and of which only the hash is stored.

use std::path::Path;

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    bindings::ClientProcess,
    chain::{ChainHash, hex},
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
    id,
    records::{Key, Record},
};

const FILE_NAME: &str = "token.json";
const PREFIX: &str = "ilk_";
/// Number of digits after the prefix, for 32 random bytes.
const DIGITS: usize = 64;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    sha256: String,
    made_below: Vec<ClientProcess>,
}

/// Where an agent could read the person's token.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    run: RunId,
}

impl Versioned for Seen {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Record for Seen {
    const PLACE: &'static str = "token-seen";
    const SYNC: Sync = Sync::Now;
}

impl Stored {
    /// Returns the key of a record of exposure of the token.
    fn seen(&self, suffix: &str) -> Result<Key, StoreError> {
        let key = Key::named(&format!("{}{suffix}", self.sha256));
        key.ok_or_else(|| StoreError::damaged(Path::new(FILE_NAME), "it holds no hash"))
    }
}

/// Status of a person's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenStanding {
    /// It is not the person's token.
    Unknown,
    /// It is void: it was exposed to the agent of this run.
    Void(RunId),
    /// It is valid, except for the runs listed.
    Good {
        /// Ancestors of the process that made it.
        made_below: Vec<ClientProcess>,
        /// Runs whose agent has the token in its environment.
        not_for: Vec<RunId>,
    },
}

impl Versioned for Stored {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 1024 * 1024;
}

impl Home {
    /// Makes a new token in place of any other and returns it; it cannot be read again.
    ///
    /// `made_below` are the ancestors of the process that makes it, which belong to the person.
    ///
    /// # Errors
    /// The system provides no random bytes, or the state directory cannot be written.
    pub fn make_token(&self, made_below: Vec<ClientProcess>) -> Result<String, StoreError> {
        let token = format!("{PREFIX}{}", hex(&id::random::<32>()?));
        let kept = Stored {
            sha256: hash(&token),
            made_below,
        };
        files::write(&self.made()?.join(FILE_NAME), &kept, Sync::Now)?;
        Ok(token)
    }

    /// Revokes the token; `false` if there was none.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn revoke_token(&self) -> Result<bool, StoreError> {
        match self.existing()? {
            Some(root) => files::remove(&root.join(FILE_NAME)),
            None => Ok(false),
        }
    }

    /// Returns the status of `token`.
    ///
    /// The time does not depend on where the token differs.
    ///
    /// # Errors
    /// The stored data cannot be read.
    pub fn token_standing(&self, token: &str) -> Result<TokenStanding, StoreError> {
        let Some(kept) = self.persons(token)? else {
            return Ok(TokenStanding::Unknown);
        };
        let seen = self.records::<Seen>();
        if let Some(Seen { run }) = seen.get(&kept.seen("")?)? {
            return Ok(TokenStanding::Void(run));
        }
        let mut not_for = Vec::new();
        for key in seen.keys()? {
            let of_this = key.as_str().starts_with(&kept.sha256);
            if let Some(Seen { run }) = seen.get(&key)?.filter(|_| of_this) {
                not_for.push(run);
            }
        }
        Ok(TokenStanding::Good {
            made_below: kept.made_below,
            not_for,
        })
    }

    /// Returns the processes that `token` was made below; `None`: it is not the person's token, or it is void.
    ///
    /// # Errors
    /// The stored data cannot be read.
    pub fn token_made_below(&self, token: &str) -> Result<Option<Vec<ClientProcess>>, StoreError> {
        Ok(match self.token_standing(token)? {
            TokenStanding::Good { made_below, .. } => Some(made_below),
            TokenStanding::Unknown | TokenStanding::Void(_) => None,
        })
    }

    /// Voids `token` if it is the person's, because an agent of `run` has seen it.
    ///
    /// `None`: it is not the person's. `Some(false)`: it was void already.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn void_token(&self, token: &str, run: &RunId) -> Result<Option<bool>, StoreError> {
        self.token_seen(token, "", run)
    }

    /// Makes `token` invalid for `run` if it is the person's, because the run's agent has it in its environment.
    ///
    /// `None`: it is not the person's. `Some(false)`: it was invalid there already.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn refuse_token_for(&self, token: &str, run: &RunId) -> Result<Option<bool>, StoreError> {
        self.token_seen(token, &format!("-{run}"), run)
    }

    fn token_seen(
        &self,
        token: &str,
        suffix: &str,
        run: &RunId,
    ) -> Result<Option<bool>, StoreError> {
        let Some(kept) = self.persons(token)? else {
            return Ok(None);
        };
        let seen = Seen { run: run.clone() };
        self.records().create(&kept.seen(suffix)?, &seen).map(Some)
    }

    /// Returns the record of the person's token, if `token` is it.
    fn persons(&self, token: &str) -> Result<Option<Stored>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        let kept: Option<Stored> = files::read(&root.join(FILE_NAME))?;
        Ok(kept.filter(|kept| same(&kept.sha256, &hash(token))))
    }
}

/// Lists the parts of a text that have the form of a person's token.
///
/// The search looks only for the prefix, so that it costs next to nothing in a text without one.
pub(crate) fn tokens_in(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(PREFIX).filter_map(|(at, _)| {
        let end = at.checked_add(PREFIX.len() + DIGITS)?;
        let found = text.get(at..end)?;
        let digits = found.strip_prefix(PREFIX)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        digits.bytes().all(is_digit).then_some(found)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_the_shape_of_a_token_is_looked_at() {
        let token = format!("ilk_{}", "0a".repeat(32));
        let text = format!("ilk_ x{token}y ilk_{} {token} ilk_é", "A".repeat(64));
        assert_eq!(tokens_in(&text).collect::<Vec<_>>(), [&token, &token]);
    }
}
