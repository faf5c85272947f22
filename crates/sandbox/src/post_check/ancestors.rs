//! The ancestors of protected files: replacing one of these directories is a change, too.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::restore::{Quarantine, open_directory};
use crate::outcome::{Answer, Change, Changed};

/// Directories that must stay in place, outermost first.
#[derive(Debug, Default)]
pub(super) struct Ancestors {
    held: BTreeMap<PathBuf, Option<File>>,
}

impl Ancestors {
    /// Holds every existing ancestor of `path`.
    pub(super) fn hold(&mut self, path: &Path) {
        for above in path.ancestors().skip(1) {
            if self.held.contains_key(above) {
                return;
            }
            let opened = fs::OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | PATH_ALONE)
                .open(above);
            if let Ok(opened) = opened {
                self.held.insert(above.to_path_buf(), Some(opened));
            }
        }
    }

    /// Moves back those that were moved away.
    pub(super) fn restore(&mut self, aside: &dyn Fn(&Path) -> Quarantine) -> Vec<Changed> {
        let mut changed = Vec::new();
        for (path, held) in &mut self.held {
            let Some(held) = held.take() else { continue };
            if is_there(path, &held) {
                continue;
            }
            let answer = move_back(path, &held, &aside(path))
                .unwrap_or_else(|error| Answer::Left(error.to_string()));
            changed.push(Changed {
                path: path.clone(),
                change: Change::Altered,
                answer,
            });
        }
        changed
    }
}

#[cfg(target_os = "linux")]
const PATH_ALONE: i32 = libc::O_PATH;
#[cfg(not(target_os = "linux"))]
const PATH_ALONE: i32 = 0;

/// Returns whether `path` is still the directory that is held.
fn is_there(path: &Path, held: &File) -> bool {
    let (Ok(before), Ok(now)) = (held.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    before.dev() == now.dev() && before.ino() == now.ino()
}

fn move_back(path: &Path, held: &File, aside: &Quarantine) -> io::Result<Answer> {
    let from = whereabouts(held)?;
    let gone = from.symlink_metadata().is_err() || !is_there(&from, held);
    if path.symlink_metadata().is_ok() {
        let moved = aside.take(path)?;
        if gone {
            // Its contents are restored from copies.
            return Ok(Answer::MovedAside(moved));
        }
    } else if gone {
        return Ok(Answer::Left("the directory was removed".to_owned()));
    }
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it has no directory"));
    };
    let (Some(other), Some(old)) = (from.parent(), from.file_name()) else {
        return Err(io::Error::other("it has no directory"));
    };
    nix::fcntl::renameat(open_directory(other)?, old, open_directory(above)?, name)?;
    Ok(Answer::PutBack)
}

/// Asks the system where a directory is now.
fn whereabouts(held: &File) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_another_one_replaced_is_moved_back() -> io::Result<()> {
        let room = tempfile::tempdir()?;
        let root = room.path().canonicalize()?;
        let protected = root.join("a/p/x");
        fs::create_dir_all(root.join("a/p"))?;
        fs::write(&protected, "as before")?;
        let mut ancestors = Ancestors::default();
        ancestors.hold(&protected);
        fs::rename(root.join("a"), root.join("b"))?;
        fs::create_dir_all(root.join("a/p"))?;
        fs::write(&protected, "forged")?;

        let changed = ancestors.restore(&|_| Quarantine::new(None, &root.join("aside")));
        let changed: Vec<&Path> = changed.iter().map(|one| one.path.as_path()).collect();
        assert_eq!(changed, [root.join("a")]);
        assert_eq!(fs::read_to_string(&protected)?, "as before");
        assert!(!root.join("b").exists());
        Ok(())
    }

    #[test]
    fn directories_in_which_only_files_changed_stay() -> io::Result<()> {
        let room = tempfile::tempdir()?;
        let root = room.path().canonicalize()?;
        fs::create_dir_all(root.join("a/p"))?;
        let mut ancestors = Ancestors::default();
        ancestors.hold(&root.join("a/p/x"));
        fs::write(root.join("a/p/x"), "new")?;
        fs::create_dir(root.join("a/q"))?;
        let changed = ancestors.restore(&|_| Quarantine::new(None, &root));
        assert!(changed.is_empty(), "{changed:?}");
        Ok(())
    }

    #[test]
    fn a_directory_that_was_removed_is_told_and_what_took_its_place_is_kept_aside() -> io::Result<()>
    {
        let room = tempfile::tempdir()?;
        let root = room.path().canonicalize()?;
        let aside = |_: &Path| Quarantine::new(None, &root.join("aside"));
        fs::create_dir(root.join("aside"))?;
        fs::create_dir_all(root.join("a/p"))?;
        let mut ancestors = Ancestors::default();
        ancestors.hold(&root.join("a/p/x"));
        fs::remove_dir_all(root.join("a"))?;
        fs::create_dir(root.join("a"))?;
        fs::write(root.join("a/new"), "forged")?;

        let mut changed = ancestors.restore(&aside).into_iter();
        let outer = changed.next();
        let Some(Answer::MovedAside(kept)) = outer.as_ref().map(|one| &one.answer) else {
            return Err(io::Error::other(format!("{outer:?}")));
        };
        assert_eq!(
            outer.as_ref().map(|one| one.path.clone()),
            Some(root.join("a"))
        );
        assert_eq!(fs::read_to_string(kept.join("new"))?, "forged");
        assert!(!root.join("a").exists());
        let inner = changed.next().map(|one| (one.path, one.answer));
        let gone = Answer::Left("the directory was removed".to_owned());
        assert_eq!(inner, Some((root.join("a/p"), gone)));
        assert_eq!(changed.next().map(|one| one.path), None);
        // Each is answered once.
        assert!(ancestors.restore(&aside).is_empty());
        Ok(())
    }
}
