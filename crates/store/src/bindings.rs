//! Bindings of client sessions to runs.
//!
//! They are small files beside the databases, so that a session without a run costs only two file lookups, and a
//! damaged database affects no other run. The run's own record (`runs/ID/session.json`, created only if there is none)
//! decides which session the run is bound to. The session's file is written after it, and repaired from it after a crash.

mod kept;
mod known;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use interlock_core::names::RunId;

use crate::{
    error::StoreError,
    files::{self, Sync},
    home::Home,
    prepared::{Prepared, PreparedFor, Started},
};

pub(crate) use kept::HOLDER;
pub use kept::{Binding, ClientProcess, SessionKey, SessionScope};
use kept::{PROJECTS, SESSIONS, Waiting};
use kept::{all_sessions, session_at, session_of, waiting_of, waiting_path};
pub use known::KnownSessions;

/// Directory of the locks of sessions.
const LOCKS: &str = "locks";

/// The binding of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// No run guards the session.
    Unbound,
    /// A run waits for the project's next session; [`Bindings::take_next`] binds it.
    Waiting(RunId),
    /// A run guards every session of the project; [`Bindings::take_next`] binds this one, too.
    ///
    /// It is not checked whether that run is still open.
    Project(RunId),
    /// A run guards the session.
    Bound(Binding),
}

/// Why a session was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The session is bound to another run.
    #[error("session `{session}` is guarded by run `{run}` already: end or cancel that one first")]
    SessionBound {
        /// The session.
        session: String,
        /// Run that the session is bound to.
        run: RunId,
    },
    /// The run is bound to another session.
    #[error("run `{run}` guards session `{session}` already: cancel it, or start another run")]
    RunHeld {
        /// The run.
        run: RunId,
        /// Session that the run is bound to.
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
    /// Looks up the binding of a session; opens no database and creates nothing.
    ///
    /// # Errors
    /// A file cannot be read, so the answer is unknown.
    pub fn look_up(&self, key: &SessionKey, project_root: &Path) -> Result<Lookup, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Lookup::Unbound);
        };
        if let Some(binding) = session_of(&root, key)? {
            return Ok(Lookup::Bound(binding));
        }
        if let Some(waiting) = waiting_of(&root, project_root)? {
            return Ok(match waiting.hold {
                SessionScope::Next => Lookup::Waiting(waiting.run),
                SessionScope::Every => Lookup::Project(waiting.run),
            });
        }
        // INVARIANT: a session's own file is written before what led to it is removed. So one
        // that was bound between the two looks above is found by looking once more.
        let bound = session_at(&root, key)?;
        Ok(bound.map_or(Lookup::Unbound, Lookup::Bound))
    }

    /// Returns the run for the project's sessions without a run of their own: one that waits, or one that guards all.
    ///
    /// # Errors
    /// The project's file cannot be read.
    pub fn waiting_in(
        &self,
        project_root: &Path,
    ) -> Result<Option<(RunId, SessionScope)>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        let waiting = waiting_of(&root, project_root)?;
        Ok(waiting.map(|waiting| (waiting.run, waiting.hold)))
    }

    /// Returns the session that a run guards.
    ///
    /// # Errors
    /// The run is missing, or its record cannot be read.
    pub fn session_of(&self, run: &RunId) -> Result<Option<Binding>, StoreError> {
        files::read(&self.present_directory(run)?.join(HOLDER))
    }

    /// Lists all bound sessions; a record that cannot be read is an error item.
    ///
    /// # Errors
    /// The directory of sessions cannot be listed.
    pub fn bound_sessions(&self) -> Result<Vec<Result<Binding, StoreError>>, StoreError> {
        match self.existing()? {
            Some(root) => all_sessions(&root),
            None => Ok(Vec::new()),
        }
    }

    /// Lists all bound sessions like [`Home::bound_sessions`], but reads the files only if one has changed since `known` was
    /// read.
    ///
    /// # Errors
    /// The directory of sessions or one of the records cannot be read.
    pub fn bound_sessions_since(
        &self,
        known: &KnownSessions,
        now_ms: u64,
    ) -> Result<Arc<[Binding]>, StoreError> {
        match self.existing()? {
            Some(root) => known.read(&root, now_ms),
            None => Ok(Arc::default()),
        }
    }

    /// Locks out other processes that are about to make a run for this session, until dropped.
    ///
    /// This lock is taken before [`Home::lock_bindings`], never after it. Other sessions may share the lock.
    ///
    /// # Errors
    /// The state directory cannot be written, or another process holds the lock for too long.
    pub fn lock_session(&self, key: &SessionKey) -> Result<SessionLock, StoreError> {
        let name: String = key.file_name().chars().take(2).collect();
        let lock = files::lock(&self.made_place(LOCKS)?.join(name))?;
        Ok(SessionLock { _lock: lock })
    }

    /// Locks the bindings against other processes, until dropped.
    ///
    /// # Errors
    /// The state directory cannot be written, or another process holds the lock for too long.
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

