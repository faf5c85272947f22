//! The commit of version control that a project was at when a run began.
//!
//! It is found by reading a few small files. No program is started, because the agent controls the repository's
//! configuration, and because a hook must not wait for one.

use std::{
    fs,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
};

/// Name of the file beside a run's database.
const FILE: &str = "revision.json";
/// Maximum number of bytes read of a small file of a repository.
const SMALL_MAX: u64 = 4 * 1024;
/// Maximum number of bytes read of a repository's packed references.
const PACKED_MAX: u64 = 4 * 1024 * 1024;

/// The commit that a project was at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// Root of the working tree.
    pub top: PathBuf,
    /// Directory of the repository's objects.
    pub objects: PathBuf,
    /// The commit, in lower-case hex.
    pub commit: String,
}

impl Versioned for Revision {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Revision {
    /// Finds the revision of the project at `root`; `None`: it is in no repository, or in one of another layout.
    #[must_use]
    pub fn of_project(root: &Path) -> Option<Self> {
        let top = root
            .ancestors()
            .find(|directory| directory.join(".git").symlink_metadata().is_ok())?;
        let own = directory_of(&top.join(".git"), top)?;
        // A further working tree shares objects and references with the first.
        let shared = match text(&own.join("commondir"), SMALL_MAX) {
            Some(shared) => own.join(shared.trim_end()),
            None => own.clone(),
        };
        let head = text(&own.join("HEAD"), SMALL_MAX)?;
        let commit = match head.trim_end().strip_prefix("ref: ") {
            None => commit(&head)?,
            Some(name) => named(&own, &shared, name)?,
        };
        Some(Self {
            top: top.to_owned(),
            objects: shared.join("objects").canonicalize().ok()?,
            commit,
        })
    }

    /// Records that the project is now at `root`; the commit from the run's start stays.
    pub(crate) fn moved(directory: &Path, root: &Path) -> Result<(), StoreError> {
        let now = Self::of_project(root);
        files::rewrite::<Self>(&directory.join(FILE), |known| {
            if let Some(now) = now {
                (known.top, known.objects) = (now.top, now.objects);
            }
        })
    }

    /// Records the revision of the project at `root` beside the run's database in `directory`.
    pub(crate) fn keep(directory: &Path, root: &Path) -> Result<(), StoreError> {
        match Self::of_project(root) {
            Some(found) => files::write(&directory.join(FILE), &found, Sync::Later),
            None => Ok(()),
        }
    }
}

/// Returns the directory in which the repository that contains `root` has its own `HEAD`; `None`: there is none.
#[must_use]
pub fn git_directory(root: &Path) -> Option<PathBuf> {
    repository(root).map(|(_, own)| own)
}

/// Finds the working tree that contains `root`, and the repository's directory for it.
pub(crate) fn repository(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let top = root
        .ancestors()
        .find(|directory| directory.join(".git").symlink_metadata().is_ok())?;
    let own = directory_of(&top.join(".git"), top)?;
    Some((top.to_owned(), own))
}

/// Returns the directory that `.git` is or refers to.
fn directory_of(git: &Path, top: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let named = text(git, SMALL_MAX)?;
    Some(top.join(named.trim_end().strip_prefix("gitdir: ")?))
}

/// Reads the commit that a reference points to.
fn named(own: &Path, shared: &Path, name: &str) -> Option<String> {
    let is_plain = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || !name.starts_with("refs/") {
        return None;
    }
    for directory in [own, shared] {
        if let Some(found) = text(&directory.join(name), SMALL_MAX) {
            return commit(&found);
        }
    }
    let packed = text(&shared.join("packed-refs"), PACKED_MAX)?;
    let line = packed
        .lines()
        .find(|line| line.split_once(' ').is_some_and(|(_, named)| named == name))?;
    commit(line.split(' ').next()?)
}

fn commit(text: &str) -> Option<String> {
    let text = text.trim_end();
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && matches!(text.len(), 40 | 64)).then(|| text.to_ascii_lowercase())
}

/// Reads a plain text file of limited size.
fn text(path: &Path, max: u64) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > max {
        return None;
    }
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(max).read_to_string(&mut text).ok()?;
    Some(text)
}

impl Home {
    /// Returns the revision of a run's project when the run began, if it is known.
    ///
    /// # Errors
    /// The run does not exist, or its record cannot be read.
    pub fn revision_of(&self, run: &RunId) -> Result<Option<Revision>, StoreError> {
        files::read(&self.present_directory(run)?.join(FILE))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn a_commit_is_found_wherever_its_reference_is() {
        let commit = "0a1b2c3d".repeat(5);
        let other = "f".repeat(40);
        let packed = format!(
            "# pack-refs with: peeled\n{other} refs/heads/mainly\n{commit} refs/heads/main\n^{other}\n"
        );
        for (name, text, found) in [
            ("HEAD", commit.to_uppercase(), true),
            ("HEAD", commit.repeat(2), false),
            ("HEAD", "g".repeat(40), false),
            ("HEAD", format!("ref: refs/heads/../../{commit}"), false),
            ("HEAD", "ref: heads/main".to_owned(), false),
            ("refs/heads/main", format!("{commit}\n"), true),
            ("refs/heads/main", "no commit\n".to_owned(), false),
            ("packed-refs", packed, true),
            ("packed-refs", format!("{other} refs/heads/other\n"), false),
            ("packed-refs", "x".repeat(5 * 1024 * 1024), false),
        ] {
            let room = tempfile::tempdir().unwrap();
            let git = room.path().join(".git");
            fs::create_dir_all(git.join("refs/heads")).unwrap();
            fs::create_dir_all(git.join("objects")).unwrap();
            fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(git.join(name), &text).unwrap();
            let revision = Revision::of_project(room.path()).map(|revision| revision.commit);
            let wanted = found.then(|| commit.clone());
            assert_eq!(
                revision,
                wanted,
                "{name}: {}",
                text.get(..60).unwrap_or(&text)
            );
        }
    }

    #[test]
    fn a_further_working_tree_has_its_own_head_and_the_references_of_the_first() {
        let (commit, other) = ("0a1b2c3d".repeat(5), "f".repeat(40));
        let room = tempfile::tempdir().unwrap();
        let git = room.path().join("first/.git");
        let own = git.join("worktrees/second");
        let second = room.path().join("second");
        for directory in [&own, &git.join("objects"), &second] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(second.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        let packed = format!("{other} refs/heads/main\n{commit} refs/heads/side\n");
        fs::write(git.join("packed-refs"), packed).unwrap();
        // Git never reads this one.
        let stray = format!("{other} refs/heads/side\n");
        fs::write(own.join("packed-refs"), stray).unwrap();
        let found = Revision::of_project(&second).unwrap();
        assert_eq!(found.commit, commit);
        assert_eq!(found.top, second);
        assert_eq!(found.objects, git.join("objects").canonicalize().unwrap());
    }
}
