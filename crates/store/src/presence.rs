//! Which sessions a project has, held or not, and which one a client's process had last.
//!
//! A client may begin its conversation anew under another id (`/clear`), so a run
//! follows the process: what a process was bound with last is found by its id and
//! start time. Sessions are listed by project, so that no hook looks at another's.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use interlock_core::names::RunId;

use crate::{
    bindings::{Binding, ClientProcess, SessionKey},
    chain::ChainHash,
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
};

/// Directory of the sessions of each project.
const PRESENT: &str = "present";
/// Directory of the sessions that processes were bound with.
const PROCESSES: &str = "processes";
/// Sessions of one project, and processes, that are kept before those that are gone are looked for.
const KEPT_MAX: usize = 64;

/// A session of a project, as its hooks showed it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presence {
    /// The session.
    pub session: SessionKey,
    /// The project it works in.
    pub project_root: PathBuf,
    /// The client's process.
    pub process: Option<ClientProcess>,
    /// When it was first seen there, in milliseconds since 1970.
    pub since_ms: u64,
    /// The open runs of the project that it was told of, and that do not hold it.
    pub told: Vec<RunId>,
}

impl Versioned for Presence {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// The session that a process was bound with last.
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

impl Home {
    /// Returns the session of `client` that its process was bound with last.
    ///
    /// # Errors
    /// What is known of the process cannot be read.
    pub fn session_of_process(
        &self,
        client: &str,
        process: &ClientProcess,
    ) -> Result<Option<SessionKey>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        let path = root.join(PROCESSES).join(process_name(client, process));
        let found = files::read::<OfProcess>(&path)?;
        Ok(found
            .filter(|found| found.process == *process)
            .map(|found| found.session))
    }

    /// Forgets what a process was bound with; its run is over.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_process(&self, client: &str, process: &ClientProcess) -> Result<(), StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(());
        };
        files::remove(&root.join(PROCESSES).join(process_name(client, process))).map(|_| ())
    }

    /// Returns what is known of a session's presence in a project.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn presence(
        &self,
        key: &SessionKey,
        project_root: &Path,
    ) -> Result<Option<Presence>, StoreError> {
        match self.existing()? {
            Some(root) => files::read(&presence_path(&root, key, project_root)),
            None => Ok(None),
        }
    }

    /// Remembers that a session works in a project.
    ///
    /// Where Interlock keeps nothing yet, nothing is made. Where many are remembered, those whose process `is_gone` are forgotten first.
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
        let directory = self
            .made_place(PRESENT)?
            .join(project_name(&presence.project_root));
        files::make_directory(&directory)?;
        let names = files::names(&directory)?;
        if names.len() >= KEPT_MAX {
            for name in names {
                let path = directory.join(name);
                let kept: Option<Presence> = files::read(&path)?;
                if kept.is_some_and(|kept| kept.process.as_ref().is_none_or(&is_gone)) {
                    files::remove(&path)?;
                }
            }
        }
        files::write(
            &directory.join(presence.session.file_name()),
            presence,
            Sync::Later,
        )
    }

    /// Forgets a session that has ended.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_presence(&self, key: &SessionKey, project_root: &Path) -> Result<(), StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(());
        };
        let path = presence_path(&root, key, project_root);
        files::remove(&path)?;
        // What is not empty stays, by the system's own rule.
        let _ = path.parent().map(std::fs::remove_dir);
        Ok(())
    }

    /// Lists the sessions that were seen in a project, oldest first; what cannot be read is left out.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn presences(&self, project_root: &Path) -> Result<Vec<Presence>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Vec::new());
        };
        let directory = root.join(PRESENT).join(project_name(project_root));
        let names = files::names(&directory)?;
        let mut found: Vec<Presence> = names
            .iter()
            .filter_map(|name| files::read(&directory.join(name)).ok().flatten())
            .filter(|found: &Presence| found.project_root == project_root)
            .collect();
        found.sort_by(|left, right| {
            (left.since_ms, &left.session).cmp(&(right.since_ms, &right.session))
        });
        Ok(found)
    }

    /// Remembers whose session a process has, and that it works in the run's project.
    pub(crate) fn note_binding(&self, binding: &Binding) -> Result<(), StoreError> {
        let Some(client) = &binding.session.client else {
            return Ok(());
        };
        if let Some(process) = &binding.process {
            let of = OfProcess {
                process: process.clone(),
                session: binding.session.clone(),
            };
            let directory = self.made_place(PROCESSES)?;
            files::write(
                &directory.join(process_name(client, process)),
                &of,
                Sync::Now,
            )?;
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

fn process_name(client: &str, process: &ClientProcess) -> String {
    let pid = process.pid.to_string();
    let parts = [
        client.as_bytes(),
        pid.as_bytes(),
        process.started.as_bytes(),
    ];
    format!("{}.json", ChainHash::of_parts(&parts))
}

fn project_name(project_root: &Path) -> String {
    ChainHash::of_parts(&[project_root.as_os_str().as_encoded_bytes()]).to_string()
}

fn presence_path(root: &Path, key: &SessionKey, project_root: &Path) -> PathBuf {
    let directory = root.join(PRESENT).join(project_name(project_root));
    directory.join(key.file_name())
}
