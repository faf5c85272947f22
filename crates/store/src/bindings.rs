//! Which client session is bound to which run.
//!
//! Small files beside the databases, so that a session without a run costs two
//! looks and a damaged database troubles nobody else's. A run's own word
//! (`runs/ID/session.json`, made only where none is) decides who holds it; the
//! session's file is written after it and mended from it after a crash.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    chain::ChainHash,
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
};

const SESSIONS: &str = "sessions";
const PROJECTS: &str = "projects";
const HOLDER: &str = "session.json";

/// A session of a client, as the client names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionKey {
    /// The client; `None`: whichever has a session of this id.
    pub client: Option<String>,
    /// The session's id in the client's own words.
    pub session: String,
}

impl SessionKey {
    /// Pairs a client with the id of one of its sessions.
    pub fn new(client: impl Into<String>, session: impl Into<String>) -> Self {
        Self {
            client: Some(client.into()),
            session: session.into(),
        }
    }

    /// Takes the id of a session that a person names without its client.
    pub fn of_any_client(session: impl Into<String>) -> Self {
        Self {
            client: None,
            session: session.into(),
        }
    }

    /// Tells whether `other` is this session, or one that this names without its client.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.session == other.session && (self.client.is_none() || self.client == other.client)
    }

    fn file_name(&self) -> String {
        let parts = [
            self.client.as_deref().unwrap_or_default().as_bytes(),
            self.session.as_bytes(),
        ];
        format!("{}.json", ChainHash::of_parts(&parts))
    }
}

/// A process of a client, so that what runs below it can be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientProcess {
    /// Its process id.
    pub pid: u32,
    /// When it started, in the system's own words; sets it apart from a later one with its id.
    pub started: String,
}

/// A session bound to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The run that guards it.
    pub run: RunId,
    /// The session.
    pub session: SessionKey,
    /// The project it belongs to, for good.
    pub project_root: PathBuf,
    /// The client's process whose hook was last seen.
    pub process: Option<ClientProcess>,
    /// When it was bound, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Versioned for Binding {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// The run that takes a project's next session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Waiting {
    run: RunId,
    project_root: PathBuf,
}

impl Versioned for Waiting {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// No run guards it.
    Unbound,
    /// A run waits for the project's next session: [`Bindings::take_next`] settles whose it is.
    Waiting(RunId),
    /// A run guards it.
    Bound(Binding),
}

/// Why a session was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The session has another run.
    #[error("session `{session}` is guarded by run `{run}` already: end or cancel that one first")]
    SessionBound {
        /// The session.
        session: String,
        /// Its run.
        run: RunId,
    },
    /// The run has another session.
    #[error("run `{run}` guards session `{session}` already: cancel it, or start another run")]
    RunHeld {
        /// The run.
        run: RunId,
        /// Its session.
        session: String,
    },
    /// Another run waits for the project's next session.
    #[error("run `{run}` waits for the next session of this project already: cancel it first")]
    OtherWaits {
        /// The run that waits.
        run: RunId,
    },
    /// The bindings cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Home {
    /// Tells what guards a session; opens no database and makes nothing.
    ///
    /// # Errors
    /// A file that tells cannot be read, so the answer is not known.
    pub fn look_up(&self, key: &SessionKey, project_root: &Path) -> Result<Lookup, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Lookup::Unbound);
        };
        if let Some(binding) = session_of(&root, key)? {
            return Ok(Lookup::Bound(binding));
        }
        let waiting = waiting_of(&root, project_root)?;
        Ok(waiting.map_or(Lookup::Unbound, |waiting| Lookup::Waiting(waiting.run)))
    }

    /// Returns the session that a run guards.
    ///
    /// # Errors
    /// The run is missing, or its word cannot be read.
    pub fn session_of(&self, run: &RunId) -> Result<Option<Binding>, StoreError> {
        files::read(&self.present_directory(run)?.join(HOLDER))
    }

    /// Lists every bound session; what cannot be read is an item of its own.
    ///
    /// # Errors
    /// The directory of sessions cannot be listed.
    pub fn bound_sessions(&self) -> Result<Vec<Result<Binding, StoreError>>, StoreError> {
        match self.existing()? {
            Some(root) => all_sessions(&root),
            None => Ok(Vec::new()),
        }
    }

    /// Holds the bindings still, for one process at a time, until dropped.
    ///
    /// # Errors
    /// The state directory cannot be written, or another process holds on for too long.
    pub fn lock_bindings(&self) -> Result<Bindings<'_>, StoreError> {
        let root = self.made()?;
        let lock = files::lock(&root.join("bindings.lock"))?;
        Ok(Bindings {
            home: self,
            root,
            _lock: lock,
        })
    }
}