/// A lock against making other runs for a session.
#[derive(Debug)]
pub struct SessionLock {
    _lock: File,
}

/// The bindings, locked against other processes.
#[derive(Debug)]
pub struct Bindings<'a> {
    home: &'a Home,
    root: PathBuf,
    _lock: File,
}

impl Bindings<'_> {
    /// Looks up the binding of a session like [`Home::look_up`].
    ///
    /// # Errors
    /// A file cannot be read, so the answer is unknown.
    pub fn look_up(&self, key: &SessionKey, project_root: &Path) -> Result<Lookup, StoreError> {
        self.home.look_up(key, project_root)
    }

    /// Binds a session to a run, or updates its process.
    ///
    /// `replacing` names the ended run that the session leaves. Returns the binding as stored, with the client if that is known.
    ///
    /// # Errors
    /// The session or the run has another binding, or the files cannot be read or written.
    pub fn bind(
        &self,
        mut binding: Binding,
        replacing: Option<&RunId>,
    ) -> Result<Binding, BindError> {
        self.may_bind(&mut binding, replacing)?;
        self.hold(&binding)?;
        self.tell_of(&binding)?;
        self.clear_next(&binding.project_root, &binding.run)?;
        Ok(binding)
    }

    /// Publishes a run that was prepared for a session, bound to that session.
    ///
    /// The run becomes visible together with its binding. `replacing` is as for [`Bindings::bind`]. If the run is refused,
    /// nothing of it remains.
    ///
    /// # Errors
    /// The session has another binding, or the files cannot be read or written.
    pub fn begin(
        &self,
        mut prepared: PreparedFor,
        replacing: Option<&RunId>,
    ) -> Result<(Started, Binding), BindError> {
        let mut binding = prepared.binding.clone();
        self.may_bind(&mut binding, replacing)?;
        prepared.hold(binding.clone())?;
        let started = prepared.prepared.publish()?;
        self.tell_of(&binding)?;
        Ok((started, binding))
    }

    /// Publishes a prepared run that waits for sessions of its project as `hold` says.
    ///
    /// `replacing` is as for [`Bindings::wait_for_next`]. If the run is refused, nothing of it remains.
    ///
    /// # Errors
    /// Another run waits or guards all sessions, or the files cannot be read or written.
    pub fn begin_waiting(
        &self,
        prepared: Prepared,
        hold: SessionScope,
        replacing: Option<&RunId>,
    ) -> Result<Started, BindError> {
        let root = prepared.project_root.clone();
        self.may_wait(prepared.id(), &root, replacing)?;
        let started = prepared.publish()?;
        self.wait(&started.run.id, &root, hold, replacing)?;
        Ok(started)
    }

    /// Checks that the session is free, and completes the binding.
    fn may_bind(&self, binding: &mut Binding, replacing: Option<&RunId>) -> Result<(), BindError> {
        let Some(bound) = session_of(&self.root, &binding.session)? else {
            return Ok(());
        };
        if bound.run != binding.run && replacing != Some(&bound.run) {
            return Err(BindError::SessionBound {
                session: bound.session.session,
                run: bound.run,
            });
        }
        let known = binding.session.client.take();
        binding.session.client = known.or(bound.session.client);
        Ok(())
    }

    /// Writes the session's record of its run.
    fn tell_of(&self, binding: &Binding) -> Result<(), StoreError> {
        self.write_session(binding)?;
        if binding.session.client.is_some() {
            // Now that the client is known, the file that left it open has done its work.
            let left_open = SessionKey::of_any_client(binding.session.session.as_str());
            files::remove(&self.session_path(&left_open))?;
        }
        Ok(())
    }

    /// Makes `run` wait for the next session of the project.
    ///
    /// `replacing` names an ended run that no longer waits.
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
        self.wait(run, project_root, SessionScope::Next, replacing)
    }

    /// Makes `run` guard every session of the project that has no open run of its own.
    ///
    /// `replacing` is as for [`Bindings::wait_for_next`].
    ///
    /// # Errors
    /// Another run waits or guards all sessions, or the files cannot be read or written.
    pub fn hold_every(
        &self,
        run: &RunId,
        project_root: &Path,
        replacing: Option<&RunId>,
    ) -> Result<(), BindError> {
        self.wait(run, project_root, SessionScope::Every, replacing)
    }

    fn wait(
        &self,
        run: &RunId,
        project_root: &Path,
        hold: SessionScope,
        replacing: Option<&RunId>,
    ) -> Result<(), BindError> {
        let before = self.may_wait(run, project_root, replacing)?;
        // It takes the next session, too.
        if before.is_some_and(|before| before.run == *run && before.hold == SessionScope::Every) {
            return Ok(());
        }
        let waiting = Waiting {
            run: run.clone(),
            project_root: project_root.to_owned(),
            hold,
        };
        self.home.made_place(PROJECTS)?;
        files::write(&waiting_path(&self.root, project_root), &waiting, Sync::Now)?;
        Ok(())
    }

    /// Checks that no other run waits in the project; returns the run that waits.
    fn may_wait(
        &self,
        run: &RunId,
        project_root: &Path,
        replacing: Option<&RunId>,
    ) -> Result<Option<Waiting>, BindError> {
        match waiting_of(&self.root, project_root)? {
            Some(other) if other.run != *run && replacing != Some(&other.run) => {
                Err(BindError::OtherWaits { run: other.run })
            }
            before => Ok(before),
        }
    }

    /// Binds a session to the run that waits for it; `None`: no run waits.
    ///
    /// If several sessions compete, exactly one gets the run. A bound session keeps its binding.
    ///
    /// # Errors
    /// The waiting run is missing, or the files cannot be read or written.
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
        if waiting.hold == SessionScope::Every {
            self.share(&binding)?;
            return Ok(Some(binding));
        }
        match self.hold(&binding) {
            Ok(()) => {
                self.write_session(&binding)?;
                self.clear_waiting(project_root, &waiting.run)?;
                Ok(Some(binding))
            }
            // Taken, and whoever took it was stopped before saying so everywhere.
            Err(BindError::Store(error)) => Err(error),
            Err(_) => {
                if let Some(holder) = self.home.session_of(&waiting.run)?
                    && session_at(&self.root, &holder.session)?.is_none()
                {
                    self.write_session(&holder)?;
                }
                self.clear_waiting(project_root, &waiting.run)?;
                Ok(None)
            }
        }
    }

    /// Binds a further session to a run that guards others already.
    ///
    /// The run's own record of its session, if any, stays unchanged.
    ///
    /// # Errors
    /// The run is missing, or the files cannot be read or written.
    pub fn share(&self, binding: &Binding) -> Result<(), StoreError> {
        files::create(&self.holder_path(&binding.run)?, binding, Sync::Now)?;
        self.write_session(binding)
    }

    /// Removes the binding of a session whose run has ended.
    ///
    /// # Errors
    /// The session's file cannot be removed.
    pub fn forget_session(&self, key: &SessionKey) -> Result<(), StoreError> {
        files::remove(&self.session_path(key)).map(|_| ())
    }

    /// Makes `run` no longer wait for a session of the project, or guard all of them.
    ///
    /// # Errors
    /// The project's file cannot be read or removed.
    pub fn stop_waiting(&self, run: &RunId, project_root: &Path) -> Result<(), StoreError> {
        self.clear_waiting(project_root, run)
    }

    /// Makes a run that guards a session wait for the next one of the project.
    ///
    /// The current session remains guarded: if it continues after all, the run guards both.
    ///
    /// # Errors
    /// Another run waits, or the files cannot be read or written.
    pub fn hand_on(&self, run: &RunId, project_root: &Path) -> Result<(), BindError> {
        if let Some(other) = waiting_of(&self.root, project_root)?
            && other.run != *run
        {
            return Err(BindError::OtherWaits { run: other.run });
        }
        self.let_go(run)?;
        self.wait_for_next(run, project_root, None)
    }

    /// Lets a run be bound to another session; the current one remains guarded.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn let_go(&self, run: &RunId) -> Result<(), StoreError> {
        files::remove(&self.holder_path(run)?).map(|_| ())
    }

    /// Unbinds a run from its session, and stops it from waiting.
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

    /// Records that a run's project is now at `project_root`.
    pub(crate) fn moved(&self, run: &RunId, project_root: &Path) -> Result<(), StoreError> {
        let Some(mut holder) = self.home.session_of(run)? else {
            return Ok(());
        };
        let was_in = std::mem::replace(&mut holder.project_root, project_root.to_owned());
        files::write(&self.holder_path(run)?, &holder, Sync::Now)?;
        self.home.forget_presence(&holder.session, &was_in)?;
        let bound = session_at(&self.root, &holder.session)?;
        if bound.is_some_and(|bound| bound.run == *run) {
            self.write_session(&holder)?;
        }
        Ok(())
    }

    /// Writes the run's own record of its session; decides between two sessions that compete.
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
        kept::session_path(&self.root, key)
    }

    fn write_session(&self, binding: &Binding) -> Result<(), StoreError> {
        self.home.made_place(SESSIONS)?;
        files::write(&self.session_path(&binding.session), binding, Sync::Now)?;
        self.home.note_binding(binding)
    }

    /// Removes a run from the project's file, now that it has its session.
    fn clear_next(&self, project_root: &Path, run: &RunId) -> Result<(), StoreError> {
        match waiting_of(&self.root, project_root)? {
            Some(waiting) if waiting.hold == SessionScope::Next => {
                self.clear_waiting(project_root, run)
            }
            _ => Ok(()),
        }
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
