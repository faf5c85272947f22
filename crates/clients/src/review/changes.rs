//! What has changed since a run began, for a person who is asked about it.
//!
//! This is the diff against the commit at which the run began, or, without version control, the files that the run's log names.
//! Every line of it is shown by [`visible`].

mod git;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use interlock_core::{
    event::{About, CallMarks, Event},
    names::CallId,
    visible::visible,
};
use interlock_store::{EventLog as _, Home, RunLog, StoreError};

/// Maximum number of files that are named.
const FILES_MAX: usize = 40;

/// What has changed since a run began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Summary in one line.
    pub head: String,
    /// Lines of the diff; empty if there is none, or if it is unknown.
    pub diff: Vec<String>,
    /// What the diff does not show.
    pub notes: Vec<String>,
}

/// Finds what has changed since the run of `log` began.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub fn since_start(home: &Home, log: &RunLog) -> Result<Changes, StoreError> {
    let written = written(log)?;
    let project = project_of(home, log)?;
    let Some(revision) = home.revision_of(log.run())? else {
        return Ok(of_files(&written, &project, "no version control"));
    };
    let found = match git::difference(home, &revision, &project) {
        Ok(found) => found,
        Err(why) => return Ok(of_files(&written, &project, &format!("no diff: {why}"))),
    };
    let short: String = revision.commit.chars().take(12).collect();
    let head = match found.files.len() {
        0 => format!("nothing is different from commit {short}, at which the run began"),
        1 => format!("1 file is different from commit {short}, at which the run began"),
        many => format!("{many} files are different from commit {short}, at which the run began"),
    };
    let mut notes = found.notes;
    let shown: BTreeSet<PathBuf> = found
        .files
        .iter()
        .map(|file| revision.top.join(file))
        .collect();
    let others: BTreeSet<PathBuf> = written
        .into_iter()
        .filter(|file| !shown.contains(file))
        .collect();
    if !others.is_empty() {
        notes.push(format!(
            "also written in this run, and not in the diff: {}",
            names(&others, &project)
        ));
    }
    Ok(Changes {
        head,
        diff: found.lines.iter().map(|line| visible(line)).collect(),
        notes,
    })
}

/// Names only the files in the run's log.
fn of_files(written: &BTreeSet<PathBuf>, project: &Path, why: &str) -> Changes {
    let head = if written.is_empty() {
        format!("the run's log names no file that was written ({why})")
    } else {
        format!(
            "files written in this run ({why}): {}",
            names(written, project)
        )
    };
    Changes {
        head: visible(&head),
        ..Changes::default()
    }
}

fn names(files: &BTreeSet<PathBuf>, project: &Path) -> String {
    let shown = files.iter().take(FILES_MAX).map(|file| {
        let file = file.strip_prefix(project).unwrap_or(file);
        visible(&file.to_string_lossy())
    });
    let shown: Vec<String> = shown.collect();
    match files.len().saturating_sub(FILES_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn project_of(home: &Home, log: &RunLog) -> Result<PathBuf, StoreError> {
    let own = home.list_runs_where(|run| run == log.run())?.pop();
    let card = own.as_ref().and_then(|run| run.listed.card());
    Ok(card.map_or_else(PathBuf::new, |card| card.project_root.clone()))
}

/// Lists the files that calls of the run wrote, according to the log.
fn written(log: &RunLog) -> Result<BTreeSet<PathBuf>, StoreError> {
    let mut open: BTreeMap<CallId, CallMarks> = BTreeMap::new();
    let mut files = BTreeSet::new();
    for recorded in log.events(0) {
        match recorded?.event {
            Event::CallAllowed { call, marks, .. } | Event::ToolAllowed { call, marks, .. } => {
                open.insert(call.id, marks);
            }
            Event::RequestOpened {
                about: About::Call(grant),
                ..
            } => {
                open.insert(grant.call.id, grant.marks);
            }
            Event::CallEnded {
                call, ok, wrote, ..
            }
            | Event::ToolEnded {
                call, ok, wrote, ..
            } => {
                files.extend(wrote.into_iter().map(|wrote| PathBuf::from(wrote.path)));
                let marks = open.remove(&call).filter(|_| ok).unwrap_or_default();
                files.extend(marks.files.into_iter().map(PathBuf::from));
            }
            Event::LineEnded { wrote, .. } => {
                files.extend(wrote.into_iter().map(|wrote| PathBuf::from(wrote.path)));
            }
            _ => {}
        }
    }
    Ok(files)
}
