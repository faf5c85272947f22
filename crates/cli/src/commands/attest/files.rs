//! Whether the files of a commit are as they were at a moment of a run.
//!
//! The times of change that are compared are those that the file system sets; no program can choose them.

use std::path::{Path, PathBuf};

use interlock_core::visible::visible;
use interlock_store::{CheckedFiles, changed_ms};

/// The files of a commit, which the working tree has exactly so.
pub(super) struct CommitFiles {
    /// Each file with the time of its last change; `None`: it is not there.
    files: Vec<(PathBuf, Option<u64>)>,
    top: PathBuf,
    checked: Option<CheckedFiles>,
}

impl CommitFiles {
    pub(super) fn look(top: &Path, files: Vec<PathBuf>, checked: Option<CheckedFiles>) -> Self {
        let files = files.into_iter().map(|file| {
            let path = top.join(file);
            let at = changed_ms(&path);
            (path, at)
        });
        Self {
            files: files.collect(),
            top: top.to_owned(),
            checked,
        }
    }

    /// Names a file that changed at or after a moment.
    pub(super) fn changed_since(&self, at_ms: u64) -> Option<String> {
        let mut files = self.files.iter();
        files
            .find(|(_, changed)| changed.is_none_or(|changed| changed >= at_ms))
            .map(|(path, _)| self.named(path))
    }

    /// Names a file that is not as the call saw it that began with event `begun_seq`, and ended at `ended_ms`.
    ///
    /// A file that the end of the call recorded may have changed while it ran: it wrote it itself.
    pub(super) fn changed_since_check(
        &self,
        begun_seq: u64,
        (began_ms, ended_ms): (u64, u64),
    ) -> Option<String> {
        let checked = self.checked.as_ref().filter(|one| one.is_after(begun_seq));
        if let Some(gone) = checked.and_then(|one| one.gone().next()) {
            return Some(visible(gone));
        }
        let is_as_seen = |path: &Path, changed: u64| {
            changed < began_ms
                || changed <= ended_ms && checked.is_some_and(|one| one.is_same(path))
        };
        let mut files = self.files.iter();
        files
            .find(|(path, changed)| changed.is_none_or(|changed| !is_as_seen(path, changed)))
            .map(|(path, _)| self.named(path))
    }

    fn named(&self, path: &Path) -> String {
        let name = path.strip_prefix(&self.top).unwrap_or(path);
        visible(&name.to_string_lossy())
    }
}
