//! Restores files, or moves them away, without following a link that the command has created.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmod, fchmodat, mkdirat};
use nix::unistd::{Gid, Uid, fchown, fchownat, symlinkat};

/// Where new files are moved.
#[derive(Debug)]
pub(super) struct Quarantine {
    directory: Option<PathBuf>,
    /// Directory next to the protected file, if the quarantine is on another file system.
    beside: PathBuf,
}

impl Quarantine {
    pub(super) fn new(directory: Option<&Path>, root: &Path) -> Self {
        Self {
            directory: directory.map(Path::to_path_buf),
            beside: root.parent().unwrap_or(root).to_path_buf(),
        }
    }

    /// Moves what is at `path` away, and returns its new location.
    pub(super) fn take(&self, path: &Path) -> io::Result<PathBuf> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let new = format!("interlock-aside-{}-{name}", random()?);
        let (parent, old) = parent(path)?;
        if let Some(directory) = &self.directory {
            let to = File::open(directory).or_else(|_| {
                std::fs::create_dir_all(directory).and_then(|()| File::open(directory))
            });
            if let Ok(to) = to
                && renameat(&parent, old.as_path(), &to, new.as_str()).is_ok()
            {
                return Ok(directory.join(new));
            }
        }
        let to = open_directory(&self.beside)?;
        let new = format!(".{new}");
        renameat(&parent, old.as_path(), &to, new.as_str())?;
        Ok(self.beside.join(new))
    }

    /// Moves away what is at `path` if it is not of the wanted kind.
    fn clear(&self, path: &Path, is_wanted: impl Fn(&std::fs::Metadata) -> bool) -> io::Result<()> {
        match path.symlink_metadata() {
            Ok(about) if !is_wanted(&about) => self.take(path).map(drop),
            _ => Ok(()),
        }
    }
}

fn random() -> io::Result<String> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Opens a directory through a path without links.
pub(super) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use nix::fcntl::{OpenHow, ResolveFlag, openat2};
        let how = OpenHow::new()
            .flags(flags)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        match openat2(nix::fcntl::AT_FDCWD, path, how) {
            Err(Errno::ENOSYS) => {}
            answer => return Ok(answer?),
        }
    }
    Ok(nix::fcntl::open(path, flags, Mode::empty())?)
}

/// Opens the parent of `path`; creates it if it has been removed.
fn parent(path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it has no directory"));
    };
    let opened = match open_directory(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (above, name) = self::parent(parent)?;
            mkdirat(&above, name.as_path(), Mode::from_bits_truncate(0o755))?;
            open_directory(parent)?
        }
        opened => opened?,
    };
    Ok((opened, PathBuf::from(name)))
}

/// Makes `path` a directory again.
pub(super) fn directory(
    path: &Path,
    mode: u32,
    owner: (u32, u32),
    aside: &Quarantine,
) -> io::Result<()> {
    aside.clear(path, std::fs::Metadata::is_dir)?;
    let (parent, name) = parent(path)?;
    match mkdirat(&parent, name.as_path(), Mode::from_bits_truncate(0o700)) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(error.into()),
    }
    own(&parent, &name, owner);
    let mode = Mode::from_bits_truncate(mode as libc::mode_t);
    let by_name = fchmodat(
        &parent,
        name.as_path(),
        mode,
        FchmodatFlags::NoFollowSymlink,
    );
    // Not every system can change the permissions of a file without following links.
    Ok(by_name.or_else(|_| {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(&parent, name.as_path(), flags, Mode::empty())?;
        fchmod(opened.as_fd(), mode)
    })?)
}

/// Restores the bytes of `path` under its name, atomically.
pub(super) fn file(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    owner: (u32, u32),
    aside: &Quarantine,
) -> io::Result<()> {
    aside.clear(path, std::fs::Metadata::is_file)?;
    let (parent, name) = parent(path)?;
    let new = format!(".interlock-{}", random()?);
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let opened = openat(
        &parent,
        new.as_str(),
        flags,
        Mode::from_bits_truncate(0o600),
    )?;
    let mut written = File::from(opened);
    written.write_all(bytes)?;
    // Only root may change the owner; otherwise the owner is already right.
    let _ = fchown(
        &written,
        Some(Uid::from_raw(owner.0)),
        Some(Gid::from_raw(owner.1)),
    );
    fchmod(
        written.as_fd(),
        Mode::from_bits_truncate(mode as libc::mode_t),
    )?;
    renameat(&parent, new.as_str(), &parent, name.as_path())?;
    Ok(())
}

/// Makes `path` a link to `target` again.
pub(super) fn link(path: &Path, target: &Path, aside: &Quarantine) -> io::Result<()> {
    aside.clear(path, |_| false)?;
    let (parent, name) = parent(path)?;
    Ok(symlinkat(target, &parent, name.as_path())?)
}

fn own(parent: &OwnedFd, name: &Path, owner: (u32, u32)) {
    let (user, group) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
    // Only root may change the owner; otherwise the owner is already right.
    let _ = fchownat(
        parent,
        name,
        Some(user),
        Some(group),
        AtFlags::AT_SYMLINK_NOFOLLOW,
    );
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn a_file_is_put_back_below_directories_that_were_removed() -> io::Result<()> {
        let room = tempfile::tempdir()?;
        let root = room.path().canonicalize()?;
        let about = root.metadata()?;
        let owner = (about.uid(), about.gid());
        let path = root.join("removed/too/file");
        file(
            &path,
            b"as before",
            0o640,
            owner,
            &Quarantine::new(None, &root),
        )?;
        assert_eq!(std::fs::read(&path)?, b"as before");
        assert_eq!(path.metadata()?.permissions().mode() & 0o777, 0o640);
        Ok(())
    }
}
