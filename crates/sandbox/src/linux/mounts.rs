//! Mounts of one command: protected files read-only, hidden directories empty.
//!
//! A directory that contains a mount can still be renamed, together with the mount; one that *is* a mount cannot. So every
//! directory between a writable place and a protected file is mounted on itself, too.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;

use super::raw;
use crate::plan::{Free, Protected};

/// The mounts in order, prepared before the fork, since nothing may be allocated after it.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    steps: Vec<Step>,
    /// User id mappings for an ordinary user; `None` if the system lets this one mount.
    mapped: Option<Mapped>,
}

#[derive(Debug)]
enum Step {
    /// Mounts a directory or file on itself.
    OnItself(CString),
    /// Mounts a directory or file on itself, read-only.
    ReadOnly(CString),
    /// Makes something writable inside a read-only mount.
    Writable(CString),
    /// Covers a directory with an empty one.
    Empty(CString),
    /// Covers a file or socket with the null device.
    Null(CString),
}

#[derive(Debug)]
struct Mapped {
    users: String,
    groups: String,
}

impl Mounts {
    /// Lists the mounts that protect `protected` and `masked` inside `writable`.
    pub(super) fn of(
        protected: &[&Protected],
        masked: &[PathBuf],
        writable: &[PathBuf],
        may_mount: bool,
    ) -> Self {
        let mut on_itself = BTreeSet::new();
        for path in protected.iter().map(|one| &one.path).chain(masked) {
            on_itself.extend(between(path, writable));
        }
        let mut steps: Vec<_> = on_itself
            .iter()
            .filter_map(|path| text(path))
            .map(Step::OnItself)
            .collect();
        for one in protected {
            steps.extend(text(&one.path).map(Step::ReadOnly));
            if let Free::Below(names) = &one.free {
                let open = names.iter().map(|name| one.path.join(name));
                let there = open.filter(|path| path.symlink_metadata().is_ok_and(|m| m.is_dir()));
                steps.extend(there.filter_map(|path| text(&path)).map(Step::Writable));
            }
        }
        let cover = |path: &PathBuf| {
            let is_directory = path.symlink_metadata().is_ok_and(|about| about.is_dir());
            let step = if is_directory {
                Step::Empty
            } else {
                Step::Null
            };
            text(path).map(step)
        };
        steps.extend(masked.iter().filter_map(cover));
        let mapped = (!may_mount).then(|| {
            let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
            Mapped {
                users: format!("{user} {user} 1\n"),
                groups: format!("{group} {group} 1\n"),
            }
        });
        Self { steps, mapped }
    }

    /// Returns whether there is nothing to mount.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Creates a mount namespace and the mounts; called in the new process.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        match &self.mapped {
            None => unshare(CloneFlags::CLONE_NEWNS)?,
            Some(mapped) => {
                unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
                write(c"/proc/self/setgroups", "deny")?;
                write(c"/proc/self/uid_map", &mapped.users)?;
                write(c"/proc/self/gid_map", &mapped.groups)?;
            }
        }
        const NONE: Option<&CStr> = None;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(NONE, c"/", NONE, private, NONE)?;
        self.steps.iter().try_for_each(Step::make)
    }
}

impl Step {
    fn make(&self) -> Result<(), Errno> {
        const NONE: Option<&CStr> = None;
        let bind = |path: &CString| {
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            mount(Some(path.as_c_str()), path.as_c_str(), NONE, flags, NONE)
        };
        match self {
            Self::OnItself(path) => bind(path),
            Self::ReadOnly(path) => {
                bind(path)?;
                raw::set_read_only(path, true)
            }
            Self::Writable(path) => {
                bind(path)?;
                raw::set_read_only(path, false)
            }
            Self::Null(path) => {
                let null = Some(c"/dev/null");
                match mount(null, path.as_c_str(), NONE, MsFlags::MS_BIND, NONE) {
                    // It has disappeared since it was listed: nobody listens there any more.
                    Err(Errno::ENOENT) => Ok(()),
                    mounted => mounted,
                }
            }
            Self::Empty(path) => {
                let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
                let options = Some(c"size=4k,nr_inodes=2,mode=0555");
                mount(
                    Some(c"none"),
                    path.as_c_str(),
                    Some(c"tmpfs"),
                    flags,
                    options,
                )
            }
        }
    }
}

/// Returns the ancestors of `path` inside one of `writable`, outermost first.
fn between(path: &Path, writable: &[PathBuf]) -> Vec<PathBuf> {
    let mut above: Vec<_> = path
        .ancestors()
        .skip(1)
        .filter(|one| {
            let inside = |place: &PathBuf| one.starts_with(place) && *one != place.as_path();
            writable.iter().any(inside)
        })
        .map(Path::to_path_buf)
        .collect();
    above.reverse();
    above
}

fn text(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

fn write(path: &CStr, text: &str) -> Result<(), Errno> {
    let file = open(path, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    nix::unistd::write(&file, text.as_bytes()).map(drop)
}
