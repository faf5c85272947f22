//! Packs the files of a project.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::FileTypeExt as _, fs::PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{
    archive::{Entry, TooLarge, Writer},
    name::{self, BadName, GIT},
    repository,
};

/// Why the files of a project cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPacked {
    #[error("they are larger than {limit} bytes (`--workspace-limit`)")]
    TooLarge { limit: u64 },
    #[error("`{}` {why}", path.display())]
    Name { path: PathBuf, why: BadName },
    #[error("`{}` is a symbolic link that {why}", path.display())]
    Link { path: PathBuf, why: BadName },
    #[error("`{}` is no file, folder or symbolic link", .0.display())]
    Kind(PathBuf),
    #[error("`{}` is not a folder: a submodule or a second working tree does not move without its repository", .0.display())]
    RepositoryElsewhere(PathBuf),
    #[error("`{}` cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Returns a tar of what is in the project `root` and not ignored by git, with its repositories; the same files give the same bytes.
pub(super) fn pack(root: &Path, limit: u64) -> Result<Vec<u8>, NotPacked> {
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut packing = Packing {
        root,
        // Anything that is reached through another link is not part of the project.
        top: open(CWD, root.as_os_str(), OFlags::DIRECTORY).map_err(|source| NotPacked::Io {
            path: root.to_owned(),
            source,
        })?,
        writer: Writer::new(size),
        limit,
    };
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .git_ignore(true)
        .git_exclude(true)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name().as_bytes() != GIT)
        .build();
    for entry in walk {
        match entry {
            Ok(entry) => packing.add(entry.path())?,
            // It was removed meanwhile.
            Err(error) if error.io_error().is_some_and(is_gone) => {}
            Err(error) => {
                let source = io::Error::other(error);
                let path = PathBuf::new();
                return Err(NotPacked::Io { path, source });
            }
        }
    }
    Ok(packing.writer.finish())
}

struct Packing<'a> {
    root: &'a Path,
    top: OwnedFd,
    writer: Writer,
    limit: u64,
}

impl Packing<'_> {
    /// Adds what is at a path; with a folder, also the repository in it.
    fn add(&mut self, path: &Path) -> Result<(), NotPacked> {
        let relative = path.strip_prefix(self.root).unwrap_or(path).to_owned();
        let failed = |source| NotPacked::Io {
            path: relative.clone(),
            source,
        };
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found.file_type(),
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let bytes = relative.as_os_str().as_bytes();
        if !bytes.is_empty() {
            name::check(bytes).map_err(|why| NotPacked::Name {
                path: relative.clone(),
                why,
            })?;
        }
        if found.is_dir() {
            if !bytes.is_empty() {
                self.push(bytes, &Entry::Directory)?;
            }
            return self.add_repository(path, &relative);
        }
        if found.is_symlink() {
            let target = fs::read_link(path).map_err(failed)?;
            let target = target.as_os_str().as_bytes();
            name::check_target(bytes, target).map_err(|why| NotPacked::Link {
                path: relative.clone(),
                why,
            })?;
            return self.push(bytes, &Entry::Link { target });
        }
        if found.is_socket() || found.is_fifo() || !found.is_file() {
            return Err(NotPacked::Kind(relative));
        }
        self.add_file(&relative, |content| content)
    }

    /// Adds a file, as `kept` changes its content.
    fn add_file(
        &mut self,
        relative: &Path,
        kept: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> Result<(), NotPacked> {
        let left = self.writer.left();
        let (content, is_program) = match read(&self.top, relative, left) {
            Ok(read) => read,
            Err(error) if is_gone(&error) => return Ok(()),
            Err(source) => {
                let path = relative.to_owned();
                return Err(NotPacked::Io { path, source });
            }
        };
        let content = kept(content);
        let entry = Entry::File {
            is_program,
            bytes: &content,
        };
        self.push(relative.as_os_str().as_bytes(), &entry)
    }

    /// Adds the repository of a folder, if it has one.
    fn add_repository(&mut self, folder: &Path, relative: &Path) -> Result<(), NotPacked> {
        let git = relative.join(OsStr::from_bytes(GIT));
        match fs::symlink_metadata(folder.join(OsStr::from_bytes(GIT))) {
            Ok(found) if found.is_dir() => self.add_git(&git, Path::new("")),
            Ok(_) => Err(NotPacked::RepositoryElsewhere(git)),
            Err(error) if is_gone(&error) => Ok(()),
            Err(source) => Err(NotPacked::Io { path: git, source }),
        }
    }

    /// Adds a folder of a repository and what is in it; `below` is its path in `git`.
    fn add_git(&mut self, git: &Path, below: &Path) -> Result<(), NotPacked> {
        let relative = git.join(below);
        // Of the repository itself, `join` leaves a slash at the end.
        let relative: PathBuf = relative.components().collect();
        self.push(relative.as_os_str().as_bytes(), &Entry::Directory)?;
        let failed = |source| NotPacked::Io {
            path: relative.clone(),
            source,
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(&relative)).map_err(failed)? {
            names.push(entry.map_err(failed)?);
        }
        names.sort_by_key(fs::DirEntry::file_name);
        for entry in names {
            let below = below.join(entry.file_name());
            let bytes = below.as_os_str().as_bytes();
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() && repository::has_folder(bytes) {
                self.add_git(git, &below)?;
            } else if kind.is_file() && bytes == repository::CONFIG {
                self.add_file(&git.join(&below), |content| {
                    repository::plain_config(&content)
                })?;
            } else if kind.is_file() && repository::has_file(bytes) {
                self.add_file(&git.join(&below), |content| content)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, path: &[u8], entry: &Entry<'_>) -> Result<(), NotPacked> {
        let limit = self.limit;
        let pushed = self.writer.push(path, entry);
        pushed.map_err(|TooLarge| NotPacked::TooLarge { limit })
    }
}

/// Reads a file without following a link in any part of its path; returns its content and whether it may be executed.
///
/// If it is larger than `left`, more than that is returned.
fn read(top: &OwnedFd, relative: &Path, left: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut folder = None;
    let mut parts = relative.iter().peekable();
    while let Some(part) = parts.next() {
        let at = folder.as_ref().unwrap_or(top);
        if parts.peek().is_some() {
            folder = Some(open(at, part, OFlags::DIRECTORY)?);
            continue;
        }
        let file = File::from(open(at, part, OFlags::NONBLOCK)?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let limit = u64::try_from(left).unwrap_or(u64::MAX).saturating_add(1);
        let mut content = Vec::new();
        file.take(limit).read_to_end(&mut content)?;
        return Ok((content, found.permissions().mode() & 0o100 != 0));
    }
    Err(io::ErrorKind::InvalidInput.into())
}

fn open(at: impl std::os::fd::AsFd, name: &OsStr, more: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
    Ok(openat(at, name, flags, Mode::empty())?)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}
