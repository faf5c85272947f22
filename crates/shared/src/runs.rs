//! All runs of one tenant in a shared log.

use std::{
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use interlock_core::{
    event::Event,
    names::{MachineId, RunId},
    run::RunKind,
};
use interlock_store::{
    ChainHash, Durability, EventLog as _, Listed, NewRun, RunCard, RunFolder, RunList, RunLog,
    RunStore as _, RunSummary, Runs, StoreError, UnpublishedRun, Which,
    record::{self, LogOf, Marks, Pin, Row},
};
use interlock_view::report::{state_paths, status};

use crate::{
    append::{Columns, integer},
    database::{Database, End, Value},
    error::SharedError,
    places::Places,
    rows::{Found, Head},
    run::{SharedRun, place_of},
};

/// All runs of one tenant in a shared log, with their folders on this machine.
#[derive(Debug, Clone)]
pub struct SharedRuns {
    database: Database,
    /// Where the runs' folders on this machine are.
    folders: PathBuf,
    /// Where the folders are in which their programs work.
    work: PathBuf,
    /// The home of the person on this machine.
    person_home: String,
}

impl SharedRuns {
    /// Returns the runs of a log, with their folders on this machine below its state directory.
    pub fn new(database: Database, state: &Path, person_home: Option<&Path>) -> Self {
        let tenant = database.tenant().as_str();
        let home = person_home.and_then(Path::to_str);
        Self {
            folders: state.join("shared").join(tenant),
            work: state.join("work"),
            person_home: home.unwrap_or_default().to_owned(),
            database,
        }
    }

    /// Returns the database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Opens a run that exists.
    ///
    /// # Errors
    /// The tenant has no such run, or the database cannot be read.
    pub fn open_run(&self, run: &RunId) -> Result<SharedRun, StoreError> {
        record::check_run_id(run)?;
        let head = self.database.head(run)?;
        let head = head.ok_or_else(|| self.database.no_run(run))?;
        self.opened(run, &head)
    }

    fn opened(&self, run: &RunId, head: &Head) -> Result<SharedRun, StoreError> {
        let path = self.folders.join(run.as_str());
        let work = self.work.join(run.as_str());
        let here = Places::read(&path)?;
        let (project, home) = match &here {
            Some(here) => (&here.project_root, &here.person_home),
            None => (&head.project_root, &head.person_home),
        };
        let marks = Marks::new(&work.to_string_lossy(), project, home);
        let folder = RunFolder::new(path, work, head.durability);
        let database = self.database.clone();
        Ok(SharedRun::new(database, run, head, folder, marks))
    }

    /// Returns the home that a run's paths lead to: its own if it names one, otherwise the person's.
    fn home_of(&self, events: &[Event]) -> String {
        let own = events.iter().find_map(|event| match event {
            Event::RunStarted {
                kind: RunKind::Durable(durable),
                ..
            } => Some(durable.places.home.clone()),
            _ => None,
        });
        own.unwrap_or_else(|| self.person_home.clone())
    }

    fn card(&self, run: &RunId) -> Result<RunCard, StoreError> {
        record::check_run_id(run)?;
        let head = self.database.head(run)?;
        let head = head.ok_or_else(|| self.database.no_run(run))?;
        let log = self.opened(run, &head)?;
        let folded = log.load()?;
        let machine = log.machine_of(&folded)?;
        let pin = self.database.pin(run)?;
        let here = Places::read(log.folder().path())?;
        let project = here.map_or(head.project_root, |here| here.project_root);
        Ok(RunCard {
            workflow: MachineId::new(pin.workflow),
            name: pin.name,
            project_root: PathBuf::from(project),
            created_ms: pin.created_ms,
            last_ms: head.last_ms,
            status: status(&machine, &folded),
            state: state_paths(&machine, &folded).0,
            events: folded.seq,
        })
    }

    /// Returns where the project of each run is on this machine, newest run first.
    fn projects(&self) -> Result<Vec<(RunId, String)>, StoreError> {
        let found = self.database.select(
            "SELECT run, project_root FROM interlock.runs WHERE tenant = $1 \
             ORDER BY run COLLATE \"C\" DESC",
            vec![self.database.tenant().as_str().into()],
        )?;
        let mut runs = Vec::with_capacity(found.len());
        for row in found {
            let row = Found::new(&self.database, row);
            let run = RunId::new(row.get::<String>(0)?);
            // A folder that cannot be read hides no run, and a name that is not an id leads to no folder.
            let here = record::check_run_id(&run)
                .and_then(|()| Places::read(&self.folders.join(run.as_str())));
            let project = match here {
                Ok(Some(here)) => here.project_root,
                _ => row.get(1)?,
            };
            runs.push((run, project));
        }
        Ok(runs)
    }
}

/// Returns whether an error concerns the database, not the rows of one run.
fn is_of_database(error: &StoreError) -> bool {
    let StoreError::Elsewhere(error) = error else {
        return false;
    };
    let error = error.downcast_ref::<SharedError>();
    !matches!(error, Some(SharedError::Foreign { .. }))
}

/// Returns a path as text.
pub(crate) fn text(path: &Path) -> Result<String, StoreError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| StoreError::Unwritable {
        path: path.to_owned(),
        what: "a folder whose path is not text".to_owned(),
    })
}

