//! Earlier state of a file or directory, with its contents within a limit.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::restore::{self, Quarantine};
use crate::outcome::{Answer, Change};
use crate::plan::Free;

/// Maximum number of bytes kept of all protected files together.
const BYTES_MAX: u64 = 8 << 20;
/// Maximum number of entries examined in all protected files together.
const ENTRIES_MAX: usize = 10_000;
/// Maximum nesting of directories that are examined.
const DEPTH_MAX: usize = 40;

/// Remaining limits.
#[derive(Debug)]
pub(super) struct Room {
    bytes: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self { bytes: BYTES_MAX }
    }
}

/// Everything at and below one path, parents first.
#[derive(Debug, Default)]
pub(super) struct Tree {
    root: PathBuf,
    /// By the path as text: comparing paths component by component takes longer.
    entries: BTreeMap<OsString, Entry>,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    kind: Kind,
}

/// Metadata that shows cheaply that a file is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    /// Contents, within the limit.
    File(Option<Vec<u8>>),
    Link(PathBuf),
    Other,
}

impl Stamp {
    pub(super) fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
            mode: about.mode(),
            owner: (about.uid(), about.gid()),
        }
    }
}

impl Tree {
    /// Creates the tree of a missing path.
    pub(super) fn empty(path: &Path) -> Self {
        Self {
            root: path.to_path_buf(),
            entries: BTreeMap::new(),
        }
    }

    /// Reads what is at `path`; keeps contents within the limits of `room`.
    pub(super) fn read(path: &Path, free: &Free, room: Option<&mut Room>) -> Self {
        let mut tree = Self::empty(path);
        let left_out: Vec<PathBuf> = match free {
            Free::Below(names) => names.iter().map(|name| path.join(name)).collect(),
            _ => Vec::new(),
        };
        tree.add(path, &left_out, room, 0);
        tree
    }

    fn add(
        &mut self,
        path: &Path,
        left_out: &[PathBuf],
        mut room: Option<&mut Room>,
        depth: usize,
    ) {
        if depth > DEPTH_MAX || self.entries.len() > ENTRIES_MAX {
            return;
        }
        if left_out.iter().any(|one| one == path) {
            return;
        }
        let Ok(about) = fs::symlink_metadata(path) else {
            return;
        };
        let kind = if about.is_dir() {
            Kind::Directory
        } else if about.is_symlink() {
            Kind::Link(fs::read_link(path).unwrap_or_default())
        } else if about.is_file() {
            Kind::File(
                room.as_deref_mut()
                    .and_then(|room| kept(path, &about, room)),
            )
        } else {
            Kind::Other
        };
        let is_directory = kind == Kind::Directory;
        let stamp = Stamp::of(&about);
        self.entries
            .insert(path.as_os_str().to_owned(), Entry { stamp, kind });
        if is_directory {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                self.add(&entry.path(), left_out, room.as_deref_mut(), depth + 1);
            }
        }
    }

    /// Returns whether nothing is there.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the target if the path is a link.
    pub(super) fn link(&self) -> Option<&Path> {
        match self.entries.get(self.root.as_os_str()) {
            Some(Entry {
                kind: Kind::Link(target),
                ..
            }) => Some(target),
            _ => None,
        }
    }

    /// Returns the kept contents of the file at `path`.
    pub(super) fn bytes(&self, path: &Path) -> &[u8] {
        match self.entries.get(path.as_os_str()) {
            Some(Entry {
                kind: Kind::File(Some(bytes)),
                ..
            }) => bytes,
            _ => &[],
        }
    }

    /// Lists what differs in `now`: removed and altered first, each with parents first.
    pub(super) fn changes(&self, now: &Self) -> Vec<(PathBuf, Change)> {
        let mut changes = Vec::new();
        for (path, entry) in &self.entries {
            let at = || PathBuf::from(path);
            match now.entries.get(path) {
                None => changes.push((at(), Change::Removed)),
                Some(other) if entry.differs(other, Path::new(path)) => {
                    changes.push((at(), Change::Altered));
                }
                Some(_) => {}
            }
        }
        let new = now
            .entries
            .keys()
            .filter(|path| !self.entries.contains_key(*path));
        changes.extend(new.map(|path| (path.into(), Change::Appeared)));
        changes
    }

    /// Reverts one change.
    pub(super) fn restore(
        &self,
        path: &Path,
        change: Change,
        aside: &Quarantine,
    ) -> io::Result<Answer> {
        let entry = self.entries.get(path.as_os_str());
        match (change, entry) {
            (Change::Appeared, _) | (_, None) => aside.take(path).map(Answer::MovedAside),
            (_, Some(entry)) => {
                let mode = entry.stamp.mode & 0o7777;
                match &entry.kind {
                    Kind::Directory => restore::directory(path, mode, entry.stamp.owner, aside)?,
                    Kind::File(Some(bytes)) => {
                        restore::file(path, bytes, mode, entry.stamp.owner, aside)?;
                    }
                    Kind::Link(target) => restore::link(path, target, aside)?,
                    Kind::File(None) => return Ok(left("no copy was kept: it is too large")),
                    Kind::Other => return Ok(left("it was no file or directory")),
                }
                Ok(Answer::PutBack)
            }
        }
    }
}

