//! Decisions of people about projects whose files widen what an agent may do.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::StoreError,
    files::{Sync, Versioned},
    home::Home,
    records::{Key, Record},
};

/// A person's decision about trusting a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustWord {
    /// Root of the project, links resolved.
    pub project: String,
    /// Whether the project's files are trusted.
    pub trusted: bool,
    /// Parts of its files that can widen permissions, at the time of the decision.
    pub widens: Value,
    /// Time of the decision, in milliseconds since 1970.
    pub at_ms: u64,
    /// Name of whoever did it.
    pub by: String,
}

impl Versioned for TrustWord {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 4 * 1024 * 1024;
}

impl Record for TrustWord {
    const PLACE: &'static str = "trust";
    const SYNC: Sync = Sync::Now;
}

impl Home {
    /// Returns the decision about the project at `root`; `None`: there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn trust_word(&self, root: &Path) -> Result<Option<TrustWord>, StoreError> {
        let word = self.records::<TrustWord>().get(&key(root))?;
        Ok(word.filter(|word| Path::new(&word.project) == root))
    }

    /// Stores the decision about a project.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep_trust_word(&self, word: &TrustWord) -> Result<(), StoreError> {
        self.records().put(&key(Path::new(&word.project)), word)
    }
}

fn key(root: &Path) -> Key {
    Key::of(&[root.as_os_str().as_encoded_bytes()])
}
