//! The files of a report before and after the command that writes it.
//!
//! A report belongs to a run only if that run wrote it. Its files are therefore read before the line begins, and only changed
//! files count. Links are not followed, and reading never blocks on a pipe.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use interlock_core::{glob, substance::ReportProblem};

use crate::{
    checked::{Stamp, stamp},
    error::StoreError,
    files,
};

/// Maximum number of files of one report.
const FILES_MAX: usize = 2_000;
/// Maximum total size in bytes of the files of one report.
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Maximum number of names read in the directory of a report.
const NAMES_MAX: usize = 20_000;
/// How far a file system's clock may lag: FAT counts in steps of two seconds.
const CLOCK_SLACK: Duration = Duration::from_millis(2_100);

/// The state of a report's files before a command.
#[derive(Debug)]
pub struct ReportFiles {
    project: PathBuf,
    path: String,
    before: BTreeMap<PathBuf, Option<Stamp>>,
    began: SystemTime,
}

impl ReportFiles {
    /// Reads the state of the report `path` in `project` before its command begins.
    #[must_use]
    pub fn look(project: &Path, path: &str) -> Self {
        let now = found(project, path).unwrap_or_default();
        Self {
            project: project.to_owned(),
            path: path.to_owned(),
            before: now
                .into_iter()
                .map(|file| (file.clone(), stamp(&file)))
                .collect(),
            began: SystemTime::now(),
        }
    }

    /// Reads the files that the command has written.
    ///
    /// # Errors
    /// The command wrote none, or a file is not a plain file of the project or is too large.
    pub fn written(&self) -> Result<Vec<Vec<u8>>, ReportProblem> {
        let now = found(&self.project, &self.path)?;
        let mut new = Vec::new();
        for file in &now {
            let stood = self.before.get(file).copied().flatten();
            let Some(stamp) = stamp(file) else { continue };
            if stood != Some(stamp) {
                new.push(file);
            }
        }
        match (new.is_empty(), now.is_empty()) {
            (false, _) => {}
            (true, false) => return Err(ReportProblem::Stale),
            (true, true) => return Err(ReportProblem::Absent),
        }
        let mut left = BYTES_MAX;
        new.into_iter()
            .map(|file| self.read(file, &mut left))
            .collect()
    }

    fn read(&self, file: &Path, left: &mut u64) -> Result<Vec<u8>, ReportProblem> {
        let about = fs::symlink_metadata(file).map_err(|_| ReportProblem::Unreadable)?;
        // Another name of the file may be written to where nobody looks.
        if !about.is_file() || about.nlink() != 1 {
            return Err(ReportProblem::NoPlainFile);
        }
        let earliest = self.began.checked_sub(CLOCK_SLACK).unwrap_or(UNIX_EPOCH);
        if about.modified().is_ok_and(|at| at < earliest) {
            return Err(ReportProblem::Stale);
        }
        if about.len() > *left {
            return Err(ReportProblem::TooLarge);
        }
        match files::read_bytes(file, *left) {
            Ok(Some(bytes)) => {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                *left = left.saturating_sub(length);
                Ok(bytes)
            }
            Ok(None) => Err(ReportProblem::Absent),
            Err(StoreError::Damaged { .. }) => Err(ReportProblem::TooLarge),
            Err(StoreError::Unsafe { .. }) => Err(ReportProblem::NoPlainFile),
            Err(_) => Err(ReportProblem::Unreadable),
        }
    }
}

/// Finds the existing files of a report.
fn found(project: &Path, path: &str) -> Result<Vec<PathBuf>, ReportProblem> {
    let leads_out = path.split('/').any(|part| part == "..");
    if leads_out || path.starts_with(['/', '~']) {
        return Err(ReportProblem::Outside);
    }
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let directory = project.join(directory);
    let Ok(real) = directory.canonicalize() else {
        return Ok(Vec::new());
    };
    let root = project
        .canonicalize()
        .map_err(|_| ReportProblem::Unreadable)?;
    if !real.starts_with(root) {
        return Err(ReportProblem::Outside);
    }
    if !name.contains(['*', '?', '[', '{']) {
        let file = directory.join(name);
        let there = fs::symlink_metadata(&file).is_ok();
        return Ok(there.then_some(file).into_iter().collect());
    }
    let matcher = glob::compile(name).map_err(|_| ReportProblem::Unreadable)?;
    let entries = fs::read_dir(&directory).map_err(|_| ReportProblem::Unreadable)?;
    let mut files = Vec::new();
    for (number, entry) in entries.enumerate() {
        if number >= NAMES_MAX || files.len() > FILES_MAX {
            return Err(ReportProblem::TooLarge);
        }
        let entry = entry.map_err(|_| ReportProblem::Unreadable)?;
        if matcher.is_match(entry.file_name()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests;
