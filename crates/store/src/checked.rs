//! The state of a project's files when its checks ended, stored beside a run's log.
//!
//! If files change without a call that the run saw, evidence becomes stale. The files that version control tracks are
//! compared, by their stamps alone, because build results are not tracked. Without a repository, or with an index that
//! cannot be read, all files count except those below [`BUILT`]. Projects with more than [`FILES_MAX`] files are not compared.

mod index;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use interlock_core::{
    names::CallId,
    run::{Run, Seen},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    folder::RunFolder,
};

/// Name of the file beside a run's database.
const FILE: &str = "checked.json";
/// Maximum number of files compared in one project; larger projects are not compared.
pub const FILES_MAX: usize = 50_000;
/// Maximum depth of directories searched.
const DEPTH_MAX: usize = 60;
/// Maximum number of checks in one record.
const CHECKS_MAX: usize = 64;
/// Maximum number of changed files named.
const NAMED_MAX: usize = 5;
/// Represents all files of a project.
const WHOLE: &str = ".";
/// Names of directories that builds and package managers fill; names that begin with `.` are skipped, too.
const BUILT: [&str; 10] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    "coverage",
    "__pycache__",
    "venv",
    "obj",
    "tmp",
];

/// Stamp that identifies a file's version cheaply: inode, size, mode, and times of change of the file and its entry.
pub(crate) type Stamp = (u64, u64, u32, i64, i64, i64, i64);

/// The state of a project's files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stood {
    /// Root of the project.
    project: PathBuf,
    /// Sequence numbers of the verdicts on the checks that had ended.
    begun: Vec<u64>,
    /// Stamp of each file, relative to the project; `None`: it did not exist.
    files: BTreeMap<String, Option<Stamp>>,
    /// Whether every file of the project counts, so that a new file is a change.
    whole: bool,
}

impl Versioned for Stood {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 32 * 1024 * 1024;
}

impl RunFolder {
    /// Stores the state of the files of `project` after the check that began at `begun_seq` has ended.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn keep_files(&self, project: &Path, begun_seq: u64) -> Result<(), StoreError> {
        let path = self.path().join(FILE);
        let Some((files, whole)) = stand(project) else {
            return files::remove(&path).map(drop);
        };
        let mut begun = match files::read::<Stood>(&path) {
            Ok(Some(stood)) if stood.project == project => stood.begun,
            _ => Vec::new(),
        };
        begun.retain(|known| *known != begun_seq);
        begun.push(begun_seq);
        let first = begun.len().saturating_sub(CHECKS_MAX);
        let stood = Stood {
            project: project.to_owned(),
            begun: begun.split_off(first),
            files,
            whole,
        };
        files::write(&path, &stood, Sync::Later)
    }

    /// Names files that have changed since the end of a check whose success still counts.
    ///
    /// If the stored state cannot be read, the whole project is named.
    #[must_use]
    pub fn changed_files(&self, run: &Run) -> Vec<String> {
        let stands = |seen: &&Seen| !seen.is_before_an_edit(run);
        let mut standing = run.evidence.values().filter(stands).peekable();
        if standing.peek().is_none() {
            return Vec::new();
        }
        match files::read::<Stood>(&self.path().join(FILE)) {
            Ok(Some(stood)) if standing.any(|seen| stood.begun.contains(&seen.begun_seq)) => {
                stood.changed()
            }
            Ok(_) => Vec::new(),
            Err(_) => vec![WHOLE.to_owned()],
        }
    }
}

/// The state of a project's files when the last check of a run had ended.
#[derive(Debug, Clone)]
pub struct CheckedFiles(Stood);

impl RunFolder {
    /// Returns the state of the files after the last check; `None`: it was not recorded.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn checked_files(&self) -> Result<Option<CheckedFiles>, StoreError> {
        let stood = files::read::<Stood>(&self.path().join(FILE))?;
        Ok(stood.map(CheckedFiles))
    }
}

impl CheckedFiles {
    /// Returns whether the check that began at `begun_seq` had ended by then.
    #[must_use]
    pub fn is_after(&self, begun_seq: u64) -> bool {
        self.0.begun.contains(&begun_seq)
    }

