//! The sessions of each project, guarded or not, and the last session of each client's process.
//!
//! A client may restart its conversation under another id (`/clear`). A run therefore follows the process: the last session
//! of a process is found by its process id and start time. Sessions are listed by project, so that no hook reads those of
//! another project.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use interlock_core::names::RunId;

use crate::{
    bindings::{Binding, ClientProcess, SessionKey},
    error::StoreError,
    files::{Sync, Versioned},
    home::Home,
    records::{Key, Record, Records},
};

/// Number of records, of one project or of processes, above which those of ended processes are removed.
const KEPT_MAX: usize = 64;

/// A session of a project, as its hooks last reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presence {
    /// The session.
    pub session: SessionKey,
    /// Root of the project that it works in.
    pub project_root: PathBuf,
    /// Process of the client.
    pub process: Option<ClientProcess>,
    /// Time when it was first seen there, in milliseconds since 1970.
    pub since_ms: u64,
    /// Open runs of the project that it was told about and that do not guard it.
    pub told: Vec<RunId>,
}

impl Versioned for Presence {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// The session that a process was last bound with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfProcess {
    process: ClientProcess,
    session: SessionKey,
}

impl Versioned for OfProcess {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Record for Presence {
    const PLACE: &'static str = "present";
}

impl Record for OfProcess {
    const PLACE: &'static str = "processes";
    const SYNC: Sync = Sync::Now;
}

impl Home {
    /// Returns the records of the sessions of a project.
    fn presences_in(&self, project_root: &Path) -> Records<'_, Presence> {
        let project = project_root.as_os_str().as_encoded_bytes();
        self.records_below(Key::of(&[project]))
    }

    /// Returns the session of `client` that its process was last bound with.
    ///
    /// # Errors
    /// The record of the process cannot be read.
    pub fn session_of_process(
        &self,
        client: &str,
        process: &ClientProcess,
    ) -> Result<Option<SessionKey>, StoreError> {
        let found = self
            .records::<OfProcess>()
            .get(&of_process(client, process))?;
        Ok(found
            .filter(|found| found.process == *process)
            .map(|found| found.session))
    }

    /// Removes the record of a process whose run is over.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_process(&self, client: &str, process: &ClientProcess) -> Result<(), StoreError> {
        let processes = self.records::<OfProcess>();
        processes.remove(&of_process(client, process)).map(drop)
    }

    /// Returns the record of a session in a project.
    ///
    /// # Errors
    /// The record exists and cannot be read.
    pub fn presence(
        &self,
        key: &SessionKey,
        project_root: &Path,
    ) -> Result<Option<Presence>, StoreError> {
        self.presences_in(project_root).get(&key.key())
    }

    /// Records that a session works in a project.
    ///
    /// Nothing is created if Interlock has no data yet. If there are many records, those whose process `is_gone` are removed first.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn remember_presence(
        &self,
        presence: &Presence,
        is_gone: impl Fn(&ClientProcess) -> bool,
    ) -> Result<(), StoreError> {
        if self.existing()?.is_none() {
            return Ok(());
        }
        let present = self.presences_in(&presence.project_root);
        if present.keys()?.len() >= KEPT_MAX {
            present.remove_where(|kept| kept.process.as_ref().is_none_or(&is_gone))?;
        }
        present.put(&presence.session.key(), presence)
    }

    /// Removes the record of a session that has ended.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_presence(&self, key: &SessionKey, project_root: &Path) -> Result<(), StoreError> {
        let present = self.presences_in(project_root);
        present.remove(&key.key())?;
        present.remove_empty()
    }

    /// Lists the sessions that were seen in a project, oldest first; unreadable records are left out.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn presences(&self, project_root: &Path) -> Result<Vec<Presence>, StoreError> {
        let present = self.presences_in(project_root);
        let keys = present.keys()?;
        let mut found: Vec<Presence> = keys
            .iter()
            .filter_map(|key| present.get(key).ok().flatten())
            .filter(|found: &Presence| found.project_root == project_root)
            .collect();
        found.sort_by(|left, right| {
            (left.since_ms, &left.session).cmp(&(right.since_ms, &right.session))
        });
        Ok(found)
    }

    /// Records the session of a process, and that it works in the run's project.
    pub(crate) fn note_binding(&self, binding: &Binding) -> Result<(), StoreError> {
        let Some(client) = &binding.session.client else {
            return Ok(());
        };
        if let Some(process) = &binding.process {
            let of = OfProcess {
                process: process.clone(),
                session: binding.session.clone(),
            };
            self.records().put(&of_process(client, process), &of)?;
        }
        let known = self.presence(&binding.session, &binding.project_root)?;
        let presence = Presence {
            session: binding.session.clone(),
            project_root: binding.project_root.clone(),
            process: binding.process.clone(),
            since_ms: known.map_or(binding.at_ms, |known| known.since_ms),
            told: Vec::new(),
        };
        self.remember_presence(&presence, |_| false)
    }
}

fn of_process(client: &str, process: &ClientProcess) -> Key {
    let pid = process.pid.to_string();
    Key::of(&[
        client.as_bytes(),
        pid.as_bytes(),
        process.started.as_bytes(),
    ])
}
