//! The files of runs, as their carriers record them at the end of each step.

use std::fmt;

use interlock_core::{event::Event, names::RunId};
use ring::digest::{SHA256, digest as hashed};

use crate::{
    database::{Database, End, Leased, Value},
    error::SharedError,
};

/// The maximum number of bytes of the files of one run.
pub const WORKSPACE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Records the files of a run before the end of a step is appended.
pub trait WorkspaceRecorder: fmt::Debug + Send {
    /// Records the files if one of `events` ends a step that may have written; returns the id if they are others than before.
    ///
    /// # Errors
    /// The database cannot be written.
    fn before(&mut self, events: &[Event]) -> Result<Option<String>, SharedError>;

    /// Called when the events are recorded with the files of this id.
    fn recorded(&mut self, id: &str);
}

/// What is recorded of the files of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id, which the machine that has the files knows, too.
    pub id: String,
    /// The name of that machine.
    pub machine: String,
    /// The SHA-256 of the files; `None`: they are not there.
    pub digest: Option<Vec<u8>>,
    /// Why the files are not there.
    pub why: Option<String>,
    /// The number of events when a person was asked whether to go on without the files.
    pub asked_seq: Option<u64>,
}

/// The files of a run, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorkspace {
    /// A word that no other workspace has.
    pub id: String,
    /// The name of this machine.
    pub machine: String,
    /// The files, or why they cannot be recorded.
    pub files: Result<Vec<u8>, String>,
}

impl Database {
    /// Returns the current workspace of a run, without its files.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn workspace(&self, run: &RunId) -> Result<Option<Workspace>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT id, machine, why, asked_seq, digest FROM interlock.workspaces \
             WHERE tenant = $1 AND run = $2 AND is_current",
            [],
        )?;
        let Some(found) = found.first() else {
            return Ok(None);
        };
        let asked: Option<i64> = found.get(3)?;
        Ok(Some(Workspace {
            id: found.get(0)?,
            machine: found.get(1)?,
            why: found.get(2)?,
            digest: found.get(4)?,
            asked_seq: asked.and_then(|asked| u64::try_from(asked).ok()),
        }))
    }

    /// Returns the files of a workspace; `None` if it has none.
    ///
    /// # Errors
    /// The database cannot be read, or the files are not those that were recorded.
    pub fn workspace_files(&self, run: &RunId, id: &str) -> Result<Option<Vec<u8>>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT body, digest FROM interlock.workspaces \
             WHERE tenant = $1 AND run = $2 AND id = $3 AND body IS NOT NULL",
            [id.into()],
        )?;
        let Some(found) = found.first() else {
            return Ok(None);
        };
        let (body, digest): (Vec<u8>, Vec<u8>) = (found.get(0)?, found.get(1)?);
        if hashed(&SHA256, &body).as_ref() == digest {
            Ok(Some(body))
        } else {
            Err(found.wrong(&format!(
                "other files of run `{run}` than those that were recorded"
            )))
        }
    }

    /// Stores a workspace, which is not the current one yet.
    ///
    /// # Errors
    /// The epoch is stale, or the database cannot be written.
    pub fn keep_workspace(
        &self,
        run: &RunId,
        epoch: u64,
        new: NewWorkspace,
    ) -> Result<(), SharedError> {
        let of = self.clone();
        let id = run.clone();
        self.write(move |leased| async move {
            let (statement, more) = match new.files {
                Ok(files) => {
                    let digest = hashed(&SHA256, &files).as_ref().to_vec();
                    (KEEP_FILES, vec![Value::from(digest), files.into()])
                }
                Err(why) => (KEEP_NONE, vec![Value::Text(why)]),
            };
            let mut values = vec![
                of.tenant().as_str().into(),
                id.as_str().into(),
                epoch.into(),
                Value::Text(new.id),
                Value::Text(new.machine),
            ];
            values.extend(more);
            if leased.query(statement, &values).await?.is_empty() {
                return Err(stale(&leased, of.tenant().as_str(), &id, epoch).await);
            }
            Ok(End::Commit(()))
        })
    }

    /// Makes a stored workspace the current one.
    ///
    /// # Errors
    /// The epoch is stale, or the database cannot be written.
    pub fn publish_workspace(&self, run: &RunId, epoch: u64, id: &str) -> Result<(), SharedError> {
        let (of, run, id) = (self.clone(), run.clone(), id.to_owned());
        self.write(move |leased| async move {
            let tenant = of.tenant().as_str();
            let own = [tenant.into(), run.as_str().into(), epoch.into()];
            let locked = leased.query(LOCK, &own).await?;
            if locked.is_empty() {
                return Err(stale(&leased, tenant, &run, epoch).await);
            }
            publish(&leased, tenant, run.as_str(), &id).await?;
            Ok(End::Commit(()))
        })
    }

    /// Records that a person was asked whether to go on without the files, when the run had `seq` events.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn asked_about_workspace(
        &self,
        run: &RunId,
        id: &str,
        seq: u64,
    ) -> Result<(), SharedError> {
        self.of_run(
            run,
            "UPDATE interlock.workspaces SET asked_seq = $4 \
             WHERE tenant = $1 AND run = $2 AND id = $3",
            [id.into(), seq.into()],
        )
        .map(drop)
    }
}

const KEEP_FILES: &str = "INSERT INTO interlock.workspaces (tenant, run, epoch, id, machine, digest, body) \
     SELECT tenant, run, epoch, $4, $5, $6, $7 FROM interlock.runs \
     WHERE tenant = $1 AND run = $2 AND epoch = $3 RETURNING 1";
const KEEP_NONE: &str = "INSERT INTO interlock.workspaces (tenant, run, epoch, id, machine, why) \
     SELECT tenant, run, epoch, $4, $5, $6 FROM interlock.runs \
     WHERE tenant = $1 AND run = $2 AND epoch = $3 RETURNING 1";
const LOCK: &str = "SELECT 1 FROM interlock.runs \
     WHERE tenant = $1 AND run = $2 AND epoch = $3 FOR UPDATE";

/// Makes a stored workspace the only one of its run, in the transaction that records what has written it.
pub(crate) async fn publish(
    leased: &Leased,
    tenant: &str,
    run: &str,
    id: &str,
) -> Result<(), SharedError> {
    let values = [tenant.into(), run.into(), id.into()];
    leased
        .query(
            "DELETE FROM interlock.workspaces WHERE tenant = $1 AND run = $2 AND id <> $3",
            &values,
        )
        .await?;
    let published = leased
        .query(
            "UPDATE interlock.workspaces SET is_current = true \
             WHERE tenant = $1 AND run = $2 AND id = $3 RETURNING 1",
            &values,
        )
        .await?;
    if published.is_empty() {
        return Err(SharedError::Failed {
            place: leased.place().to_owned(),
            what: format!(
                "the files of run `{run}` are gone before the end of their step was recorded"
            ),
        });
    }
    Ok(())
}

async fn stale(leased: &Leased, tenant: &str, run: &RunId, held: u64) -> SharedError {
    let values = [tenant.into(), run.as_str().into()];
    let found = leased
        .query(
            "SELECT epoch FROM interlock.runs WHERE tenant = $1 AND run = $2",
            &values,
        )
        .await;
    match found {
        Ok(rows) => SharedError::StaleEpoch {
            run: run.clone(),
            held,
            current: rows
                .first()
                .and_then(|row| row.try_get::<_, i64>(0).ok())
                .and_then(|epoch| u64::try_from(epoch).ok())
                .unwrap_or_default(),
        },
        Err(error) => error,
    }
}