    /// Returns whether the file was compared, and is still the same one, unchanged.
    #[must_use]
    pub fn is_same(&self, path: &Path) -> bool {
        let name = path.strip_prefix(&self.0.project).ok();
        let known = name.and_then(|name| self.0.files.get(name.to_str()?));
        known.is_some_and(|stood| stood.is_some() && stamp(path) == *stood)
    }

    /// Names files that existed then and are gone, relative to the project.
    pub fn gone(&self) -> impl Iterator<Item = &str> {
        let files = self.0.files.iter();
        files
            .filter(|(name, stood)| {
                stood.is_some() && stamp(&self.0.project.join(name.as_str())).is_none()
            })
            .map(|(name, _)| name.as_str())
    }
}

/// Returns when a file, or what the file system knows of it, last changed, in milliseconds since 1970; `None`: there is none.
///
/// No program can set this time.
#[must_use]
pub fn changed_ms(path: &Path) -> Option<u64> {
    let (.., seconds, nanoseconds) = stamp(path)?;
    let ms = u64::try_from(seconds).ok()?.checked_mul(1_000)?;
    ms.checked_add(u64::try_from(nanoseconds).ok()? / 1_000_000)
}

/// Records that the project is now at `project`, where every file counts as changed.
pub(crate) fn moved(directory: &Path, project: &Path) -> Result<(), StoreError> {
    files::rewrite::<Stood>(&directory.join(FILE), |stood| {
        stood.project = project.to_owned();
    })
}

/// The state of a project's compared files at one moment.
#[derive(Debug)]
pub struct Files {
    project: PathBuf,
    stood: BTreeMap<String, Option<Stamp>>,
    whole: bool,
}

impl Files {
    /// Reads the state; `None`: there are too many files.
    #[must_use]
    pub fn look(project: &Path) -> Option<Self> {
        let (stood, whole) = stand(project)?;
        Some(Self {
            project: project.to_owned(),
            stood,
            whole,
        })
    }

    /// Names files that were changed or removed since, relative to the project; also new ones if nothing is tracked.
    #[must_use]
    pub fn changed(&self) -> Vec<String> {
        let mut found: Vec<String> = differing(&self.project, &self.stood).collect();
        if self.whole {
            let files = walked(&self.project).unwrap_or_default().into_keys();
            found.extend(files.filter(|name| !self.stood.contains_key(name)));
        }
        found
    }
}

/// Returns whether a project has too many files to detect changes that no call made.
#[must_use]
pub fn has_too_many_files(project: &Path) -> bool {
    match index::tracked(project, FILES_MAX) {
        index::Tracked::Files(_) => false,
        index::Tracked::TooMany => true,
        index::Tracked::Unknown => walked(project).is_none(),
    }
}

/// Returns the sequence number of the verdict on `call` if the call is an open check; `None`: it is not.
#[must_use]
pub fn is_check(run: &Run, call: &CallId) -> Option<u64> {
    let open = run.calls.iter().find(|open| open.id == *call)?;
    (open.marks.shell && !open.marks.evidence.is_empty()).then_some(open.begun_seq)
}

impl Stood {
    fn changed(&self) -> Vec<String> {
        let mut found: Vec<String> = differing(&self.project, &self.files)
            .take(NAMED_MAX)
            .collect();
        if self.whole && found.is_empty() {
            match walked(&self.project) {
                Some(files) => {
                    let mut files = files.into_keys();
                    found.extend(files.find(|name| !self.files.contains_key(name)));
                }
                None => found.push(WHOLE.to_owned()),
            }
        }
        found
    }
}

/// Names the files whose stamps differ.
fn differing(
    project: &Path,
    stood: &BTreeMap<String, Option<Stamp>>,
) -> impl Iterator<Item = String> {
    stood
        .iter()
        .filter(|(name, stood)| stamp(&project.join(name)) != **stood)
        .map(|(name, _)| name.clone())
}

