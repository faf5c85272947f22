//! The state of files that a workflow freezes, from the start of its run or the last approval.
//!
//! It is stored beside the run's log, only if some guard needs it. The contents of files are compared; stamps only avoid
//! reading an unchanged file again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use interlock_core::{
    glob,
    machine::Machine,
    substance::{FrozenChange, FrozenProblem, Named},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    chain::hex,
    checked::{Stamp, stamp},
    error::StoreError,
    files::{self, Sync, Versioned},
    folder::RunFolder,
};

/// Name of the file beside a run's database.
const FILE: &str = "frozen.json";
/// Maximum number of files that one pattern may match.
const FILES_MAX: usize = 20_000;
/// Maximum number of files and directories searched for one pattern.
const LOOKS_MAX: usize = 200_000;
/// Maximum total size in bytes of the files that one pattern matches.
const BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Maximum depth of directories searched.
const DEPTH_MAX: usize = 60;
/// Maximum number of links to directories followed on one path.
const LINKS_MAX: usize = 3;
/// Directories that tools fill; they are searched only for a pattern that names them.
const FILLED: [&str; 10] = [
    ".git",
    "node_modules",
    "target",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "venv",
];

/// The frozen files of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frozen {
    /// Root of the project.
    project: PathBuf,
    /// Each pattern with its files.
    patterns: BTreeMap<String, FrozenFiles>,
}

/// The files that matched a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FrozenFiles {
    /// Each file, relative to the project.
    Files(BTreeMap<String, Content>),
    /// They could not be determined.
    Problem(FrozenProblem),
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// Digest of its bytes and mode, or of the target of a link.
    digest: String,
    /// Stamp that proves the content unchanged; `None`: the file was too new for one.
    stamp: Option<Stamp>,
}

impl Versioned for Frozen {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024 * 1024;
}

/// Returns every pattern that some guard of `machine` freezes.
#[must_use]
pub fn frozen_patterns(machine: &Machine) -> BTreeSet<String> {
    let guards = machine.evidence_guards();
    guards
        .flat_map(|guard| guard.frozen.iter().cloned())
        .collect()
}

/// Stores the state of the files that `machine` freezes, in the directory of a new run.
pub(crate) fn keep(directory: &Path, project: &Path, machine: &Machine) -> Result<(), StoreError> {
    let patterns = frozen_patterns(machine);
    if patterns.is_empty() {
        return Ok(());
    }
    let frozen = Frozen::look(project, patterns, &Frozen::default());
    files::write(&directory.join(FILE), &frozen, Sync::Later)
}

impl RunFolder {
    /// Returns the differences of frozen files; `None`: no guard of the run freezes any.
    #[must_use]
    pub fn frozen_changes(&self, machine: &Machine) -> Option<Vec<FrozenChange>> {
        let patterns = frozen_patterns(machine);
        if patterns.is_empty() {
            return None;
        }
        let kept = match files::read::<Frozen>(&self.path().join(FILE)) {
            Ok(Some(kept)) => kept,
            Ok(None) => return Some(all_failed(patterns, FrozenProblem::NotKept)),
            Err(_) => return Some(all_failed(patterns, FrozenProblem::Unreadable)),
        };
        let now = Frozen::look(&kept.project, patterns, &kept);
        Some(now.differences(&kept))
    }

    /// Stores the current state of the frozen files, after a person's approval.
    ///
    /// # Errors
    /// The state cannot be stored; the previous one continues to count.
    pub fn freeze_again(&self, machine: &Machine) -> Result<(), StoreError> {
        let patterns = frozen_patterns(machine);
        let path = self.path().join(FILE);
        if patterns.is_empty() {
            return Ok(());
        }
        let Some(kept) = files::read::<Frozen>(&path)? else {
            return Ok(());
        };
        let now = Frozen::look(&kept.project, patterns, &kept);
        files::write(&path, &now, Sync::Later)
    }
}

/// Records that the project is now at `project`, where the old stamps are not valid.
pub(crate) fn moved(directory: &Path, project: &Path) -> Result<(), StoreError> {
    files::rewrite::<Frozen>(&directory.join(FILE), |frozen| {
        frozen.project = project.to_owned();
        for kept in frozen.patterns.values_mut() {
            if let FrozenFiles::Files(files) = kept {
                files.values_mut().for_each(|content| content.stamp = None);
            }
        }
    })
}

fn all_failed(patterns: BTreeSet<String>, problem: FrozenProblem) -> Vec<FrozenChange> {
    let failed = |pattern| FrozenChange {
        pattern,
        files: Named::default(),
        problem: Some(problem),
    };
    patterns.into_iter().map(failed).collect()
}

impl Frozen {
    fn look(project: &Path, patterns: BTreeSet<String>, known: &Self) -> Self {
        let look = |pattern: String| {
            let before = match known.patterns.get(&pattern) {
                Some(FrozenFiles::Files(files)) if known.project == project => Some(files),
                _ => None,
            };
            let kept = match matching(project, &pattern, before) {
                Ok(files) => FrozenFiles::Files(files),
                Err(problem) => FrozenFiles::Problem(problem),
            };
            (pattern, kept)
        };
        Self {
            project: project.to_owned(),
            patterns: patterns.into_iter().map(look).collect(),
        }
    }

