//! Snapshots of files and directories, for comparison with later ones.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files larger than this, in bytes, are compared by size and time instead of content.
const CONTENT_MAX: u64 = 4 * 1024 * 1024;

/// A snapshot of everything below some paths; links are not followed.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    seen: BTreeMap<PathBuf, Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    kind: &'static str,
    mode: Mode,
    content: u64,
    modified: Option<SystemTime>,
}

/// The mode bits, and the numbers of owner and group.
type Mode = (u32, u32, u32);

impl Picture {
    /// Takes a snapshot of the paths in `roots` and everything below them; missing paths are left out.
    pub fn take(roots: &[PathBuf]) -> Picture {
        Picture::take_without(roots, |_| false)
    }

    /// Takes a snapshot without the paths for which `skip` returns true, and everything below them.
    pub fn take_without(roots: &[PathBuf], skip: impl Fn(&Path) -> bool) -> Picture {
        let mut picture = Picture::default();
        let mut open = roots.to_vec();
        while let Some(path) = open.pop() {
            if skip(&path) {
                continue;
            }
            let Some(seen) = look(&path) else { continue };
            if seen.kind == "directory" {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()));
            }
            picture.seen.insert(path, seen);
        }
        picture
    }

    /// Removes the times of modification.
    pub fn without_times(mut self) -> Picture {
        for seen in self.seen.values_mut() {
            seen.modified = None;
        }
        self
    }

    /// Removes times, modes and owners, so that only names and contents are compared.
    pub fn contents(self) -> Picture {
        let mut picture = self.without_times();
        for seen in picture.seen.values_mut() {
            seen.mode = Mode::default();
        }
        picture
    }

    /// Removes the times of a directory and of everything below it.
    pub fn without_times_below(mut self, directory: &Path) -> Picture {
        let below = |(path, _): &(&PathBuf, &mut Seen)| path.starts_with(directory);
        for (_, seen) in self.seen.iter_mut().filter(below) {
            seen.modified = None;
        }
        self
    }

    /// Returns the differences in `later`, one line per path.
    pub fn changes(&self, later: &Picture) -> Vec<String> {
        let mut changes = Vec::new();
        for (path, seen) in &self.seen {
            match later.seen.get(path) {
                None => changes.push(format!("removed: {}", path.display())),
                Some(now) if now != seen => {
                    changes.push(format!("{}: {}", seen.difference(now), path.display()));
                }
                Some(_) => {}
            }
        }
        let new = later
            .seen
            .keys()
            .filter(|path| !self.seen.contains_key(*path));
        changes.extend(new.map(|path| format!("created: {}", path.display())));
        changes
    }

    /// Returns every path in the snapshot, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.seen.keys().map(PathBuf::as_path)
    }
}

impl Seen {
    fn difference(&self, now: &Seen) -> &'static str {
        if self.kind != now.kind {
            "another kind"
        } else if self.content != now.content {
            "other content"
        } else if self.mode != now.mode {
            "another mode"
        } else {
            "another time"
        }
    }
}

fn look(path: &Path) -> Option<Seen> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let kind = metadata.file_type();
    let modified = metadata.modified().ok();
    let mut hasher = DefaultHasher::new();
    let kind = if kind.is_symlink() {
        fs::read_link(path).ok().hash(&mut hasher);
        "link"
    } else if kind.is_dir() {
        "directory"
    } else if kind.is_file() {
        if metadata.len() > CONTENT_MAX {
            (metadata.len(), modified).hash(&mut hasher);
        } else {
            // An unreadable file equals a file that is unreadable later.
            fs::read(path).ok().hash(&mut hasher);
        }
        "file"
    } else {
        "other"
    };
    Some(Seen {
        kind,
        mode: mode(&metadata),
        content: hasher.finish(),
        modified,
    })
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> Mode {
    use std::os::unix::fs::MetadataExt;
    (metadata.mode(), metadata.uid(), metadata.gid())
}

#[cfg(not(unix))]
fn mode(metadata: &fs::Metadata) -> Mode {
    (u32::from(metadata.permissions().readonly()), 0, 0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::fs;

    use super::Picture;

    #[test]
    fn every_kind_of_change_is_seen() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        for name in ["kept", "written", "removed", "mode"] {
            fs::write(at(name), name).unwrap();
        }
        let roots = [room.path().to_owned()];
        let before = Picture::take(&roots).without_times();
        assert_eq!(before.changes(&before), Vec::<String>::new());
        fs::write(at("written"), "other").unwrap();
        fs::remove_file(at("removed")).unwrap();
        fs::write(at("created"), "").unwrap();
        fs::set_permissions(at("mode"), fs::metadata(room.path()).unwrap().permissions()).unwrap();
        let changes = before.changes(&Picture::take(&roots).without_times());
        let words: Vec<&str> = changes
            .iter()
            .filter_map(|line| line.split(':').next())
            .collect();
        assert_eq!(
            words,
            ["another mode", "removed", "other content", "created"]
        );
    }
}
