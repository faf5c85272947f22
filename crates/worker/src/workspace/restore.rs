//! Restores the files of a project into a new folder.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use super::{
    archive::{Entry, Malformed, Reader},
    name::{self, BadName},
    repository,
};

/// Why recorded files are not restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRestored {
    #[error("the recorded tar {0}")]
    Malformed(#[from] Malformed),
    #[error("the recorded path `{}` {why}", path.display())]
    Name { path: PathBuf, why: BadName },
    #[error("the recorded symbolic link `{}` {why}", path.display())]
    Link { path: PathBuf, why: BadName },
    #[error("`{}` is recorded twice", .0.display())]
    Twice(PathBuf),
    #[error("`{}` is recorded without its folder", .0.display())]
    NoFolder(PathBuf),
    #[error("`{}` is no part of a repository that is restored", .0.display())]
    Repository(PathBuf),
    #[error("`{}` cannot be written: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Writes the files of a tar into the folder `into`, which must not exist.
pub(super) fn restore(tar: &[u8], into: &Path) -> Result<(), NotRestored> {
    make_folder(into).map_err(|source| NotRestored::Io {
        path: into.to_owned(),
        source,
    })?;
    let mut reader = Reader::new(tar);
    let mut folders = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut links = Vec::new();
    while let Some((path, entry)) = reader.next()? {
        check(&path, &entry, &folders)?;
        let shown = || PathBuf::from(OsStr::from_bytes(&path));
        if !known.insert(path.clone()) {
            return Err(NotRestored::Twice(shown()));
        }
        let to = into.join(OsStr::from_bytes(&path));
        let written = match entry {
            Entry::Directory => {
                folders.insert(path.clone());
                make_folder(&to)
            }
            Entry::File { is_program, bytes } => write(&to, is_program, bytes),
            // Last: no file is written through one.
            Entry::Link { target } => {
                links.push((to, target));
                Ok(())
            }
        };
        written.map_err(|source| NotRestored::Io {
            path: shown(),
            source,
        })?;
    }
    for (to, target) in links {
        let linked = symlink(OsStr::from_bytes(target), &to);
        linked.map_err(|source| NotRestored::Io { path: to, source })?;
    }
    Ok(())
}

/// Checks whether an entry may be restored.
fn check(path: &[u8], entry: &Entry<'_>, folders: &BTreeSet<Vec<u8>>) -> Result<(), NotRestored> {
    let shown = || PathBuf::from(OsStr::from_bytes(path));
    name::check(path).map_err(|why| NotRestored::Name { path: shown(), why })?;
    if let Some(folder) = name::parent(path)
        && !folders.contains(folder)
    {
        return Err(NotRestored::NoFolder(shown()));
    }
    if let Entry::Link { target } = entry {
        name::check_target(path, target).map_err(|why| NotRestored::Link { path: shown(), why })?;
    }
    let Some(below) = name::below_git(path) else {
        return Ok(());
    };
    let is_part = match entry {
        Entry::Directory => repository::has_folder(below),
        Entry::File { bytes, .. } if below == repository::CONFIG => {
            repository::plain_config(bytes) == *bytes
        }
        Entry::File { .. } => repository::has_file(below),
        Entry::Link { .. } => false,
    };
    if is_part {
        Ok(())
    } else {
        Err(NotRestored::Repository(shown()))
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)
}

fn write(path: &Path, is_program: bool, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(if is_program { 0o755 } else { 0o644 })
        .open(path)?;
    file.write_all(bytes)
}

/// Removes a folder that a worker has left unfinished.
pub(super) fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