    /// Names the differences from `kept` for each pattern.
    fn differences(&self, kept: &Self) -> Vec<FrozenChange> {
        let mut changes = Vec::new();
        for (pattern, now) in &self.patterns {
            let mut change = FrozenChange {
                pattern: pattern.clone(),
                files: Named::default(),
                problem: None,
            };
            match (kept.patterns.get(pattern), now) {
                (None, _) => change.problem = Some(FrozenProblem::NotKept),
                (Some(FrozenFiles::Problem(problem)), _) | (_, FrozenFiles::Problem(problem)) => {
                    change.problem = Some(*problem);
                }
                (Some(FrozenFiles::Files(before)), FrozenFiles::Files(now)) => {
                    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
                    let digest = |files: &BTreeMap<String, Content>, name: &String| {
                        files.get(name).map(|content| content.digest.clone())
                    };
                    let differ = names
                        .into_iter()
                        .filter(|name| digest(before, name) != digest(now, name));
                    change.files = Named::of(differ.cloned());
                }
            }
            if change.problem.is_some() || change.files.count > 0 {
                changes.push(change);
            }
        }
        changes
    }
}

/// Reads every file that a pattern matches.
fn matching(
    project: &Path,
    pattern: &str,
    before: Option<&BTreeMap<String, Content>>,
) -> Result<BTreeMap<String, Content>, FrozenProblem> {
    let matcher = glob::compile(pattern).map_err(|_| FrozenProblem::Unreadable)?;
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let start = start_of(pattern);
    let mut found = BTreeMap::new();
    let (mut looks, mut bytes) = (LOOKS_MAX, BYTES_MAX);
    let mut open = vec![(start, 0, 0)];
    while let Some((relative, depth, links)) = open.pop() {
        looks = looks.checked_sub(1).ok_or(FrozenProblem::TooMany)?;
        let path = project.join(&relative);
        let about = match fs::symlink_metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => continue,
            Err(_) => return Err(FrozenProblem::Unreadable),
        };
        let leads = about.is_symlink() && path.is_dir();
        if leads && (links >= LINKS_MAX || is_circle(&path)) {
            continue;
        }
        if about.is_dir() || leads {
            let links = links + usize::from(leads);
            if depth > DEPTH_MAX {
                return Err(FrozenProblem::TooMany);
            }
            for entry in fs::read_dir(&path).map_err(|_| FrozenProblem::Unreadable)? {
                let entry = entry.map_err(|_| FrozenProblem::Unreadable)?;
                let name = entry.file_name();
                let name = name.to_str().ok_or(FrozenProblem::Unreadable)?;
                let is_filled = FILLED.contains(&name) && !names(pattern, name);
                if is_filled && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                let inner = if relative.is_empty() {
                    name.to_owned()
                } else {
                    format!("{relative}/{name}")
                };
                open.push((inner, depth + 1, links));
            }
            continue;
        }
        if matcher.is_match(&relative) {
            let known = before.and_then(|before| before.get(&relative));
            let content = content(&path, &about, known, &mut bytes)?;
            found.insert(relative, content);
            if found.len() > FILES_MAX {
                return Err(FrozenProblem::TooMany);
            }
        }
    }
    Ok(found)
}

/// Returns whether a link points to a directory that contains it.
fn is_circle(path: &Path) -> bool {
    let own = path.parent().map(Path::canonicalize);
    match (path.canonicalize(), own) {
        (Ok(target), Some(Ok(own))) => own.starts_with(target),
        _ => true,
    }
}

/// Returns the directory or file below which all matches of a pattern lie.
fn start_of(pattern: &str) -> String {
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').take_while(is_plain).collect();
    parts.join("/")
}

/// Returns whether a pattern has `name` as one of its segments.
fn names(pattern: &str, name: &str) -> bool {
    pattern.split('/').any(|part| part == name)
}

fn content(
    path: &Path,
    about: &fs::Metadata,
    known: Option<&Content>,
    left: &mut u64,
) -> Result<Content, FrozenProblem> {
    let before = stamp(path);
    if let Some(known) = known
        && known.stamp.is_some()
        && known.stamp == before
    {
        return Ok(known.clone());
    }
    let mut hash = Sha256::new();
    if about.is_symlink() {
        // What it leads to is not a file of the pattern: it must not be a way to change one unseen.
        let target = fs::read_link(path).map_err(|_| FrozenProblem::Unreadable)?;
        hash.update(b"link");
        hash.update(target.as_os_str().as_encoded_bytes());
        if let Ok(about) = fs::metadata(path)
            && about.is_file()
        {
            hash_file(path, &mut hash, left)?;
        }
        return Ok(Content {
            digest: hex(&hash.finalize()),
            stamp: None,
        });
    }
    if !about.is_file() {
        return Err(FrozenProblem::Unreadable);
    }
    hash_file(path, &mut hash, left)?;
    let after = stamp(path);
    let settled = after.filter(|after| Some(*after) == before && is_old(about));
    Ok(Content {
        digest: hex(&hash.finalize()),
        stamp: settled,
    })
}

fn hash_file(path: &Path, hash: &mut Sha256, left: &mut u64) -> Result<(), FrozenProblem> {
    use std::os::unix::fs::MetadataExt as _;
    let file = files::open_plain(path).map_err(|_| FrozenProblem::Unreadable)?;
    let about = file.metadata().map_err(|_| FrozenProblem::Unreadable)?;
    if !about.is_file() {
        return Err(FrozenProblem::Unreadable);
    }
    // Whether somebody may run it decides what a script does.
    hash.update((about.mode() & 0o111).to_le_bytes());
    let mut file = file.take(left.saturating_add(1));
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        let read = file
            .read(&mut buffer)
            .map_err(|_| FrozenProblem::Unreadable)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        let length = u64::try_from(read).unwrap_or(u64::MAX);
        *left = left.checked_sub(length).ok_or(FrozenProblem::TooMany)?;
        hash.update(bytes);
    }
}

/// Returns whether a file is old enough that every later change will alter its stamp.
fn is_old(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let changed = u64::try_from(about.ctime()).unwrap_or(u64::MAX);
    changed.saturating_add(3) < now.as_secs()
}

#[cfg(test)]
mod tests;
