//! A temporary directory for one command, removed after it.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use interlock_process::table;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use nix::unistd::Pid;

/// A directory that nothing else uses, removed when dropped.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    path: PathBuf,
    /// Lock that shows that this run still uses it; released with the process.
    _held: Flock<File>,
}

/// Prefix of a directory that is not locked yet, before the creator's process id.
const UNHELD: &str = "new-";

impl OwnDirectory {
    /// Creates one, and removes those of killed runs.
    pub(crate) fn make() -> io::Result<Self> {
        let parent = parent()?;
        sweep(&parent);
        Self::make_in(&parent)
    }

    fn make_in(parent: &Path) -> io::Result<Self> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        // It gets its final name only once it is locked.
        let unheld = parent.join(format!("{UNHELD}{}-{name}", std::process::id()));
        let path = parent.join(name);
        DirBuilder::new().mode(0o700).create(&unheld)?;
        let made = hold(&unheld).and_then(|held| fs::rename(&unheld, &path).map(|()| held));
        match made {
            Ok(held) => Ok(Self { path, _held: held }),
            Err(error) => {
                remove(&unheld);
                Err(error)
            }
        }
    }

    /// Returns the path, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Returns the directory of this user that contains all of them.
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

/// Locks a directory for the lifetime of the result.
fn hold(path: &Path) -> io::Result<Flock<File>> {
    let file = File::open(path)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error.into())
}

/// Removes directories that no running process has locked.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if is_being_made(&entry.file_name()) {
            continue;
        }
        // Locked until it is removed, so that no other run takes its remains.
        if let Ok(_held) = hold(&entry.path()) {
            end_users(&entry.path());
            remove(&entry.path());
        }
    }
}

/// Returns whether a directory is being created by a living process.
fn is_being_made(name: &OsStr) -> bool {
    let maker = name.to_str().and_then(|name| name.strip_prefix(UNHELD));
    let maker = maker.and_then(|rest| rest.split('-').next()?.parse().ok());
    maker.is_some_and(|maker| kill(Pid::from_raw(maker), None) != Err(Errno::ESRCH))
}

/// Ends the programs of a killed run that still use the directory.
fn end_users(path: &Path) {
    let mark = path.as_os_str().as_bytes();
    for id in table::ids().into_iter().flatten().filter(|id| *id > 1) {
        let given = table::environment(id);
        if let Ok(id) = i32::try_from(id)
            && given.iter().any(|pair| pair.ends_with(mark))
        {
            let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
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

/// Restores the permissions of directories that were created without any.
fn open_up(path: &Path, depth: usize) {
    if depth > 200 || !path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        return;
    }
    let (all, how) = (Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink);
    // A link created meanwhile is not followed.
    let _ = fchmodat(AT_FDCWD, path, all, how);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path(), depth + 1);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::{fs, thread};

    use super::{OwnDirectory, UNHELD, sweep};

    #[test]
    fn what_a_killed_run_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let own = OwnDirectory::make_in(parent.path()).unwrap();
        fs::create_dir_all(at("left/over")).unwrap();
        let making = at(&format!("{UNHELD}{}-a", std::process::id()));
        // No process has this number: it is above the limit of every system.
        let abandoned = at(&format!("{UNHELD}{}-a", i32::MAX));
        fs::create_dir(&making).unwrap();
        fs::create_dir(&abandoned).unwrap();
        sweep(parent.path());
        assert!(own.path().exists() && making.exists());
        assert!(!at("left").exists() && !abandoned.exists());
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
    }

    #[test]
    fn commands_at_once_leave_each_other_alone() {
        let parent = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        sweep(parent.path());
                        let own = OwnDirectory::make_in(parent.path()).unwrap();
                        sweep(parent.path());
                        fs::write(own.path().join("file"), "x").unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
