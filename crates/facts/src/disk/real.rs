//! The disk of this machine.

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsString,
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{Disk, DiskError, Kind, Seen, Stamp};

/// Maximum number of links in one path before it counts as a circle, as in Linux.
const LINKS_MAX: usize = 40;

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, DiskError> {
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(refused(&error)),
        };
        // Opening a pipe would wait for its other end.
        if !found.is_file() {
            return Err(DiskError::NotAFile);
        }
        if found.len() > bytes_max {
            return Err(DiskError::TooLarge(found.len()));
        }
        let file = fs::File::open(path).map_err(|error| refused(&error))?;
        let mut bytes = Vec::new();
        let read = file
            .take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| refused(&error))?;
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        if read > bytes_max {
            return Err(DiskError::TooLarge(read));
        }
        Ok(Some(bytes))
    }

    fn real(&self, path: &str) -> Result<String, DiskError> {
        followed(path, &mut BTreeSet::new())
    }

    fn follow_each(&self, paths: &mut [&mut String]) {
        // Most paths are below the same directories, which are examined once.
        let mut plain = BTreeSet::new();
        for path in paths {
            if let Ok(found) = followed(path, &mut plain) {
                **path = found;
            }
        }
    }

    fn look(&self, path: &str) -> Option<Seen> {
        fs::metadata(path).ok().map(|found| seen(&found))
    }

    fn stamp(&self, path: &str) -> Option<Stamp> {
        let found = fs::symlink_metadata(path).ok()?;
        if !found.is_symlink() {
            return Some(stamp(&found, None));
        }
        let link = fs::read_link(path).map(|target| target.to_string_lossy().into_owned());
        let link = link.unwrap_or_default();
        let found = fs::metadata(path).unwrap_or(found);
        Some(stamp(&found, Some(link)))
    }

    fn names(&self, directory: &str, max: usize) -> Vec<String> {
        let Ok(entries) = fs::read_dir(directory) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .take(max)
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }
}

/// Returns the real path of `path`; `plain` contains paths known not to be links, and is extended.
fn followed(path: &str, plain: &mut BTreeSet<OsString>) -> Result<String, DiskError> {
    let mut rest: VecDeque<String> = names_of(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        real.push(&name);
        if plain.contains(real.as_os_str()) {
            continue;
        }
        match fs::symlink_metadata(&real) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(DiskError::Circle);
                }
                if real.starts_with("/proc") {
                    return Err(DiskError::Process);
                }
                follow(&mut real, &mut rest)?;
                continue;
            }
            Ok(_) => {}
            Err(error) if is_absence(&error) => {}
            Err(error) => return Err(refused(&error)),
        }
        plain.insert(real.clone().into_os_string());
    }
    text(&real)
}

/// Replaces the link at the end of `real` by its target.
fn follow(real: &mut PathBuf, rest: &mut VecDeque<String>) -> Result<(), DiskError> {
    let target = fs::read_link(&*real).map_err(|error| refused(&error))?;
    let target = target.to_str().ok_or(DiskError::NotText)?;
    if target.starts_with('/') {
        *real = PathBuf::from("/");
    } else {
        real.pop();
    }
    for name in names_of(target).into_iter().rev() {
        rest.push_front(name);
    }
    Ok(())
}

fn names_of(path: &str) -> VecDeque<String> {
    path.split('/')
        .filter(|name| !matches!(*name, "" | "."))
        .map(str::to_owned)
        .collect()
}

fn text(path: &Path) -> Result<String, DiskError> {
    path.to_str().map(str::to_owned).ok_or(DiskError::NotText)
}

fn refused(error: &io::Error) -> DiskError {
    DiskError::Refused(error.to_string())
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn kind(found: &fs::Metadata) -> Kind {
    if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Directory
    } else {
        Kind::Other
    }
}

fn seen(found: &fs::Metadata) -> Seen {
    let kind = kind(found);
    let (id, links) = identity(found);
    Seen { kind, id, links }
}

#[cfg(unix)]
fn identity(found: &fs::Metadata) -> (Option<(u64, u64)>, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (Some((found.dev(), found.ino())), found.nlink())
}

#[cfg(not(unix))]
const fn identity(_: &fs::Metadata) -> (Option<(u64, u64)>, u64) {
    (None, 1)
}

#[cfg(unix)]
fn stamp(found: &fs::Metadata, link: Option<String>) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Stamp {
        kind: kind(found),
        link,
        numbers: [
            found.dev(),
            found.ino(),
            found.size(),
            u64::from(found.mode()),
        ],
        times: [
            nanoseconds(found.mtime(), found.mtime_nsec()),
            nanoseconds(found.ctime(), found.ctime_nsec()),
        ],
    }
}

#[cfg(not(unix))]
fn stamp(found: &fs::Metadata, link: Option<String>) -> Stamp {
    // Without a change time, a file must always be read.
    Stamp {
        kind: kind(found),
        link,
        numbers: [0, 0, found.len(), 0],
        times: [i64::MAX, i64::MAX],
    }
}