/// Reads the stamps of a project's files that count; `None`: there are too many.
fn stand(project: &Path) -> Option<(BTreeMap<String, Option<Stamp>>, bool)> {
    match index::tracked(project, FILES_MAX) {
        index::Tracked::Files(names) => {
            let stood = |name: String| {
                let stamp = stamp(&project.join(&name));
                (name, stamp)
            };
            Some((names.into_iter().map(stood).collect(), false))
        }
        index::Tracked::TooMany => None,
        index::Tracked::Unknown => Some((walked(project)?, true)),
    }
}

/// Reads the stamps of all files of a project except build results; `None`: there are too many.
fn walked(project: &Path) -> Option<BTreeMap<String, Option<Stamp>>> {
    let mut found = BTreeMap::new();
    let mut left = FILES_MAX;
    let mut open = vec![(project.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                continue;
            };
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory {
                if depth < DEPTH_MAX && !BUILT.contains(&name) {
                    open.push((path, depth + 1));
                }
            } else if let Some(name) = path.strip_prefix(project).ok().and_then(Path::to_str) {
                found.insert(name.to_owned(), stamp(&path));
            }
        }
    }
    Some(found)
}

pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    let about = fs::symlink_metadata(path).ok()?;
    Some((
        about.ino(),
        about.size(),
        about.mode(),
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec(),
    ))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_tracked_a_new_file_is_a_change() {
        let room = tempfile::tempdir().unwrap();
        let project = room.path().canonicalize().unwrap();
        fs::write(project.join("old.txt"), "x").unwrap();
        let looked = Files::look(&project).unwrap();
        assert_eq!(looked.changed(), Vec::<String>::new());
        // What a build leaves behind counts nowhere.
        fs::create_dir(project.join("target")).unwrap();
        fs::write(project.join("target/made"), "x").unwrap();
        assert_eq!(looked.changed(), Vec::<String>::new());
        fs::write(project.join("new.txt"), "x").unwrap();
        assert_eq!(looked.changed(), ["new.txt"]);
        fs::remove_file(project.join("old.txt")).unwrap();
        assert_eq!(looked.changed(), ["old.txt", "new.txt"]);
    }

    #[test]
    fn files_are_found_down_to_a_certain_depth() {
        let room = tempfile::tempdir().unwrap();
        let project = room.path().canonicalize().unwrap();
        let mut directory = project.clone();
        for _ in 0..DEPTH_MAX {
            directory.push("d");
        }
        let beyond = directory.join("e");
        fs::create_dir_all(&beyond).unwrap();
        fs::write(directory.join("in"), "x").unwrap();
        fs::write(beyond.join("out"), "x").unwrap();
        let found = walked(&project).unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert!(names.iter().all(|name| name.ends_with("d/in")));
    }

    #[test]
    fn a_file_is_the_same_until_it_is_written_or_replaced() {
        let room = tempfile::tempdir().unwrap();
        let project = room.path().canonicalize().unwrap();
        let path = project.join("a.txt");
        fs::write(&path, "x").unwrap();
        let mut stood = Stood {
            project: project.clone(),
            begun: vec![3],
            ..Stood::default()
        };
        stood.files = walked(&project).unwrap();
        // It was looked for, and was not there.
        stood.files.insert("never.txt".to_owned(), None);
        let checked = CheckedFiles(stood);
        assert!(checked.is_after(3) && !checked.is_after(4));
        assert!(checked.is_same(&path));
        assert!(!checked.is_same(&project.join("b.txt")));
        assert!(!checked.is_same(&project.join("never.txt")));
        assert_eq!(checked.gone().count(), 0);
        assert!(changed_ms(&path).is_some());
        // The same contents in another file are not the same file.
        fs::write(project.join("b.txt"), "x").unwrap();
        fs::rename(project.join("b.txt"), &path).unwrap();
        assert!(!checked.is_same(&path));
        fs::remove_file(&path).unwrap();
        assert_eq!(checked.gone().collect::<Vec<_>>(), ["a.txt"]);
        assert_eq!(changed_ms(&path), None);
    }
}
