//! Runs in SQLite files of the state directory, one file for each run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_core::{event::Event, names::RunId, run::RunKind};

use crate::{
    durability::Durability,
    error::StoreError,
    files,
    folder::RunFolder,
    joined::{JOINED, JoinedRun, has_database},
    list::RunList,
    listed::{RunSummary, Which},
    log::{AppendError, EventLog as _},
    marks::Marks,
    pin::{NewRun, Pin},
    run_log::RunLog,
    runs::{Runs, UnpublishedRun},
    sqlite,
    sqlite_pin::PinHead,
    sqlite_run::{FILE_NAME, SqliteRun, work_of},
    state_directory::StateDirectory,
};

impl StateDirectory {
    /// Opens the file of an existing run.
    pub(crate) fn open_file(&self, run: &RunId) -> Result<SqliteRun, StoreError> {
        SqliteRun::open(run, &self.present_directory(run)?)
    }
}

impl StateDirectory {
    /// Reads how a run was joined; `None`: it was not, and is stored here.
    pub(crate) fn joined(&self, run: &RunId) -> Result<Option<JoinedRun>, StoreError> {
        let directory = self.present_directory(run)?;
        if has_database(&directory) {
            return Ok(None);
        }
        files::read(&directory.join(JOINED))
    }

    /// Opens a run that was joined; `None`: nothing here opens such runs.
    pub(crate) fn open_joined(
        &self,
        run: &RunId,
        joined: &JoinedRun,
    ) -> Result<Option<RunLog>, StoreError> {
        let Some(open) = self.opener().get() else {
            return Ok(None);
        };
        let directory = self.present_directory(run)?;
        let work = work_of(&directory, run);
        let folder = RunFolder::new(directory, work, Durability::Power);
        open(run, joined, folder).map(Some)
    }
}

impl Runs for StateDirectory {
    // Written beside and renamed: whoever sees the directory sees a whole run.
    fn write(
        &self,
        run: &RunId,
        new: &NewRun<'_>,
        events: &[Event],
        beside: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Box<dyn UnpublishedRun>, StoreError> {
        let runs = self.made_place("runs")?;
        let written = Written {
            beside: runs.join(format!(".new-{run}")),
            directory: runs.join(run.as_str()),
            id: run.clone(),
        };
        let places = Places {
            project: text(new.project_root, &written.directory)?,
            home: self.home_of(events),
        };
        files::make_directory(&written.beside)?;
        write_database(&written.beside, run, (new, &places), events)?;
        beside(&written.beside)?;
        files::sync_directory(&written.beside.join(FILE_NAME))?;
        Ok(Box::new(written))
    }

    fn open(&self, run: &RunId) -> Result<RunLog, StoreError> {
        match self.open_file(run) {
            Ok(file) => Ok(RunLog::new(file)),
            // Only where a file cannot be opened: a run that is stored here costs nothing more.
            Err(error) => match self.joined(run)? {
                Some(joined) => self.open_joined(run, &joined)?.ok_or(error),
                None => Err(error),
            },
        }
    }

    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        self.run_ids()
    }

    fn relocate(&self, run: &RunId, project_root: &Path, home: &Path) -> Result<(), StoreError> {
        let log = self.open_file(run)?;
        log.relocate(&text(project_root, &log.path)?, &text(home, &log.path)?)
    }

    fn list(&self, which: Which<'_>, known: &mut RunList) -> Result<Vec<RunSummary>, StoreError> {
        known.list(self, which)
    }
}

/// The places that a run's marks stand for on this machine.
struct Places {
    project: String,
    home: String,
}

/// Converts a path to text for `file`.
fn text(path: &Path, file: &Path) -> Result<String, StoreError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| StoreError::Unwritable {
        path: file.to_owned(),
        what: format!("a folder whose path is not text (`{}`)", path.display()),
    })
}

impl StateDirectory {
    /// Returns the home for a run's paths: its own, if it records one, otherwise the person's.
    fn home_of(&self, events: &[Event]) -> String {
        let own = events.iter().find_map(|event| match event {
            Event::RunStarted {
                kind: RunKind::Durable(durable),
                ..
            } => Some(durable.places.home.clone()),
            _ => None,
        });
        let person = self.person().and_then(Path::to_str);
        own.or_else(|| person.map(str::to_owned))
            .unwrap_or_default()
    }
}

/// The files of a run, in a temporary place next to their final one.
#[derive(Debug)]
struct Written {
    beside: PathBuf,
    directory: PathBuf,
    id: RunId,
}

impl UnpublishedRun for Written {
    fn id(&self) -> &RunId {
        &self.id
    }

    fn folder(&self) -> &Path {
        &self.beside
    }

    fn publish(self: Box<Self>) -> Result<RunLog, StoreError> {
        fs::rename(&self.beside, &self.directory)
            .map_err(|error| StoreError::io("write", &self.directory, error))?;
        files::sync_directory(&self.directory)?;
        SqliteRun::open(&self.id, &self.directory).map(RunLog::new)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // Only our own unfinished directory: after it was renamed there is none.
        let _ = fs::remove_dir_all(&self.beside);
    }
}

fn write_database(
    directory: &Path,
    run: &RunId,
    (new, places): (&NewRun<'_>, &Places),
    events: &[Event],
) -> Result<(), StoreError> {
    let path = directory.join(FILE_NAME);
    let work = work_of(directory, run);
    let marks = Marks::new(&work.to_string_lossy(), &places.project, &places.home);
    let pin = Pin::new(run, new, (&places.project, &places.home, &marks), &path)?;
    let connection = sqlite::create(&path)?;
    pin.insert(&connection, new.durability, &path)?;
    let head = PinHead {
        digest: pin.digest(),
        durability: new.durability,
        project_root: pin.project_root.clone(),
        person_home: pin.person_home.clone(),
    };
    let mut log = SqliteRun::made(run.clone(), path, connection, head);
    log.append(0, new.at_ms, events)
        .map_err(|error| match error {
            AppendError::Store(error) => error,
            // Nobody else knows the file yet.
            AppendError::Conflict { .. } => log.damaged(error.to_string()),
        })?;
    log.close()
}
