//! Opens and writes files without following links.
//!
//! Paths arrive with their links resolved. A link created meanwhile changes where a path leads, and then the call fails: each
//! directory is opened in the one before.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd as _, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, Stat, fchmod, fchown, fstat, mkdirat, openat,
        renameat, statat, unlinkat,
    },
    io::Errno,
};
use sha2::{Digest as _, Sha256};

use crate::{Code, end::Failure};
use interlock_process::Cancel;

/// Number of bytes read between checks for cancellation.
const CHUNK: usize = 256 * 1024;
/// Maximum number of attempts to find an unused name.
const NAMES_MAX: usize = 8;

/// An open directory that was reached without links.
#[derive(Debug)]
pub(crate) struct Directory {
    open: OwnedFd,
}

/// A regular file as it was when opened.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) stat: Stat,
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Error of the system.
    System(Errno),
    /// There is a link where none was before.
    Link,
    /// It is not a regular file.
    NotAFile,
    /// It has changed.
    Changed,
    /// The call was cancelled.
    Cancelled,
    /// It is larger than allowed.
    TooLarge,
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        match error {
            Errno::LOOP => Self::Link,
            other => Self::System(other),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Errno::from_io_error(&error).unwrap_or(Errno::IO).into()
    }
}

impl Trouble {
    /// Describes the failure for the file that a model knows as `shown`.
    pub(crate) fn of(self, shown: &str, aim: crate::place::Aim) -> Failure {
        let refused = match aim {
            crate::place::Aim::Read => Code::CannotRead,
            crate::place::Aim::Write => Code::CannotWrite,
        };
        let (code, message) = match self {
            Self::System(Errno::NOENT) => (Code::NotFound, format!("there is no `{shown}`")),
            Self::System(Errno::NOTDIR) => (
                Code::NotFound,
                format!("there is no `{shown}`: a part of the path is not a directory"),
            ),
            Self::System(error) => (refused, format!("`{shown}`: {error}")),
            Self::Link => (
                Code::Moved,
                format!("`{shown}` leads elsewhere than a moment ago: call the tool again"),
            ),
            Self::NotAFile => (Code::NotAFile, format!("`{shown}` is not a regular file")),
            Self::Changed => (
                Code::StaleFile,
                format!("`{shown}` was changed at this moment: read it again"),
            ),
            Self::Cancelled => (Code::Cancelled, "the call was cancelled".to_owned()),
            Self::TooLarge => (Code::TooLarge, format!("`{shown}` is too large")),
        };
        Failure::new(code, message)
    }
}

/// Returns the flags for opening a directory on the way, without listing it.
const fn way() -> OFlags {
    let flags = OFlags::DIRECTORY
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);
    #[cfg(target_os = "linux")]
    let flags = flags.union(OFlags::PATH);
    flags
}

impl Directory {
    /// Opens a directory by its path without links.
    pub(crate) fn open(real: &Path) -> Result<Self, Trouble> {
        Self::reach(real, false)
    }

    /// Opens a directory by its path without links, creating what is missing.
    pub(crate) fn make(real: &Path) -> Result<Self, Trouble> {
        Self::reach(real, true)
    }

    fn reach(real: &Path, makes: bool) -> Result<Self, Trouble> {
        let mut open = openat(rustix::fs::CWD, "/", way(), Mode::empty())?;
        for part in real.components() {
            let Component::Normal(name) = part else {
                continue;
            };
            open = match openat(&open, name, way(), Mode::empty()) {
                Err(Errno::NOENT) if makes => {
                    match mkdirat(&open, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&open, name, way(), Mode::empty())
                }
                // With `O_PATH`, a link is reported as such.
                Err(Errno::NOTDIR) if is_link(&open, Path::new(name)) => Err(Errno::LOOP),
                opened => opened,
            }?;
        }
        Ok(Self { open })
    }

