//! Makes the files of a run ready on this machine before it is carried.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use interlock_core::{event::Event, names::RunId};
use interlock_facts::{CallContext, RealDisk, protected_paths};
use interlock_shared::{SharedError, SharedRun, Workspace};
use interlock_store::{EventLog as _, RunStore as _, StoreError};

use super::{
    recorder::{Recorder, ends_step},
    restore::{NotRestored, clear, restore},
};
use crate::{note::Note, projects::Projects, shared::Shared};

/// Why the files of a run are not ready here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreadyError {
    #[error("its project cannot be used here: {0}")]
    Project(#[source] io::Error),
    #[error(
        "its files are those that workers with `--projects` have recorded, and this worker has `--project`: start this one with `--projects`, too"
    )]
    OneProject,
    #[error("its files of {machine} are not restored here: {why}")]
    NotRestored {
        machine: String,
        #[source]
        why: NotRestored,
    },
    #[error(
        "`{}` differs from the recorded one, and protected files are not replaced: move the folder `{}` away, or make the file the same", path.display(), project.display()
    )]
    Protected { path: PathBuf, project: PathBuf },
    #[error(transparent)]
    Shared(#[from] SharedError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The files of a run, ready on this machine.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The folder that is the run's project.
    pub(crate) project: PathBuf,
    /// Records them from now on; `None`: they do not move.
    pub(crate) recorder: Option<Recorder>,
    /// What a person is asked first, because the files of earlier steps are not here.
    pub(crate) missing: Option<Missing>,
}

/// Files that were not recorded and are not here.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The id of the workspace.
    pub(crate) id: String,
    /// What the person is told.
    pub(crate) reason: String,
}

/// Makes the files of a run ready that is carried under `epoch`.
pub(crate) fn ready(
    shared: &Shared,
    run: &RunId,
    epoch: u64,
    log: &SharedRun,
) -> Result<Ready, UnreadyError> {
    let current = shared.database().workspace(run)?;
    let Projects::Each(folders) = shared.projects() else {
        return match current {
            Some(_) => Err(UnreadyError::OneProject),
            None => Ok(Ready {
                project: folder(shared, run)?,
                recorder: None,
                missing: None,
            }),
        };
    };
    let folders = folders.canonicalize().map_err(UnreadyError::Project)?;
    let mut recorder = Recorder {
        database: shared.database().clone(),
        run: run.clone(),
        epoch,
        machine: shared.machine().to_owned(),
        project: folders.join(run.as_str()),
        folder: log.folder().path().to_owned(),
        limit: shared.workspace_limit,
        current: None,
        known: None,
        pending: None,
    };
    let mut missing = None;
    match current {
        None if has_worked(log)? => {
            let why = "no worker has recorded them".to_owned();
            let id = recorder.record_none(why.clone())?;
            missing = Some(ask(id, "another machine", &why));
        }
        None => {
            folder(shared, run)?;
            recorder.record_first()?;
        }
        Some(current) => {
            let is_here = recorder.is_here(&current.id)? && recorder.project.is_dir();
            match &current.why {
                _ if is_here => recorder.have(&current),
                None => {
                    bring(shared, &recorder, &current)?;
                    recorder.have(&current);
                }
                Some(_) if is_answered(log, &current)? => {}
                Some(why) => missing = Some(ask(current.id.clone(), &current.machine, why)),
            }
        }
    }
    Ok(Ready {
        project: folder(shared, run)?,
        recorder: Some(recorder),
        missing,
    })
}

fn folder(shared: &Shared, run: &RunId) -> Result<PathBuf, UnreadyError> {
    shared.projects().of(run).map_err(UnreadyError::Project)
}

fn ask(id: String, machine: &str, why: &str) -> Missing {
    let reason = format!(
        "the files of this run are on {machine} and were not recorded, because {why}: start the worker of that machine again and resume the run, or resume it to go on without them"
    );
    Missing { id, reason }
}

