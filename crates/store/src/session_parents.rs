//! Which session started which, where a client gives each sub-agent a session of its own.

use serde::{Deserialize, Serialize};

use crate::{
    bindings::SessionKey,
    chain::ChainHash,
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
};

const KIN: &str = "kin";
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

fn name(child: &SessionKey) -> String {
    let client = child.client.as_deref().unwrap_or_default();
    let name = ChainHash::of_parts(&[client.as_bytes(), child.session.as_bytes()]);
    format!("{name}.json")
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
        let Some(root) = self.existing()? else {
            return Ok(());
        };
        let path = root.join(KIN).join(name(child));
        if child == parent || files::read::<ParentRecord>(&path)?.is_some() {
            return Ok(());
        }
        let directory = self.made_place(KIN)?;
        let names = files::names(&directory)?;
        if names.len() >= KEPT_MAX {
            for name in names {
                let path = directory.join(name);
                let old = files::read::<ParentRecord>(&path)?
                    .is_some_and(|kin| kin.at_ms.abs_diff(at_ms) > AGE_MAX_MS);
                if old {
                    files::remove(&path)?;
                }
            }
        }
        let kin = ParentRecord {
            child: child.clone(),
            parent: parent.clone(),
            at_ms,
        };
        files::write(&path, &kin, Sync::Later)
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
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        let directory = root.join(KIN);
        let mut eldest = None;
        let mut at = child.clone();
        for _ in 0..DEPTH_MAX {
            let path = directory.join(name(&at));
            match files::read::<ParentRecord>(&path)? {
                Some(kin) if kin.child == at => {
                    at = kin.parent;
                    eldest = Some((at.clone(), kin.child));
                }
                Some(_) => {
                    return Err(StoreError::damaged(
                        &path,
                        "it is of another session".to_owned(),
                    ));
                }
                None => return Ok(eldest),
            }
        }
        Err(StoreError::damaged(
            &directory.join(name(child)),
            format!("more than {DEPTH_MAX} sessions started each other"),
        ))
    }
}