impl Runs for SharedRuns {
    fn write(
        &self,
        run: &RunId,
        new: &NewRun<'_>,
        events: &[Event],
        beside: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Box<dyn UnpublishedRun>, StoreError> {
        record::check_run_id(run)?;
        let place = place_of(&self.database, run);
        let places = Places {
            project_root: text(new.project_root)?,
            person_home: self.home_of(events),
        };
        let work = self.work.join(run.as_str());
        let marks = Marks::new(
            &work.to_string_lossy(),
            &places.project_root,
            &places.person_home,
        );
        let at = (&*places.project_root, &*places.person_home, &marks);
        let written = Written::new(run, (new, events), at, &place)?;
        let unpublished = Unpublished {
            runs: self.clone(),
            beside: self.folders.join(format!(".new-{run}")),
            published: self.folders.join(run.as_str()),
            written,
        };
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&unpublished.beside);
        made.map_err(|source| StoreError::Io {
            doing: "write",
            path: unpublished.beside.clone(),
            source,
        })?;
        places.write(&unpublished.beside)?;
        beside(&unpublished.beside)?;
        Ok(Box::new(unpublished))
    }

    fn open(&self, run: &RunId) -> Result<RunLog, StoreError> {
        self.open_run(run).map(RunLog::new)
    }

    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        let found = self.database.select(
            "SELECT run FROM interlock.runs WHERE tenant = $1 ORDER BY run COLLATE \"C\" DESC",
            vec![self.database.tenant().as_str().into()],
        )?;
        let mut ids = Vec::with_capacity(found.len());
        for row in found {
            let row = Found::new(&self.database, row);
            ids.push(RunId::new(row.get::<String>(0)?));
        }
        Ok(ids)
    }

    fn list(&self, which: Which<'_>, _: &mut RunList) -> Result<Vec<RunSummary>, StoreError> {
        let mut listed = Vec::new();
        for (id, project) in self.projects()? {
            let is_of = |projects: &[&Path]| projects.contains(&Path::new(&project));
            if !(which.wanted)(&id) || !which.projects.is_none_or(is_of) {
                continue;
            }
            let known = match self.card(&id) {
                Ok(card) => Listed::Known(card),
                // All runs share the database: if it cannot be reached, neither can the list.
                Err(error) if is_of_database(&error) => return Err(error),
                Err(error) => Listed::Damaged {
                    why: error.to_string(),
                },
            };
            listed.push(RunSummary { id, listed: known });
        }
        Ok(listed)
    }

    fn relocate(&self, run: &RunId, project_root: &Path, home: &Path) -> Result<(), StoreError> {
        let log = self.open_run(run)?;
        let places = Places {
            project_root: text(project_root)?,
            person_home: text(home)?,
        };
        places.write(log.folder().path())
    }
}

