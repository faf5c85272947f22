//! Small private files, written atomically and read strictly.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use serde::{Serialize, de::DeserializeOwned};

use crate::{chain::hex, error::StoreError, id};

/// Maximum time that a process waits for another one's lock.
pub(crate) const LOCK_WAIT: Duration = Duration::from_millis(1_500);

/// A small file with its own format version.
pub trait Versioned: Serialize + DeserializeOwned {
    /// Version that this code writes.
    const VERSION: i64;
    /// Maximum size of such a file in bytes.
    const BYTES_MAX: u64;
}

/// Whether a file survives power loss before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// The file does.
    Now,
    /// The file may not.
    Later,
}

#[derive(serde::Deserialize)]
struct VersionOnly {
    version: i64,
}

#[derive(Serialize)]
struct Outgoing<'a, T> {
    version: i64,
    content: &'a T,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Incoming<T> {
    #[serde(rename = "version")]
    _version: i64,
    content: T,
}

/// Reads a file; returns `None` only if it does not exist.
///
/// A link at the end of the path is not followed, and no more bytes than permitted are read.
///
/// # Errors
/// The file cannot be read, is not a plain file, or was not written by this version.
pub fn read<T: Versioned>(path: &Path) -> Result<Option<T>, StoreError> {
    let Some(bytes) = read_bytes(path, T::BYTES_MAX)? else {
        return Ok(None);
    };
    let version: VersionOnly = serde_json::from_slice(&bytes)
        .map_err(|error| StoreError::damaged(path, error.to_string()))?;
    if version.version != T::VERSION {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found: version.version,
            known: T::VERSION,
        });
    }
    let incoming: Incoming<T> = serde_json::from_slice(&bytes)
        .map_err(|error| StoreError::damaged(path, error.to_string()))?;
    Ok(Some(incoming.content))
}

/// Reads a plain file of at most `bytes_max` bytes; returns `None` only if it does not exist.
pub(crate) fn read_bytes(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let failed = |error| StoreError::io("read", path, error);
    let file = match open_no_follow(OpenOptions::new().read(true), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(StoreError::Unsafe {
            path: path.to_owned(),
            why: "it is not a plain file; move it away".to_owned(),
        });
    }
    // Room for all of it and for the look at its end: one read, not one for each doubling.
    let room = usize::try_from(found.len().min(bytes_max)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(room.saturating_add(64));
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= bytes_max) {
        Ok(Some(bytes))
    } else {
        Err(StoreError::damaged(
            path,
            format!("it is larger than {bytes_max} bytes"),
        ))
    }
}

// Not blocking: a named pipe in the place of a file must not hang a hook.
fn open_no_follow(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens the file at a path, following links, without blocking on a named pipe.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// Writes a file atomically, by renaming a temporary file.
///
/// # Errors
/// The file cannot be written, or has more bytes than permitted.
pub fn write<T: Versioned>(path: &Path, content: &T, sync: Sync) -> Result<(), StoreError> {
    let beside = write_beside(path, content, sync)?;
    let renamed = fs::rename(&beside, path).map_err(|error| StoreError::io("write", path, error));
    finish(path, &beside, renamed, sync)
}

/// Writes a file that must not exist yet; `false` if it does.
pub(crate) fn create<T: Versioned>(
    path: &Path,
    content: &T,
    sync: Sync,
) -> Result<bool, StoreError> {
    let beside = write_beside(path, content, sync)?;
    let linked = match fs::hard_link(&beside, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(StoreError::io("write", path, error)),
    };
    // A name that stays behind beside the file is never read.
    let _ = fs::remove_file(&beside);
    let created = linked?;
    finish(path, &beside, Ok(()), sync)?;
    Ok(created)
}

/// Changes a file, if it exists.
pub(crate) fn rewrite<T: Versioned>(
    path: &Path,
    change: impl FnOnce(&mut T),
) -> Result<(), StoreError> {
    let Some(mut content) = read::<T>(path)? else {
        return Ok(());
    };
    change(&mut content);
    write(path, &content, Sync::Now)
}

fn finish(
    path: &Path,
    beside: &Path,
    done: Result<(), StoreError>,
    sync: Sync,
) -> Result<(), StoreError> {
    if done.is_err() {
        // Only our own unfinished file; the error that counts is `done`.
        let _ = fs::remove_file(beside);
    } else if sync == Sync::Now {
        sync_directory(path)?;
    }
    done
}

/// Makes the directory entry of `path` survive power loss.
pub(crate) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(path);
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| StoreError::io("write", directory, error))
}

fn write_beside<T: Versioned>(path: &Path, content: &T, sync: Sync) -> Result<PathBuf, StoreError> {
    let beside = path.with_extension(format!("{}.new", hex(&id::random::<8>()?)));
    let written = encode(path, content).and_then(|bytes| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)
            .map_err(|error| StoreError::io("write", path, error))?;
        file.write_all(&bytes)
            .and_then(|()| match sync {
                Sync::Now => file.sync_all(),
                Sync::Later => Ok(()),
            })
            .map_err(|error| StoreError::io("write", path, error))
    });
    match written {
        Ok(()) => Ok(beside),
        Err(error) => {
            // Only our own unfinished file; the error that counts is the first.
            let _ = fs::remove_file(&beside);
            Err(error)
        }
    }
}

fn encode<T: Versioned>(path: &Path, content: &T) -> Result<Vec<u8>, StoreError> {
    let unwritable = |what: String| StoreError::Unwritable {
        path: path.to_owned(),
        what,
    };
    let outgoing = Outgoing {
        version: T::VERSION,
        content,
    };
    let bytes = serde_json::to_vec(&outgoing).map_err(|error| unwritable(error.to_string()))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= T::BYTES_MAX) {
        Ok(bytes)
    } else {
        Err(unwritable(format!("more than {} bytes", T::BYTES_MAX)))
    }
}

/// Removes a file; `false` if it did not exist.
pub(crate) fn remove(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("remove", path, error)),
    }
}

/// Creates a directory that only its owner may enter, with its parents.
///
/// # Errors
/// The directory cannot be created.
pub fn make_directory(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| StoreError::io("make", path, error))
}

/// Locks a lock file until dropped; gives up after [`LOCK_WAIT`].
pub(crate) fn lock(path: &Path) -> Result<File, StoreError> {
    let failed = |error| StoreError::io("lock", path, error);
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    let file = open_no_follow(&mut options, path).map_err(failed)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if began.elapsed() >= LOCK_WAIT => {
                return Err(StoreError::Busy {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Lists the names in a directory, sorted; empty if it does not exist.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |error| StoreError::io("list", directory, error);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is not text is none of ours.
        names.extend(entry.map_err(failed)?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}
