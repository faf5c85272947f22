//! The operations of a store of runs.
//!
//! Hosts use a [`Home`](crate::Home) and the [`RunLog`]s that it opens. The code that creates the home chooses the
//! implementation of these traits.

use std::{fmt::Debug, path::Path};

use interlock_core::{event::Event, names::RunId};
use interlock_expr::nearest::nearest;

use crate::{
    error::StoreError,
    id,
    list::RunList,
    listed::{RunSummary, Which},
    pin::NewRun,
    run_log::RunLog,
};

/// A run with its first events that is not visible yet; dropping it removes it.
pub trait UnpublishedRun: Debug + Send {
    /// Returns the run's id.
    fn id(&self) -> &RunId;

    /// Returns the path of the run's folder until it is published.
    fn folder(&self) -> &Path;

    /// Makes the complete run visible, and opens it.
    ///
    /// # Errors
    /// The run cannot be written. In this case, nothing of it remains.
    fn publish(self: Box<Self>) -> Result<RunLog, StoreError>;
}

/// All runs of a store.
///
/// INVARIANT: a run that can be opened has its first events; a run whose creation failed is never visible.
pub trait Runs: Debug + Send + Sync {
    /// Writes a run with its first events, without making it visible.
    ///
    /// `beside` fills the run's folder on this machine before that.
    ///
    /// # Errors
    /// The store cannot be written. In this case, nothing of the run remains.
    fn write(
        &self,
        run: &RunId,
        new: &NewRun<'_>,
        events: &[Event],
        beside: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Box<dyn UnpublishedRun>, StoreError>;

    /// Opens a run that exists.
    ///
    /// # Errors
    /// There is no such run, or it is damaged, foreign or held by others.
    fn open(&self, run: &RunId) -> Result<RunLog, StoreError>;

    /// Lists the ids of all runs, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn ids(&self) -> Result<Vec<RunId>, StoreError>;

    /// Lists runs, newest first. A damaged run is listed as damaged and does not hide others.
    ///
    /// `known` is the caller's list from an earlier call; if it is empty, the store's own index is used.
    ///
    /// # Errors
    /// The store cannot be read.
    fn list(&self, which: Which<'_>, known: &mut RunList) -> Result<Vec<RunSummary>, StoreError>;

    /// Records the current paths of a run's project and of the person's home on this machine.
    ///
    /// Recorded paths below the old places then refer to the new ones.
    ///
    /// # Errors
    /// There is no such run, or it cannot be written.
    fn relocate(&self, run: &RunId, project_root: &Path, home: &Path) -> Result<(), StoreError>;

    /// Finds the run that `wanted` refers to: an id, a unique prefix of one, a name, or the newest run of the project.
    ///
    /// A name is searched in the project first, then in all projects.
    ///
    /// # Errors
    /// No run matches, or several do; the error names them.
    fn find(&self, wanted: Option<&str>, project_root: &Path) -> Result<RunId, StoreError> {
        let here = || {
            let projects = [project_root];
            let which = Which {
                projects: Some(&projects),
                ..Which::ALL
            };
            self.list(which, &mut RunList::default())
        };
        let all = || self.list(Which::ALL, &mut RunList::default());
        let Some(wanted) = wanted else {
            let newest = here()?.into_iter().find(|run| run.is_of(project_root));
            return newest
                .map(|run| run.id)
                .ok_or_else(|| StoreError::NoRunHere {
                    project_root: project_root.to_owned(),
                });
        };
        let mut fitting = by_prefix(self.ids()?, wanted);
        if fitting.iter().all(|run| run.as_str().len() != wanted.len()) {
            let called = |runs: Vec<RunSummary>| -> Vec<RunId> {
                let fitting = runs.into_iter().filter(|run| run.is_called(wanted));
                fitting.map(|run| run.id).collect()
            };
            let mut named = called(here()?);
            if named.is_empty() {
                named = called(all()?);
            }
            fitting.extend(named);
            fitting.sort_unstable_by(|a, b| b.cmp(a));
            fitting.dedup();
        }
        match fitting.as_slice() {
            [] => Err(no_such_run(wanted, &all().unwrap_or_default())),
            [run] => Ok(run.clone()),
            _ => Err(StoreError::Ambiguous {
                wanted: wanted.to_owned(),
                names: names_of(&fitting, &all().unwrap_or_default()),
                candidates: fitting,
            }),
        }
    }
}

fn by_prefix(mut runs: Vec<RunId>, wanted: &str) -> Vec<RunId> {
    let prefix = wanted.to_ascii_lowercase();
    if !id::is_prefix(&prefix) {
        return Vec::new();
    }
    runs.retain(|run| run.as_str().starts_with(&prefix));
    runs
}

fn no_such_run(wanted: &str, runs: &[RunSummary]) -> StoreError {
    let names = runs.iter().filter_map(RunSummary::name);
    StoreError::NoSuchRun {
        wanted: wanted.to_owned(),
        near: nearest(wanted, names).map(str::to_owned),
    }
}

/// Returns the name of each run, for messages.
fn names_of(runs: &[RunId], known: &[RunSummary]) -> Vec<String> {
    let name = |run: &RunId| {
        let summary = known.iter().find(|summary| summary.id == *run);
        summary.and_then(RunSummary::full_name).unwrap_or_default()
    };
    runs.iter().map(name).collect()
}