/// Returns whether something of the run has ended that may have written files.
///
/// What was begun and interrupted does not count: its files do not move.
fn has_worked(log: &SharedRun) -> Result<bool, StoreError> {
    for recorded in log.events(0) {
        if ends_step(&recorded?.event) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a person has resumed the run after the question whether to go on without its files.
fn is_answered(log: &SharedRun, current: &Workspace) -> Result<bool, StoreError> {
    let Some(asked) = current.asked_seq else {
        return Ok(false);
    };
    for recorded in log.events(asked) {
        if let Event::RunResumed { .. } = recorded?.event {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Restores recorded files into the run's folder; what is in it is set aside, and never overwritten.
fn bring(shared: &Shared, recorder: &Recorder, current: &Workspace) -> Result<(), UnreadyError> {
    let run = &recorder.run;
    let files = recorder.database.workspace_files(run, &current.id)?;
    let files = files.ok_or_else(|| SharedError::Failed {
        place: recorder.database.place().to_owned(),
        what: format!("the files of run `{run}` are missing"),
    })?;
    let project = &recorder.project;
    let new = project.with_file_name(format!(".{run}.new"));
    clear(&new).map_err(UnreadyError::Project)?;
    let brought = restore(&files, &new)
        .map_err(|why| UnreadyError::NotRestored {
            machine: current.machine.clone(),
            why,
        })
        .and_then(|()| replace(project, &new, recorder.epoch));
    let aside = match brought {
        Ok(aside) => aside,
        Err(error) => {
            let _ = clear(&new);
            return Err(error);
        }
    };
    recorder.note(&[&current.id])?;
    shared.note(&Note::Restored {
        run: run.as_str().to_owned(),
        machine: current.machine.clone(),
        aside,
    });
    Ok(())
}

/// Puts the folder `new` in the place of the project; returns where the project has been set aside, unless it was empty.
fn replace(project: &Path, new: &Path, epoch: u64) -> Result<Option<PathBuf>, UnreadyError> {
    let mut aside = None;
    match fs::symlink_metadata(project) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(UnreadyError::Project(error)),
        Ok(found) if !found.is_dir() => {
            return Err(UnreadyError::Project(io::ErrorKind::NotADirectory.into()));
        }
        Ok(_) => {
            let mut entries = fs::read_dir(project).map_err(UnreadyError::Project)?;
            if entries.next().is_some() {
                check_protected(project, new)?;
                let name = project.file_name().unwrap_or_default().to_string_lossy();
                let free = free_name(project, &format!("{name}.before-{epoch}"));
                fs::rename(project, &free).map_err(UnreadyError::Project)?;
                aside = Some(free);
            }
        }
    }
    fs::rename(new, project).map_err(UnreadyError::Project)?;
    Ok(aside)
}

fn free_name(beside: &Path, name: &str) -> PathBuf {
    let first = beside.with_file_name(name);
    let more = (2..).map(|number: u64| beside.with_file_name(format!("{name}-{number}")));
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    std::iter::once(first.clone())
        .chain(more)
        .find(is_free)
        .unwrap_or(first)
}

/// Checks that protected files of the project are the same in the folder that replaces it.
fn check_protected(project: &Path, new: &Path) -> Result<(), UnreadyError> {
    for (of, other) in [(project, new), (new, project)] {
        let context = CallContext::of_project(of.to_string_lossy()).resolved(&RealDisk);
        for found in protected_paths(&context, &RealDisk) {
            let Ok(path) = Path::new(&found.path).strip_prefix(of) else {
                continue;
            };
            // What of a repository is protected does not move, and is set aside with it.
            let is_git = path.starts_with(".git");
            if !is_git && !is_same(&of.join(path), &other.join(path), found.but) {
                return Err(UnreadyError::Protected {
                    path: path.to_owned(),
                    project: project.to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// Returns whether the same is at two paths; names in `but` directly below a folder do not count.
fn is_same(one: &Path, other: &Path, but: &[&str]) -> bool {
    let found = |path: &Path| match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(None),
        Err(_) => None,
        Ok(found) => Some(Some(found.file_type())),
    };
    let (Some(here), Some(there)) = (found(one), found(other)) else {
        return false;
    };
    match (here, there) {
        (None, None) => true,
        (Some(here), Some(there)) if here != there => false,
        (Some(kind), Some(_)) if kind.is_file() => {
            matches!((fs::read(one), fs::read(other)), (Ok(here), Ok(there)) if here == there)
        }
        (Some(kind), Some(_)) if kind.is_symlink() => {
            matches!((fs::read_link(one), fs::read_link(other)), (Ok(here), Ok(there)) if here == there)
        }
        (Some(kind), Some(_)) if kind.is_dir() => {
            let names = |path: &Path| {
                let entries = fs::read_dir(path)?;
                let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
                let mut names: Vec<_> = names.collect::<io::Result<_>>()?;
                names.retain(|name| !but.iter().any(|but| name == *but));
                names.sort();
                io::Result::Ok(names)
            };
            let (Ok(here), Ok(there)) = (names(one), names(other)) else {
                return false;
            };
            here == there
                && here
                    .iter()
                    .all(|name| is_same(&one.join(name), &other.join(name), &[]))
        }
        _ => false,
    }
}
