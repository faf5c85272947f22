//! Records the files of a run with the end of each step.

use std::path::PathBuf;

use interlock_core::{event::Event, names::RunId};
use interlock_shared::{Database, NewWorkspace, SharedError, Workspace, WorkspaceRecorder};
use interlock_store::{
    StoreError, random_word,
    record::{Sync, Versioned, make_directory, read_file, write_file},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::pack::pack;

/// Name of the file in a run's folder on this machine.
const FILE: &str = "workspace.json";

/// The workspaces whose files are in the run's project on this machine.
///
/// There are two while a step's end is being recorded: then it is not known yet which one is the current one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Here {
    /// The project that has them.
    project: PathBuf,
    ids: Vec<String>,
}

impl Versioned for Here {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 16 * 1024;
}

/// What is recorded: the SHA-256 of the files, or why there are none.
type Known = Result<Vec<u8>, String>;

/// Records the files of a run that is carried under one epoch.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(super) database: Database,
    pub(super) run: RunId,
    pub(super) epoch: u64,
    /// The name of this machine.
    pub(super) machine: String,
    pub(super) project: PathBuf,
    /// The run's folder on this machine.
    pub(super) folder: PathBuf,
    pub(super) limit: u64,
    /// The current workspace, if its files are in the project.
    pub(super) current: Option<String>,
    /// What the current workspace has.
    pub(super) known: Option<Known>,
    /// What is stored, and becomes the current one with the events that are appended.
    pub(super) pending: Option<Known>,
}

impl Recorder {
    /// Returns whether the files of a workspace are in the project.
    pub(super) fn is_here(&self, id: &str) -> Result<bool, StoreError> {
        let here: Option<Here> = read_file(&self.folder.join(FILE))?;
        let has =
            |here: Here| here.project == self.project && here.ids.iter().any(|here| here == id);
        Ok(here.is_some_and(has))
    }

    /// Begins with a workspace whose files are in the project.
    pub(super) fn have(&mut self, current: &Workspace) {
        self.current = Some(current.id.clone());
        self.known = match (&current.digest, &current.why) {
            (Some(digest), _) => Some(Ok(digest.clone())),
            // An answer is to these missing files, not to those of later steps.
            (None, why) => why.clone().map(Err).filter(|_| current.asked_seq.is_none()),
        };
    }

    /// Remembers that the project has the files of these workspaces.
    pub(super) fn note(&self, ids: &[&str]) -> Result<(), StoreError> {
        make_directory(&self.folder)?;
        let here = Here {
            project: self.project.clone(),
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        };
        write_file(&self.folder.join(FILE), &here, Sync::Now)
    }

    /// Records the files at once, before any step.
    pub(super) fn record_first(&mut self) -> Result<(), SharedError> {
        if let Some(id) = self.store()? {
            self.database
                .publish_workspace(&self.run, self.epoch, &id)?;
            self.recorded(&id);
        }
        Ok(())
    }

    /// Records that nobody has recorded the files; returns the id.
    pub(super) fn record_none(&mut self, why: String) -> Result<String, SharedError> {
        let id = self.keep(Err(why))?;
        self.database
            .publish_workspace(&self.run, self.epoch, &id)?;
        Ok(id)
    }

    /// Stores the files if they are others than before; returns the id.
    fn store(&mut self) -> Result<Option<String>, SharedError> {
        let files = pack(&self.project, self.limit).map_err(|error| error.to_string());
        let now = match &files {
            Ok(files) => Ok(Sha256::digest(files).to_vec()),
            Err(why) => Err(why.clone()),
        };
        if self.known.as_ref() == Some(&now) {
            return Ok(None);
        }
        let id = self.keep(files)?;
        let ids: Vec<&str> = self.current.iter().map(String::as_str).collect();
        self.note(&[&ids[..], &[&id]].concat())
            .map_err(|error| self.failed(&error))?;
        self.pending = Some(now);
        Ok(Some(id))
    }

    fn keep(&self, files: Result<Vec<u8>, String>) -> Result<String, SharedError> {
        let id = random_word().map_err(|error| self.failed(&error))?;
        let new = NewWorkspace {
            id: id.clone(),
            machine: self.machine.clone(),
            files,
        };
        self.database.keep_workspace(&self.run, self.epoch, new)?;
        Ok(id)
    }

    fn failed(&self, error: &StoreError) -> SharedError {
        SharedError::Failed {
            place: self.database.place().to_owned(),
            what: format!("the files of a run cannot be recorded: {error}"),
        }
    }
}

impl WorkspaceRecorder for Recorder {
    fn before(&mut self, events: &[Event]) -> Result<Option<String>, SharedError> {
        if !events.iter().any(ends_step) {
            return Ok(None);
        }
        self.store()
    }

    fn recorded(&mut self, id: &str) {
        self.known = self.pending.take();
        self.current = Some(id.to_owned());
        // If that fails, both are remembered, and one of them is the current one.
        let _ = self.note(&[id]);
    }
}

/// Returns whether an event ends something that may have written files.
pub(super) const fn ends_step(event: &Event) -> bool {
    matches!(
        event,
        Event::ActivityEnded { .. }
            | Event::AttemptFailed { .. }
            | Event::ToolEnded { .. }
            | Event::StageActed { .. }
            | Event::StageAsserted { .. }
            | Event::StageExited { .. }
            | Event::StageFailed { .. }
    )
}