    /// Opens a regular file in it for reading; never blocks, whatever is there.
    pub(crate) fn file(&self, name: &Path) -> Result<OpenFile, Trouble> {
        // Opening a device or a pipe may already have an effect.
        let before = statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW)?;
        regular(&before)?;
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.open, name, flags, Mode::empty())?;
        let stat = fstat(&file)?;
        regular(&stat)?;
        Ok(OpenFile {
            file: File::from(file),
            stat,
        })
    }

    /// Returns what has a name in it; `None` if nothing.
    pub(crate) fn look(&self, name: &Path) -> Result<Option<Stat>, Trouble> {
        match statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists its names with their kinds, at most `max`, in no order.
    pub(crate) fn names(&self, max: usize) -> Result<Vec<(Vec<u8>, FileType)>, Trouble> {
        let listed = openat(
            &self.open,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&listed)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if names.len() >= max {
                break;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    }),
                known => known,
            };
            names.push((name.to_bytes().to_vec(), kind));
        }
        Ok(names)
    }

    /// Writes a file with these bytes at `name`, completely or not at all.
    ///
    /// `before` is what was examined there: mode and owner are kept, and if something else is there now, nothing is written.
    pub(crate) fn replace(
        &self,
        name: &Path,
        before: Option<&Stat>,
        bytes: &[u8],
    ) -> Result<(), Trouble> {
        let (beside, mut file) = self.beside()?;
        let placed = self
            .fill(&mut file, before, bytes)
            .and_then(|()| self.place(&beside, name, before));
        if placed.is_err() {
            // Nobody knows of it; what is left of it does no harm.
            let _ = unlinkat(&self.open, beside.as_str(), AtFlags::empty());
        }
        placed
    }

    fn beside(&self) -> Result<(String, File), Trouble> {
        for _ in 0..NAMES_MAX {
            let mut random = [0_u8; 8];
            getrandom::fill(&mut random).map_err(|_| Errno::IO)?;
            let name = format!(".interlock-{:016x}.tmp", u64::from_ne_bytes(random));
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            // The mode of a new file: without the permissions that the umask removes.
            match openat(&self.open, name.as_str(), flags, Mode::from_raw_mode(0o666)) {
                Ok(open) => return Ok((name, File::from(open))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn fill(&self, file: &mut File, before: Option<&Stat>, bytes: &[u8]) -> Result<(), Trouble> {
        if let Some(before) = before {
            let own = fstat(file.as_fd())?;
            if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid) {
                let owner = rustix::fs::Uid::from_raw(before.st_uid);
                let group = rustix::fs::Gid::from_raw(before.st_gid);
                // Only root may give files away; otherwise it belongs to the writer.
                let _ = fchown(file.as_fd(), Some(owner), Some(group));
            }
            fchmod(file.as_fd(), Mode::from_raw_mode(before.st_mode & 0o7777))?;
        }
        file.write_all(bytes)?;
        Ok(())
    }

    fn place(&self, beside: &str, name: &Path, before: Option<&Stat>) -> Result<(), Trouble> {
        let now = self.look(name)?;
        let same = match (before, &now) {
            (None, None) => true,
            (Some(before), Some(now)) => is_same(before, now),
            _ => false,
        };
        if !same {
            return Err(Trouble::Changed);
        }
        renameat(&self.open, beside, &self.open, name)?;
        Ok(())
    }
}

impl OpenFile {
    /// Returns its size when it was opened.
    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// Reads all of it, at most `max` bytes.
    pub(crate) fn read(&mut self, max: u64, cancel: &Cancel) -> Result<Vec<u8>, Trouble> {
        if self.size() > max {
            return Err(Trouble::TooLarge);
        }
        let mut bytes = Vec::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            if cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            match self.file.read(&mut chunk) {
                Ok(0) => return Ok(bytes),
                Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > max {
                return Err(Trouble::TooLarge);
            }
        }
    }
}

fn is_link(directory: &OwnedFd, name: &Path) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Refuses what is not a regular file.
pub(crate) fn regular(stat: &Stat) -> Result<(), Trouble> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Trouble::Link),
        _ => Err(Trouble::NotAFile),
    }
}

/// Returns whether nobody has written the file between two checks.
fn is_same(one: &Stat, other: &Stat) -> bool {
    let of = |stat: &Stat| {
        (
            (stat.st_dev, stat.st_ino, stat.st_size),
            (stat.st_mtime, stat.st_mtime_nsec),
            (stat.st_ctime, stat.st_ctime_nsec),
        )
    };
    of(one) == of(other)
}

/// Returns the lower-case hexadecimal SHA-256 of a file's contents.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Formats bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Splits a path without links into its directory and its name.
pub(crate) fn split(real: &str) -> (&Path, &Path) {
    let path = Path::new(real);
    let name = path.file_name().map_or(Path::new("."), Path::new);
    (path.parent().unwrap_or(Path::new("/")), name)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path};

    use super::{Directory, Trouble};

    /// Whoever writes the file between the check and the end of the call keeps what they wrote.
    #[test]
    fn what_somebody_else_has_just_written_is_not_written_over() {
        let room = tempfile::tempdir().unwrap();
        let real = room.path().canonicalize().unwrap();
        let name = Path::new("a.txt");
        let directory = Directory::open(&real).unwrap();
        let path = real.join(name);
        fs::write(&path, "one").unwrap();
        let before = directory.look(name).unwrap();
        fs::write(&path, "three").unwrap();
        let placed = directory.replace(name, before.as_ref(), b"two");
        assert_eq!(placed, Err(Trouble::Changed));
        let placed = directory.replace(name, None, b"two");
        assert_eq!(placed, Err(Trouble::Changed));
        fs::remove_file(&path).unwrap();
        let placed = directory.replace(name, before.as_ref(), b"two");
        assert_eq!(placed, Err(Trouble::Changed));
        assert_eq!(fs::read_dir(&real).unwrap().count(), 0);
    }

    #[test]
    fn no_link_is_followed_wherever_it_stands() {
        let room = tempfile::tempdir().unwrap();
        let real = room.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("d/e")).unwrap();
        fs::write(real.join("d/e/f"), "x").unwrap();
        symlink("d", real.join("l")).unwrap();
        symlink("f", real.join("d/e/g")).unwrap();
        let opened = |path: &str| Directory::open(&real.join(path)).map(|_| ());
        assert_eq!(opened("d/e"), Ok(()));
        assert_eq!(opened("l/e"), Err(Trouble::Link));
        assert_eq!(opened("l"), Err(Trouble::Link));
        assert_eq!(
            Directory::make(&real.join("l/new")).map(|_| ()),
            Err(Trouble::Link)
        );
        let directory = Directory::open(&real.join("d/e")).unwrap();
        assert!(directory.file(Path::new("f")).is_ok());
        assert_eq!(
            directory.file(Path::new("g")).map(|_| ()),
            Err(Trouble::Link)
        );
        assert!(!real.join("d/new").exists());
    }
}
