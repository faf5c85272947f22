//! Making runs, opening them, finding the one that is meant.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use interlock_core::{
    Decision, Reply,
    command::{Command, CommandKind},
    decide,
    event::Event,
    evolve,
    machine::Object,
    names::RunId,
    run::{DurableRun, Run},
};
use interlock_expr::nearest::nearest;

use crate::{
    error::StoreError,
    files, frozen,
    home::Home,
    id,
    list::RunSummary,
    log::{AppendError, EventLog as _},
    pin::{NewRun, Pin, PinHead},
    prepared::{Prepared, Started, Written},
    revision::Revision,
    run_log::{FILE_NAME, RunLog},
    sqlite,
};

/// Why no run began.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine refused; nothing was written.
    #[error("the run was not started: {}", refusal(.0))]
    Refused(Box<Decision>),
    /// The store failed; no run is left behind.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn refusal(decision: &Decision) -> &str {
    match &decision.reply {
        Reply::Ask(refusal) | Reply::Refused(refusal) => &refusal.message,
        Reply::Pending { message, .. } => message,
        Reply::Accepted => "",
    }
}

impl Home {
    /// Makes a run that has not begun: its directory, its database, its pinned workflow.
    ///
    /// # Errors
    /// The state directory cannot be written; then no run is left behind.
    pub fn create_run(&self, new: &NewRun<'_>) -> Result<RunLog, StoreError> {
        self.write_beside(&id::run_id(new.at_ms)?, new, &[], &|_| Ok(()))?
            .publish()
    }

    /// Makes a run and begins it, in one step: there is a run that began, or none.
    ///
    /// # Errors
    /// The engine refuses the input, or the state directory cannot be written.
    pub fn start_run(
        &self,
        new: &NewRun<'_>,
        input: Object,
        by: &str,
    ) -> Result<Started, StartError> {
        let id = id::run_id(new.at_ms)?;
        self.begin(&id, new, (input, by, None), &|_| Ok(()))
    }

    /// Begins the run `id`; `also` writes what belongs into its directory beside the database.
    pub(crate) fn begin(
        &self,
        id: &RunId,
        new: &NewRun<'_>,
        asked: (Object, &str, Option<DurableRun>),
        also: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Started, StartError> {
        let Begun { run, decision } = Begun::with(id, new, asked)?;
        let written = self.write_beside(id, new, &decision.events, also)?;
        Ok(Started {
            log: written.publish()?,
            run,
            decision,
        })
    }

    /// Makes a run where nobody sees it yet, with its first events in its log.
    ///
    /// To be called before the bindings are held: what a start evaluates and writes takes its
    /// time. [`Bindings::begin`] and [`Bindings::begin_waiting`] let the run be seen.
    ///
    /// # Errors
    /// The engine refuses the input, or the state directory cannot be written.
    ///
    /// [`Bindings::begin`]: crate::Bindings::begin
    /// [`Bindings::begin_waiting`]: crate::Bindings::begin_waiting
    pub fn prepare_run(
        &self,
        new: &NewRun<'_>,
        input: Object,
        by: &str,
    ) -> Result<Prepared, StartError> {
        let id = id::run_id(new.at_ms)?;
        let Begun { run, decision } = Begun::with(&id, new, (input, by, None))?;
        Ok(Prepared {
            written: self.write_beside(&id, new, &decision.events, &|_| Ok(()))?,
            project_root: new.project_root.to_owned(),
            at_ms: new.at_ms,
            run,
            decision,
        })
    }

    /// Opens a run that exists.
    ///
    /// # Errors
    /// There is no such run, or it is damaged, foreign or held by others.
    pub fn open_run(&self, run: &RunId) -> Result<RunLog, StoreError> {
        RunLog::open(run, &self.present_directory(run)?)
    }

    /// Returns the directory of `run`, which must be there.
    pub(crate) fn present_directory(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let root = self.existing()?.unwrap_or_else(|| self.path().to_owned());
        let directory = Self::run_directory(&root, run)?;
        match fs::symlink_metadata(&directory) {
            Ok(found) if found.is_dir() => Ok(directory),
            Ok(_) => Err(StoreError::Unsafe {
                path: directory,
                why: "it is not a directory; move it away".to_owned(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::MissingRun {
                run: run.clone(),
                path: directory,
            }),
            Err(error) => Err(StoreError::io("read", &directory, error)),
        }
    }

    /// Finds the run that is meant: an id, a unique prefix of one, a name, or the newest of the project.
    ///
    /// A name is looked for in the project first, then anywhere.
    ///
    /// # Errors
    /// No run fits, or several do; then they are named.
    pub fn find_run(&self, wanted: Option<&str>, project_root: &Path) -> Result<RunId, StoreError> {
        let Some(wanted) = wanted else {
            let newest = self
                .list_runs_in(&[project_root], |_| true)?
                .into_iter()
                .find(|run| run.is_of(project_root));
            return newest
                .map(|run| run.id)
                .ok_or_else(|| StoreError::NoRunHere {
                    project_root: project_root.to_owned(),
                });
        };
        let mut fitting = self.runs_by_prefix(wanted)?;
        if fitting.iter().all(|run| run.as_str().len() != wanted.len()) {
            let named = self.runs_by_name(wanted, project_root)?;
            fitting.extend(named);
            fitting.sort_unstable_by(|a, b| b.cmp(a));
            fitting.dedup();
        }
        match fitting.as_slice() {
            [] => Err(self.no_such_run(wanted)),
            [run] => Ok(run.clone()),
            _ => Err(StoreError::Ambiguous {
                wanted: wanted.to_owned(),
                names: self.names_of_runs(&fitting),
                candidates: fitting,
            }),
        }
    }

    fn no_such_run(&self, wanted: &str) -> StoreError {
        let runs = self.list_runs().unwrap_or_default();
        let names = runs.iter().filter_map(RunSummary::name);
        StoreError::NoSuchRun {
            wanted: wanted.to_owned(),
            near: nearest(wanted, names).map(str::to_owned),
        }
    }

    /// Returns what each run is called, for messages.
    fn names_of_runs(&self, runs: &[RunId]) -> Vec<String> {
        let known = self.list_runs().unwrap_or_default();
        let name = |run: &RunId| {
            let summary = known.iter().find(|summary| summary.id == *run);
            summary.and_then(RunSummary::full_name).unwrap_or_default()
        };
        runs.iter().map(name).collect()
    }

    fn runs_by_prefix(&self, wanted: &str) -> Result<Vec<RunId>, StoreError> {
        let prefix = wanted.to_ascii_lowercase();
        if !id::is_prefix(&prefix) {
            return Ok(Vec::new());
        }
        let mut runs = self.run_ids()?;
        runs.retain(|run| run.as_str().starts_with(&prefix));
        Ok(runs)
    }

    fn runs_by_name(&self, wanted: &str, project_root: &Path) -> Result<Vec<RunId>, StoreError> {
        let called = |runs: Vec<RunSummary>| -> Vec<RunId> {
            let runs = runs.into_iter();
            let fitting = runs.filter(|run| run.is_called(wanted));
            fitting.map(|run| run.id).collect()
        };
        let here = called(self.list_runs_in(&[project_root], |_| true)?);
        if here.is_empty() {
            return Ok(called(self.list_runs()?));
        }
        Ok(here)
    }

    /// Lists the ids of all runs, newest first.
    pub(crate) fn run_ids(&self) -> Result<Vec<RunId>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Vec::new());
        };
        let mut runs: Vec<RunId> = files::names(&root.join("runs"))?
            .into_iter()
            .map(RunId::new)
            .filter(|run| id::check(run).is_ok())
            .collect();
        runs.reverse();
        Ok(runs)
    }