/// The bindings, to be changed; no other process changes them meanwhile.
#[derive(Debug)]
pub struct Bindings<'a> {
    home: &'a Home,
    root: PathBuf,
    _lock: File,
}

impl Bindings<'_> {
    /// Tells what guards a session, as [`Home::look_up`] does.
    ///
    /// # Errors
    /// A file that tells cannot be read, so the answer is not known.
    pub fn look_up(&self, key: &SessionKey, project_root: &Path) -> Result<Lookup, StoreError> {
        self.home.look_up(key, project_root)
    }

    /// Binds a session to a run, or renews what is known of its process.
    ///
    /// `replacing` names the run that has ended and that the session leaves.
    /// Returns the binding as it is kept: with the client, where that is known already.
    ///
    /// # Errors
    /// Session or run are bound otherwise, or the files cannot be read or written.
    pub fn bind(
        &self,
        mut binding: Binding,
        replacing: Option<&RunId>,
    ) -> Result<Binding, BindError> {
        if let Some(bound) = session_of(&self.root, &binding.session)? {
            if bound.run != binding.run && replacing != Some(&bound.run) {
                return Err(BindError::SessionBound {
                    session: bound.session.session,
                    run: bound.run,
                });
            }
            binding.session.client = binding.session.client.or(bound.session.client);
        }
        self.hold(&binding)?;
        self.write_session(&binding)?;
        if binding.session.client.is_some() {
            // Now that the client is known, the file that left it open has done its work.
            let left_open = SessionKey::of_any_client(binding.session.session.as_str());
            files::remove(&self.session_path(&left_open))?;
        }
        self.clear_waiting(&binding.project_root, &binding.run)?;
        Ok(binding)
    }

    /// Lets `run` wait for the next session of the project.
    ///
    /// `replacing` names a run that has ended and waits no more.
    ///
    /// # Errors
    /// The run has a session, another one waits, or the files cannot be read or written.
    pub fn wait_for_next(
        &self,
        run: &RunId,
        project_root: &Path,
        replacing: Option<&RunId>,
    ) -> Result<(), BindError> {
        if let Some(held) = self.home.session_of(run)? {
            return Err(BindError::RunHeld {
                run: held.run,
                session: held.session.session,
            });
        }
        match waiting_of(&self.root, project_root)? {
            Some(other) if other.run != *run && replacing != Some(&other.run) => {
                return Err(BindError::OtherWaits { run: other.run });
            }
            _ => {}
        }
        let waiting = Waiting {
            run: run.clone(),
            project_root: project_root.to_owned(),
        };
        self.home.made_place(PROJECTS)?;
        files::write(&waiting_path(&self.root, project_root), &waiting, Sync::Now)?;
        Ok(())
    }

    /// Binds a session to the run that waits for it; `None`: it is bound to nothing.
    ///
    /// Of several sessions exactly one takes the run. A session that is bound stays so.
    ///
    /// # Errors
    /// The run that waits is missing, or the files cannot be read or written.
    pub fn take_next(
        &self,
        key: &SessionKey,
        project_root: &Path,
        process: Option<ClientProcess>,
        at_ms: u64,
    ) -> Result<Option<Binding>, StoreError> {
        if let Some(bound) = session_of(&self.root, key)? {
            return Ok(Some(bound));
        }
        let Some(waiting) = waiting_of(&self.root, project_root)? else {
            return Ok(None);
        };
        let binding = Binding {
            run: waiting.run.clone(),
            session: key.clone(),
            project_root: project_root.to_owned(),
            process,
            at_ms,
        };
        match self.hold(&binding) {
            Ok(()) => {
                self.write_session(&binding)?;
                self.clear_waiting(project_root, &waiting.run)?;
                Ok(Some(binding))
            }
            // Taken, and whoever took it was stopped before saying so everywhere.
            Err(BindError::Store(error)) => Err(error),
            Err(_) => {
                if let Some(holder) = self.home.session_of(&waiting.run)? {
                    self.write_session(&holder)?;
                }
                self.clear_waiting(project_root, &waiting.run)?;
                Ok(None)
            }
        }
    }

    /// Ends what binds a run to its session, and lets it wait no more.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub fn release(&self, run: &RunId, project_root: &Path) -> Result<(), StoreError> {
        self.clear_waiting(project_root, run)?;
        if let Some(holder) = self.home.session_of(run)? {
            let bound = session_at(&self.root, &holder.session)?;
            if bound.is_some_and(|bound| bound.run == *run) {
                files::remove(&self.session_path(&holder.session))?;
            }
            files::remove(&self.holder_path(run)?)?;
        }
        Ok(())
    }

    /// Writes the run's own word about who holds it; decides between two that want it.
    fn hold(&self, binding: &Binding) -> Result<(), BindError> {
        let path = self.holder_path(&binding.run)?;
        if files::create(&path, binding, Sync::Now)? {
            return Ok(());
        }
        match files::read::<Binding>(&path)? {
            Some(holder) if !holder.session.covers(&binding.session) => Err(BindError::RunHeld {
                run: holder.run,
                session: holder.session.session,
            }),
            _ => Ok(files::write(&path, binding, Sync::Now)?),
        }
    }

    fn holder_path(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        Ok(self.home.present_directory(run)?.join(HOLDER))
    }

    fn session_path(&self, key: &SessionKey) -> PathBuf {
        self.root.join(SESSIONS).join(key.file_name())
    }

    fn write_session(&self, binding: &Binding) -> Result<(), StoreError> {
        self.home.made_place(SESSIONS)?;
        files::write(&self.session_path(&binding.session), binding, Sync::Now)
    }

    fn clear_waiting(&self, project_root: &Path, run: &RunId) -> Result<(), StoreError> {
        match waiting_of(&self.root, project_root)? {
            Some(waiting) if waiting.run == *run => {
                files::remove(&waiting_path(&self.root, project_root)).map(|_| ())
            }
            _ => Ok(()),
        }
    }
}

