//! Which session started which, where a client gives each sub-agent a session of its own.

use serde::{Deserialize, Serialize};

use crate::{
    bindings::SessionKey,
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Expiring, Record},
};

/// Sub-agents within sub-agents that are followed.
const DEPTH_MAX: usize = 16;
/// Longest that a session is remembered, in milliseconds: 30 days.
const AGE_MAX_MS: u64 = 30 * 24 * 3_600_000;
/// As many are kept before the old ones are looked for.
const KEPT_MAX: usize = 512;

/// A session that another one started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParentRecord {
    child: SessionKey,
    parent: SessionKey,
    at_ms: u64,
}

impl Versioned for ParentRecord {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Record for ParentRecord {
    const PLACE: &'static str = "kin";
}

impl Expiring for ParentRecord {
    const AGE_MAX_MS: u64 = AGE_MAX_MS;
    const KEPT_MAX: usize = KEPT_MAX;

    fn at_ms(&self) -> u64 {
        self.at_ms
    }
}

impl Home {
    /// Remembers that `parent` started the session `child`; who did so first, counts.
    ///
    /// Where Interlock keeps nothing yet there is nothing to inherit, and nothing is made.
    ///
    /// # Errors
    /// What is known of the session cannot be read or written.
    pub fn remember_parent(
        &self,
        child: &SessionKey,
        parent: &SessionKey,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        let parents = self.records::<ParentRecord>();
        let is_known = || Ok::<_, StoreError>(parents.get(&child.key())?.is_some());
        if self.existing()?.is_none() || child == parent || is_known()? {
            return Ok(());
        }
        parents.make_room(at_ms)?;
        let kin = ParentRecord {
            child: child.clone(),
            parent: parent.clone(),
            at_ms,
        };
        parents.put(&child.key(), &kin)
    }

    /// Returns the session at the top of those that started this one, and the one just below it.
    ///
    /// `None`: nobody started it.
    ///
    /// # Errors
    /// What is known of a session cannot be read, or they started each other.
    pub fn eldest(
        &self,
        child: &SessionKey,
    ) -> Result<Option<(SessionKey, SessionKey)>, StoreError> {
        let parents = self.records::<ParentRecord>();
        let mut eldest = None;
        let mut at = child.clone();
        for _ in 0..DEPTH_MAX {
            match parents.get(&at.key())? {
                Some(kin) if kin.child == at => {
                    at = kin.parent;
                    eldest = Some((at.clone(), kin.child));
                }
                Some(_) => {
                    return Err(StoreError::damaged(
                        &parents.path(&at.key())?,
                        "it is of another session".to_owned(),
                    ));
                }
                None => return Ok(eldest),
            }
        }
        Err(StoreError::damaged(
            &parents.path(&child.key())?,
            format!("more than {DEPTH_MAX} sessions started each other"),
        ))
    }
}