/// A run in the form in which it is written to the tables.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) pin: Pin,
    pub(crate) durability: Durability,
    /// Its events, each with the previous hash.
    pub(crate) rows: Vec<(Row, ChainHash)>,
    /// The hash of the last event.
    pub(crate) hash: ChainHash,
}

/// The statement that makes a run; the parameters from `$3` on are what [`Written::values`] returns.
pub(crate) const INSERT_RUN: &str = "INSERT INTO interlock.runs (tenant, run, seq, tip_hash, last_ms, digest, \
     created_ms, name, workflow, durability, source_name, source, machine, project_root, person_home) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";

impl Written {
    /// Writes a run with its first events; errors name the log as `place`.
    pub(crate) fn new(
        run: &RunId,
        (new, events): (&NewRun<'_>, &[Event]),
        at: (&str, &str, &Marks),
        place: &Path,
    ) -> Result<Self, StoreError> {
        let pin = Pin::new(run, new, at, place)?;
        let log = LogOf {
            run,
            place,
            pin: pin.digest(),
            marks: at.2,
        };
        let mut hash = log.pin;
        let mut rows = Vec::with_capacity(events.len());
        for (seq, event) in (0..).zip(events) {
            let body = record::body_of(event, log)?;
            let (row, next) = Row::chained(seq, new.at_ms, hash, body);
            rows.push((row, hash));
            hash = next;
        }
        Ok(Self {
            pin,
            durability: new.durability,
            rows,
            hash,
        })
    }

    /// Returns the values of [`INSERT_RUN`].
    pub(crate) fn values(&self, tenant: &str) -> Vec<Value> {
        let pin = &self.pin;
        let last = self
            .rows
            .last()
            .map_or(pin.created_ms, |(row, _)| row.at_ms);
        vec![
            tenant.into(),
            pin.run.as_str().into(),
            Value::from(self.rows.len() as u64),
            self.hash.as_bytes().to_vec().into(),
            Value::Integer(integer(last)),
            pin.digest().as_bytes().to_vec().into(),
            Value::Integer(integer(pin.created_ms)),
            Value::MaybeText(pin.name.clone()),
            pin.workflow.as_str().into(),
            self.durability.word().into(),
            pin.source.name.as_bytes().to_vec().into(),
            pin.source.text.as_bytes().to_vec().into(),
            pin.machine.clone().into(),
            pin.project_root.as_str().into(),
            pin.person_home.as_str().into(),
        ]
    }
}

/// A run whose folder is next to its final place, and which is not in any table yet.
#[derive(Debug)]
struct Unpublished {
    runs: SharedRuns,
    beside: PathBuf,
    published: PathBuf,
    written: Written,
}

impl UnpublishedRun for Unpublished {
    fn id(&self) -> &RunId {
        &self.written.pin.run
    }

    fn folder(&self) -> &Path {
        &self.beside
    }

    fn publish(mut self: Box<Self>) -> Result<RunLog, StoreError> {
        fs::rename(&self.beside, &self.published).map_err(|source| StoreError::Io {
            doing: "write",
            path: self.published.clone(),
            source,
        })?;
        let run = self.written.pin.run.clone();
        let values = self.written.values(self.runs.database.tenant().as_str());
        let tenant = self.runs.database.tenant().as_str().to_owned();
        let rows = std::mem::take(&mut self.written.rows);
        let id = run.clone();
        let made = self.runs.database.write(move |leased| async move {
            leased.query(INSERT_RUN, &values).await?;
            let mut columns = Columns::default();
            for (row, prev) in rows {
                columns.push(row, prev);
            }
            columns.insert(&leased, &tenant, id.as_str()).await?;
            Ok(End::Commit(()))
        });
        if let Err(error) = made {
            // If the answer was lost, the run may exist and need its folder.
            if !matches!(error, SharedError::Unanswered { .. }) {
                let _ = fs::remove_dir_all(&self.published);
            }
            return Err(error.into());
        }
        self.runs.open(&run)
    }
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        // Only our own unfinished folder: after it was renamed, there is none.
        let _ = fs::remove_dir_all(&self.beside);
    }
}
