//! A temporary directory of one command's own, removed after it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use nix::unistd::Pid;

/// A directory that nothing else uses; removed when dropped.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    path: PathBuf,
    /// Tells a later run that this one still uses it; ends with the process.
    _held: Option<Flock<File>>,
}

impl OwnDirectory {
    /// Makes one, and removes those that killed runs have left.
    pub(crate) fn make() -> io::Result<Self> {
        let parent = parent()?;
        sweep(&parent);
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = parent.join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        let held = File::open(&path)
            .ok()
            .and_then(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).ok());
        Ok(Self { path, _held: held })
    }

    /// Where it is, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The directory of this user that holds all of them.
fn parent() -> io::Result<PathBuf> {
    let user = nix::unistd::geteuid();
    let temporary = fs::canonicalize(std::env::temp_dir()).or_else(|_| fs::canonicalize("/tmp"))?;
    let path = temporary.join(format!("interlock-{user}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(&path)?;
    let ours = about.is_dir() && about.uid() == user.as_raw() && about.mode() & 0o077 == 0;
    if ours {
        return Ok(path);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "`{}` is not a directory of your own: remove it",
            path.display()
        ),
    ))
}

/// Removes directories that no running process holds.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let Ok(file) = File::open(entry.path()) else {
            continue;
        };
        if Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok() {
            end_users(&entry.path());
            remove(&entry.path());
        }
    }
}

/// Ends what a killed run has left running: programs to which the directory was given.
fn end_users(path: &Path) {
    let mark = path.as_os_str().as_bytes();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|number| *number > 1) else {
            continue;
        };
        let given = fs::read(process.path().join("environ")).unwrap_or_default();
        if given
            .split(|byte| *byte == 0)
            .any(|one| one.ends_with(mark))
        {
            let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
        }
    }
}

fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_err() {
        open_up(path, 0);
        // What still cannot be removed waits for the next run.
        let _ = fs::remove_dir_all(path);
    }
}

/// Gives directories that were made without rights their rights again.
fn open_up(path: &Path, depth: usize) {
    if depth > 200 || !path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        return;
    }
    let (all, how) = (Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink);
    // A link that was laid meanwhile is not followed.
    let _ = fchmodat(AT_FDCWD, path, all, how);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path(), depth + 1);
    }
}