fn left(why: &str) -> Answer {
    Answer::Left(why.to_owned())
}

impl Entry {
    fn differs(&self, now: &Self, path: &Path) -> bool {
        if self.stamp == now.stamp {
            return false;
        }
        let same_rights = self.stamp.mode == now.stamp.mode && self.stamp.owner == now.stamp.owner;
        if !same_rights {
            return true;
        }
        match &self.kind {
            Kind::Directory => false,
            Kind::File(Some(bytes)) => {
                self.stamp.size != now.stamp.size
                    || fs::read(path).map_or(true, |other| other != *bytes)
            }
            Kind::Link(target) => now.kind != Kind::Link(target.clone()),
            Kind::File(None) | Kind::Other => true,
        }
    }
}

/// Reads a file within the limits.
fn kept(path: &Path, about: &Metadata, room: &mut Room) -> Option<Vec<u8>> {
    room.bytes = room.bytes.checked_sub(about.size())?;
    fs::read(path).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn what_was_not_kept_is_told_and_left() {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().canonicalize().unwrap();
        let protected = root.join("p");
        fs::create_dir(&protected).unwrap();
        fs::create_dir(root.join("aside")).unwrap();
        fs::write(protected.join("large"), "x".repeat(20)).unwrap();
        fs::write(protected.join("small"), "before").unwrap();
        fs::write(protected.join("alike"), "one").unwrap();
        let socket = protected.join("socket");
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        let mut limit = Room { bytes: 10 };
        let before = Tree::read(&protected, &Free::Nothing, Some(&mut limit));
        let now = || Tree::read(&protected, &Free::Nothing, None);
        assert!(before.changes(&now()).is_empty());

        fs::write(protected.join("large"), "y".repeat(20)).unwrap();
        fs::write(protected.join("small"), "after").unwrap();
        fs::write(protected.join("alike"), "two").unwrap();
        fs::remove_file(&socket).unwrap();
        fs::write(&socket, "no socket").unwrap();
        fs::write(protected.join("new"), "new").unwrap();
        let aside = Quarantine::new(None, &root.join("aside"));
        let mut answers = BTreeMap::new();
        for (path, change) in before.changes(&now()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let answer = match before.restore(&path, change, &aside).unwrap() {
                Answer::Left(why) => why,
                Answer::MovedAside(_) => "moved aside".to_owned(),
                other => format!("{other:?}"),
            };
            answers.insert(name, answer);
        }
        let told = [
            ("alike", "PutBack"),
            ("large", "no copy was kept: it is too large"),
            ("new", "moved aside"),
            ("small", "PutBack"),
            ("socket", "it was no file or directory"),
        ];
        let told = told.map(|(name, answer)| (name.to_owned(), answer.to_owned()));
        assert_eq!(answers, BTreeMap::from(told));
        assert_eq!(
            fs::read_to_string(protected.join("small")).unwrap(),
            "before"
        );
        assert_eq!(
            fs::read_to_string(protected.join("large")).unwrap(),
            "y".repeat(20)
        );
        assert!(!protected.join("new").exists());
    }
}
