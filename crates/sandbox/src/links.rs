//! Resolves links in paths, looking up each directory once.
//!
//! Protected files are in few directories, and the system would look up every part of each path again. INVARIANT: the cache is
//! valid only until the command starts.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::plan::WritablePlace;

/// Paths looked up before a command starts.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// By the path as text: comparing paths component by component takes longer than a lookup.
    known: RefCell<BTreeMap<OsString, Found>>,
}

/// What is at a path.
#[derive(Debug, Clone)]
enum Found {
    /// Something, with this path without links.
    At(PathBuf),
    /// Nothing, not even a link.
    Nothing,
    /// A dangling link, or something that cannot be examined.
    Unknown,
}

impl Links {
    /// Returns `path` without links; `None` if it does not exist or cannot be examined.
    pub(crate) fn real(&self, path: &Path) -> Option<PathBuf> {
        match self.find(path) {
            Found::At(real) => Some(real),
            Found::Nothing | Found::Unknown => None,
        }
    }

    /// Returns whether nothing is at `path`, not even a link.
    pub(crate) fn is_absent(&self, path: &Path) -> bool {
        matches!(self.find(path), Found::Nothing)
    }

    fn find(&self, path: &Path) -> Found {
        if let Some(known) = self.known.borrow().get(path.as_os_str()) {
            return known.clone();
        }
        let found = self.look(path);
        self.known
            .borrow_mut()
            .insert(path.as_os_str().to_owned(), found.clone());
        found
    }

    fn look(&self, path: &Path) -> Found {
        let whole = |path: &Path| path.canonicalize().map_or(Found::Unknown, Found::At);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return whole(path);
        };
        if parent.as_os_str().is_empty() {
            return whole(path);
        }
        let here = match self.find(parent) {
            Found::At(parent) => parent.join(name),
            not_there => return not_there,
        };
        match fs::read_link(&here).map_err(|error| error.kind()) {
            Ok(_) => whole(&here),
            // It exists and is not a link.
            Err(io::ErrorKind::InvalidInput) => Found::At(here),
            Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Found::Nothing,
            Err(_) => Found::Unknown,
        }
    }

    /// Resolves the links of a writable place, as far as they may be followed.
    pub(crate) fn resolved(&self, place: &WritablePlace) -> Option<PathBuf> {
        self.real_within(place, &place.path)
    }

    /// Returns whether a writable place must be created, and may be.
    pub(crate) fn is_wanted(&self, place: &WritablePlace) -> bool {
        let (Some(beside), Some(parent)) = (&place.made_beside, place.path.parent()) else {
            return false;
        };
        self.real_within(place, parent)
            .is_some_and(|real| real.join(beside).exists())
    }

    fn real_within(&self, place: &WritablePlace, path: &Path) -> Option<PathBuf> {
        let real = self.real(path)?;
        let Some(within) = &place.within else {
            return Some(real);
        };
        let below = path.strip_prefix(within).ok()?;
        let expected = self.real(within)?;
        // Joining an empty path would add a slash, which no path comparison considers.
        (real == expected.join(below)).then_some(real)
    }

    /// Resolves the links in the existing ancestors of `path`; its own name is kept.
    pub(crate) fn real_above(&self, path: &Path) -> PathBuf {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return path.to_path_buf();
        };
        match self.real(parent) {
            Some(real) => real.join(name),
            None => self.real_above(parent).join(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_what_the_system_says() -> io::Result<()> {
        let room = tempfile::tempdir()?;
        let room = room.path().canonicalize()?;
        fs::create_dir_all(room.join("a/b"))?;
        fs::write(room.join("a/b/file"), "")?;
        std::os::unix::fs::symlink("a/b", room.join("link"))?;
        std::os::unix::fs::symlink("nowhere", room.join("a/broken"))?;
        std::os::unix::fs::symlink("../a", room.join("a/b/up"))?;
        let links = Links::default();
        for path in [
            "",
            "a",
            "a/b/file",
            "a/b/file/x",
            "link",
            "link/file",
            "link/up/b",
            "link/none",
            "a/broken",
            "a/broken/x",
            "a/../link/file",
            "a/b/up/b/up/b/file",
            "none/x",
        ] {
            let path = room.join(path);
            assert_eq!(links.real(&path), path.canonicalize().ok(), "{path:?}");
            // Nothing is known behind a dangling link.
            let known = ["a/b/file/x", "link/none", "none/x"];
            let is_absent = known.iter().any(|end| path.ends_with(end));
            assert_eq!(links.is_absent(&path), is_absent, "{path:?}");
            assert!(!is_absent || path.symlink_metadata().is_err(), "{path:?}");
        }
        assert_eq!(
            links.real_above(&room.join("link/none")),
            room.join("a/b/none")
        );
        assert_eq!(
            links.real_above(&room.join("link/no/x")),
            room.join("a/b/no/x")
        );
        assert_eq!(links.real_above(&room.join("link")), room.join("link"));
        Ok(())
    }
}