fn session_of(root: &Path, key: &SessionKey) -> Result<Option<Binding>, StoreError> {
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

fn all_sessions(root: &Path) -> Result<Vec<Result<Binding, StoreError>>, StoreError> {
    let directory = root.join(SESSIONS);
    let names = files::names(&directory)?;
    Ok(names
        .iter()
        .filter(|name| name.ends_with(".json"))
        // One that was removed in between is bound no more.
        .filter_map(|name| files::read(&directory.join(name)).transpose())
        .collect())
}

fn session_at(root: &Path, key: &SessionKey) -> Result<Option<Binding>, StoreError> {
    let path = root.join(SESSIONS).join(key.file_name());
    match files::read::<Binding>(&path)? {
        Some(binding) if binding.session != *key => Err(StoreError::damaged(
            &path,
            format!("it is of session `{}`", binding.session.session),
        )),
        binding => Ok(binding),
    }
}

fn waiting_path(root: &Path, project_root: &Path) -> PathBuf {
    let parts = [project_root.as_os_str().as_encoded_bytes()];
    let name = ChainHash::of_parts(&parts);
    root.join(PROJECTS).join(format!("{name}.json"))
}

fn waiting_of(root: &Path, project_root: &Path) -> Result<Option<Waiting>, StoreError> {
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
