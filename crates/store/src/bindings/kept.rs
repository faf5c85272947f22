//! The small files of the bindings: their contents and their paths.

use std::path::{Path, PathBuf};

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    chain::ChainHash,
    error::StoreError,
    files::{self, Versioned},
    records::Key,
};

/// Name of the run's own record of its session.
pub(crate) const HOLDER: &str = "session.json";
/// Directory of the records of which run guards a session.
pub(super) const SESSIONS: &str = "sessions";
/// Directory of the records of which run waits for a project's next session.
pub(super) const PROJECTS: &str = "projects";

/// A session of a client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionKey {
    /// Client; `None`: any client with a session of this id.
    pub client: Option<String>,
    /// Id of the session at the client.
    pub session: String,
}

impl SessionKey {
    /// Creates the key of a client's session.
    pub fn new(client: impl Into<String>, session: impl Into<String>) -> Self {
        Self {
            client: Some(client.into()),
            session: session.into(),
        }
    }

    /// Creates the key of a session whose client is unknown.
    pub fn of_any_client(session: impl Into<String>) -> Self {
        Self {
            client: None,
            session: session.into(),
        }
    }

    /// Returns whether this key matches `other`, with or without its client.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.session == other.session && (self.client.is_none() || self.client == other.client)
    }

    /// Returns the key of the session's records.
    pub(crate) fn key(&self) -> Key {
        let client = self.client.as_deref().unwrap_or_default();
        Key::of(&[client.as_bytes(), self.session.as_bytes()])
    }

    /// Returns the file name of the session's record.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.json", self.key().as_str())
    }
}

/// A process of a client, used to recognise its descendants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientProcess {
    /// Process id.
    pub pid: u32,
    /// Start time as the system reports it, which tells reused process ids apart.
    pub started: String,
}

/// A session bound to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Run that guards the session.
    pub run: RunId,
    /// The session.
    pub session: SessionKey,
    /// Root of the project that the session belongs to.
    pub project_root: PathBuf,
    /// Client process whose hook was seen last.
    pub process: Option<ClientProcess>,
    /// Time of binding, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Versioned for Binding {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// Which sessions of a project a waiting run takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionScope {
    /// The next session that starts.
    #[default]
    Next,
    /// Every session without an open run of its own, until the run ends.
    Every,
}

/// The run that takes a project's next session, or guards all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Waiting {
    pub(super) run: RunId,
    pub(super) project_root: PathBuf,
    #[serde(default)]
    pub(super) hold: SessionScope,
}

impl Versioned for Waiting {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// Returns the path of the record of a session's run.
pub(super) fn session_path(root: &Path, key: &SessionKey) -> PathBuf {
    root.join(SESSIONS).join(key.file_name())
}

/// Reads the binding of a session, even if the session was bound without its client or `key` has none.
pub(super) fn session_of(root: &Path, key: &SessionKey) -> Result<Option<Binding>, StoreError> {
    if let Some(found) = session_at(root, key)? {
        return Ok(Some(found));
    }
    if key.client.is_some() {
        let left_open = session_at(root, &SessionKey::of_any_client(key.session.as_str()))?;
        // The client is known now; binding it again with that keeps it.
        return Ok(left_open.map(|binding| Binding {
            session: key.clone(),
            ..binding
        }));
    }
    for binding in all_sessions(root)? {
        let binding = binding?;
        if key.covers(&binding.session) {
            return Ok(Some(binding));
        }
    }
    Ok(None)
}

pub(super) fn all_sessions(root: &Path) -> Result<Vec<Result<Binding, StoreError>>, StoreError> {
    let directory = root.join(SESSIONS);
    let names = files::names(&directory)?;
    Ok(names
        .iter()
        .filter(|name| name.ends_with(".json"))
        // One that was removed in between is bound no more.
        .filter_map(|name| files::read(&directory.join(name)).transpose())
        .collect())
}

pub(super) fn session_at(root: &Path, key: &SessionKey) -> Result<Option<Binding>, StoreError> {
    let path = session_path(root, key);
    match files::read::<Binding>(&path)? {
        Some(binding) if binding.session != *key => Err(StoreError::damaged(
            &path,
            format!("it is of session `{}`", binding.session.session),
        )),
        binding => Ok(binding),
    }
}

pub(super) fn waiting_path(root: &Path, project_root: &Path) -> PathBuf {
    let parts = [project_root.as_os_str().as_encoded_bytes()];
    let name = ChainHash::of_parts(&parts);
    root.join(PROJECTS).join(format!("{name}.json"))
}

pub(super) fn waiting_of(root: &Path, project_root: &Path) -> Result<Option<Waiting>, StoreError> {
    let path = waiting_path(root, project_root);
    match files::read::<Waiting>(&path)? {
        Some(waiting) if waiting.project_root != project_root => {
            let other = waiting.project_root.display();
            Err(StoreError::damaged(
                &path,
                format!("it is of project `{other}`"),
            ))
        }
        waiting => Ok(waiting),
    }
}