    // Written beside and renamed: whoever sees the directory sees a whole run.
    fn write_beside(
        &self,
        run: &RunId,
        new: &NewRun<'_>,
        events: &[Event],
        also: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Written, StoreError> {
        let runs = self.made_place("runs")?;
        let written = Written {
            beside: runs.join(format!(".new-{run}")),
            directory: runs.join(run.as_str()),
            id: run.clone(),
        };
        files::make_directory(&written.beside)?;
        write_database(&written.beside, run, new, events)?;
        also(&written.beside)?;
        frozen::keep(&written.beside, new.project_root, new.machine)?;
        Revision::keep(&written.beside, new.project_root)?;
        files::sync_directory(&written.beside.join(FILE_NAME))?;
        Ok(written)
    }
}

/// A run at its first state, in no log yet.
struct Begun {
    run: Run,
    decision: Decision,
}

impl Begun {
    fn with(
        id: &RunId,
        new: &NewRun<'_>,
        (input, by, durable): (Object, &str, Option<DurableRun>),
    ) -> Result<Self, StartError> {
        let command = CommandKind::Start {
            input,
            by: by.to_owned(),
            durable,
        };
        let command = Command {
            at_ms: new.at_ms,
            kind: command,
        };
        let fresh = Run::new(id.clone());
        let decision = decide(new.machine, &fresh, &command);
        if matches!(decision.reply, Reply::Refused(_)) {
            return Err(StartError::Refused(Box::new(decision)));
        }
        let run = decision.events.iter().fold(fresh, evolve);
        Ok(Self { run, decision })
    }
}

fn write_database(
    directory: &Path,
    run: &RunId,
    new: &NewRun<'_>,
    events: &[Event],
) -> Result<(), StoreError> {
    let path = directory.join(FILE_NAME);
    let pin = Pin::new(run, new, &path)?;
    let connection = sqlite::create(&path)?;
    pin.insert(&connection, new.durability, &path)?;
    let head = PinHead {
        digest: pin.digest(),
        durability: new.durability,
    };
    let mut log = RunLog::made(run.clone(), path, connection, head);
    log.append(0, new.at_ms, events)
        .map_err(|error| match error {
            AppendError::Store(error) => error,
            // Nobody else knows the file yet.
            AppendError::Conflict { .. } => log.damaged(error.to_string()),
        })?;
    log.close()
}
