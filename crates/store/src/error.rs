//! Errors of the store, with what to do about them.

use std::{
    io,
    path::{Path, PathBuf},
};

use interlock_core::names::RunId;

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No variable says where the state directory is.
    #[error("cannot tell where the state directory is: set `HOME` or `XDG_STATE_HOME`")]
    NoHome,
    /// A variable names a state directory by a relative path.
    #[error("`{variable}` is `{value}`: it must be an absolute path")]
    RelativeHome {
        /// The variable.
        variable: &'static str,
        /// Value of the variable.
        value: PathBuf,
    },
    /// A file or directory is not safe to use.
    #[error("`{path}` is not safe to use: {why}")]
    Unsafe {
        /// The file or directory.
        path: PathBuf,
        /// The reason, with what to do.
        why: String,
    },
    /// The system refuses access.
    #[error("no permission for `{path}`: give its access back to your user")]
    Forbidden {
        /// The file or directory.
        path: PathBuf,
        /// Error of the system.
        source: Option<io::Error>,
    },
    /// The disk or the quota is full.
    #[error(
        "no room left to write `{path}`: nothing was recorded; free some space, then try again"
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the file for too long.
    #[error("`{path}` is held by another process: try again, or end that process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Reading or writing failed for another reason.
    #[error("cannot {doing} `{path}`: check the disk it is on")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The database failed for another reason.
    #[error("the database of `{path}` failed: check the disk it is on")]
    Database {
        /// The database file.
        path: PathBuf,
        /// Error of the database.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The content differs from what was written.
    #[error("`{path}` is damaged: {what}; restore a copy of it, or start a new run")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file belongs to another program.
    #[error("`{path}` was not written by Interlock: move it away")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error("`{path}` has format {found} and this Interlock knows up to {known}: update Interlock")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// Newest format that this version knows.
        known: i64,
    },
    /// Data to be written could not be read back.
    #[error("`{path}` cannot hold {what}: nothing was recorded")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Name of the data, and the reason.
        what: String,
    },
    /// The events contradict the engine, which is a bug.
    #[error("folding event {seq} of `{path}` went wrong: {what}; please report this")]
    Diverged {
        /// The file.
        path: PathBuf,
        /// Sequence number of the event.
        seq: u64,
        /// What is wrong.
        what: String,
    },
    /// The text is not the id of a run.
    #[error("`{text}` is not the id of a run: `interlock runs` shows the ids")]
    BadRunId {
        /// The text.
        text: String,
    },
    /// The text cannot name a run.
    #[error("`{text}` cannot name a run: {why}")]
    BadName {
        /// The text.
        text: String,
        /// Why it cannot.
        why: &'static str,
    },
    /// A durable run already has this name.
    #[error(
        "a run of `{workflow}` is called `{name}` already: choose another name, or continue it with `interlock resume {workflow}/{name}`"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// The workflow.
        workflow: String,
    },
    /// The run does not exist.
    #[error("run `{run}` is missing: restore `{path}`, or start a new run")]
    MissingRun {
        /// The run.
        run: RunId,
        /// Path where it should be.
        path: PathBuf,
    },
    /// No run has this id, prefix or name.
    #[error("no run is called `{wanted}`: {}`interlock runs --all` shows them all", guess(.near.as_deref()))]
    NoSuchRun {
        /// The id, prefix or name that was requested.
        wanted: String,
        /// The most similar name.
        near: Option<String>,
    },
    /// The project has no run.
    #[error("no run belongs to `{project_root}`: name one, or `interlock start` one")]
    NoRunHere {
        /// The project.
        project_root: PathBuf,
    },
    /// Several runs have this prefix or name.
    #[error("`{wanted}` may be any of {}: name one by its id", quoted(.candidates, .names))]
    Ambiguous {
        /// The prefix or name that was requested.
        wanted: String,
        /// The runs that match, newest first.
        candidates: Vec<RunId>,
        /// Name of each, as `WORKFLOW/NAME`; empty: it has none.
        names: Vec<String>,
    },
    /// Other writers were first too many times.
    #[error("other processes wrote to the run {tries} times in between: try again")]
    Contended {
        /// Number of attempts.
        tries: u32,
    },
    /// A store other than SQLite files failed; its own error says what to do.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
    /// The system provides no random bytes.
    #[error("the system gives no random bytes: {what}")]
    NoRandom {
        /// Error of the system.
        what: String,
    },
}

fn guess(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("did you mean `{near}`? "))
}

/// Lists runs by id and name; only the first few.
fn quoted(runs: &[RunId], names: &[String]) -> String {
    let shown = runs.iter().enumerate().take(8).map(|(at, run)| {
        let name = names.get(at).filter(|name| !name.is_empty());
        name.map_or_else(|| format!("`{run}`"), |name| format!("`{run}` ({name})"))
    });
    let mut text: Vec<String> = shown.collect();
    if let Some(more) = runs.len().checked_sub(8).filter(|more| *more > 0) {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}

impl StoreError {
    /// Converts an error of the system about `path`.
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            let why = "it is a link; move it away".to_owned();
            return Self::Unsafe { path, why };
        }
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Forbidden {
                    path,
                    source: Some(source),
                }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io {
                doing,
                path,
                source,
            },
        }
    }

    /// Reports damaged content of `path`.
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_errors_keep_their_meaning() {
        type Fits = fn(&StoreError) -> bool;
        let cases: [(io::ErrorKind, Fits); 5] = [
            (io::ErrorKind::PermissionDenied, |error| {
                matches!(error, StoreError::Forbidden { .. })
            }),
            (io::ErrorKind::ReadOnlyFilesystem, |error| {
                matches!(error, StoreError::Forbidden { .. })
            }),
            (io::ErrorKind::StorageFull, |error| {
                matches!(error, StoreError::Full { .. })
            }),
            (io::ErrorKind::QuotaExceeded, |error| {
                matches!(error, StoreError::Full { .. })
            }),
            (io::ErrorKind::NotADirectory, |error| {
                matches!(error, StoreError::Io { .. })
            }),
        ];
        for (kind, fits) in cases {
            let error = StoreError::io("read", Path::new("/x/y"), kind.into());
            assert!(fits(&error), "{kind:?}: {error:?}");
            assert!(error.to_string().contains("/x/y"), "{error}");
        }
    }

    #[test]
    fn a_long_list_of_candidates_is_cut() {
        let runs: Vec<RunId> = (0..10).map(|run| RunId::new(run.to_string())).collect();
        let all = quoted(&runs, &[]);
        assert!(all.ends_with("`7`, 2 more"), "{all}");
        let names = ["flow/a".to_owned(), String::new()];
        let two = quoted(runs.get(..2).unwrap_or_default(), &names);
        assert_eq!(two, "`0` (flow/a), `1`");
    }
}
