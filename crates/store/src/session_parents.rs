//! Records of which session started which, for clients that give each sub-agent its own session.

use serde::{Deserialize, Serialize};

use crate::{
    bindings::SessionKey,
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Expiring, Record},
};

/// Maximum depth of nested sub-agents.
const DEPTH_MAX: usize = 16;
/// Lifetime of a record in milliseconds: 30 days.
const AGE_MAX_MS: u64 = 30 * 24 * 3_600_000;
/// Number of records above which old ones are removed.
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
    const PLACE: &'static str = "session_parents";
}

impl Expiring for ParentRecord {
    const AGE_MAX_MS: u64 = AGE_MAX_MS;
    const KEPT_MAX: usize = KEPT_MAX;

    fn at_ms(&self) -> u64 {
        self.at_ms
    }
}

impl Home {
    /// Records that `parent` started the session `child`; the first parent counts.
    ///
    /// Does nothing if there is no state directory, because there is nothing to inherit then.
    ///
    /// # Errors
    /// The record of the session cannot be read or written.
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
        let record = ParentRecord {
            child: child.clone(),
            parent: parent.clone(),
            at_ms,
        };
        parents.put(&child.key(), &record)
    }

    /// Returns the topmost ancestor of a session, and the session just below it.
    ///
    /// `None`: no session started this one.
    ///
    /// # Errors
    /// A record cannot be read, or sessions started each other.
    pub fn top_session(
        &self,
        child: &SessionKey,
    ) -> Result<Option<(SessionKey, SessionKey)>, StoreError> {
        let parents = self.records::<ParentRecord>();
        let mut top = None;
        let mut at = child.clone();
        for _ in 0..DEPTH_MAX {
            match parents.get(&at.key())? {
                Some(record) if record.child == at => {
                    at = record.parent;
                    top = Some((at.clone(), record.child));
                }
                Some(_) => {
                    return Err(StoreError::damaged(
                        &parents.path(&at.key())?,
                        "it is of another session".to_owned(),
                    ));
                }
                None => return Ok(top),
            }
        }
        Err(StoreError::damaged(
            &parents.path(&child.key())?,
            format!("more than {DEPTH_MAX} sessions started each other"),
        ))
    }
}
