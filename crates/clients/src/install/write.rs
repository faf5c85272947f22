//! Reads and writes the planned files, all or none.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{FileChange, Plan};
use crate::settings::{InstallError, Scope, Site, is_special, read};

/// Returns whether `path` is a link; refuses a link that leads nowhere or out of the project.
///
/// A project that was checked out must not make `init` write elsewhere. A device is refused, too: if root runs `init`, a file
/// would replace `/dev/null`.
pub(super) fn leads(path: &Path, site: &Site, scope: Scope) -> Result<bool, InstallError> {
    let link = |where_to| InstallError::Link {
        path: path.to_owned(),
        where_to,
    };
    let is_link = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|known| known.is_symlink())
    };
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    if is_link(path) && !path.exists() {
        return Err(link("nowhere"));
    }
    if is_special(path) {
        return Err(failed(path)(io::Error::other(
            "it is a device or a pipe, or leads to one",
        )));
    }
    // The nearest existing directory.
    let mut above = path.ancestors().skip(1);
    let place = above
        .find(|place| is_there(place))
        .unwrap_or(Path::new("/"));
    if is_link(place) && !place.exists() {
        return Err(link("nowhere"));
    }
    if scope != Scope::User {
        let real = path.canonicalize().or_else(|_| place.canonicalize());
        let root = site.project_root.canonicalize();
        if let (Ok(real), Ok(root)) = (real, root)
            && !real.starts_with(&root)
        {
            return Err(link("out of the project"));
        }
    }
    Ok(is_link(path))
}

/// Writes the planned changes; if a file cannot be written, those before it are restored.
///
/// # Errors
/// A file was changed meanwhile or cannot be written; everything is as before.
pub fn apply(plan: &Plan) -> Result<(), InstallError> {
    for change in &plan.changes {
        if read(&change.path)? != change.before {
            return Err(InstallError::Changed {
                path: change.path.clone(),
            });
        }
    }
    let changes = plan.changes.iter().chain(&plan.record);
    // Everything that can fail for lack of space or permissions comes first.
    let staged: Vec<Staged<'_>> = changes.map(Staged::new).collect::<Result<_, _>>()?;
    let mut done: Vec<&FileChange> = Vec::new();
    for staged in staged {
        let change = staged.change;
        if let Err(error) = staged.commit() {
            for change in done.into_iter().rev() {
                put_back(change);
            }
            return Err(error);
        }
        done.push(change);
    }
    for change in done.iter().filter(|change| change.after.is_none()) {
        remove_empty(&change.path, &plan.roots);
    }
    Ok(())
}

/// Removes the directories in which a removed file was the last.
fn remove_empty(path: &Path, roots: &[PathBuf]) {
    for directory in path.ancestors().skip(1) {
        let below = |root: &PathBuf| directory.starts_with(root) && directory != root;
        // The system itself refuses to remove a directory that is not empty.
        if !roots.iter().any(below) || fs::remove_dir(directory).is_err() {
            return;
        }
    }
}

/// A file that is ready to be renamed into place.
struct Staged<'a> {
    change: &'a FileChange,
    ready: Option<(tempfile::NamedTempFile, PathBuf)>,
}

impl<'a> Staged<'a> {
    fn new(change: &'a FileChange) -> Result<Self, InstallError> {
        let ready = match &change.after {
            Some(text) => Some(stage(&change.path, text).map_err(failed(&change.path))?),
            None => None,
        };
        Ok(Self { change, ready })
    }

    fn commit(self) -> Result<(), InstallError> {
        let written = match self.ready {
            Some((file, place)) => file.persist(place).map(drop).map_err(|error| error.error),
            None => fs::remove_file(&self.change.path),
        };
        written.map_err(failed(&self.change.path))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Io {
        path,
        what: "written",
        source,
    }
}

/// Restores the contents of a file.
fn put_back(change: &FileChange) {
    // The file was written a moment ago: a failure here cannot be handled.
    let _ = match &change.before {
        Some(text) => stage(&change.path, text)
            .and_then(|(file, place)| file.persist(place).map(drop).map_err(|error| error.error)),
        None => fs::remove_file(&change.path),
    };
}

/// Writes a file next to its target; permissions stay, and so does a link that leads somewhere.
fn stage(path: &Path, text: &str) -> io::Result<(tempfile::NamedTempFile, PathBuf)> {
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(error) if path.symlink_metadata().is_ok() => return Err(error),
        Err(_) => path.to_owned(),
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    let permissions = match fs::metadata(&path) {
        Ok(known) => known.permissions(),
        Err(_) => fs::Permissions::from_mode(0o644),
    };
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    Ok((file, path))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_before_a_file_that_cannot_be_is_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let change = |name: &str, before: Option<&str>, after: Option<&str>| FileChange {
            path: path(name),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        fs::write(path("kept"), "before").unwrap();
        fs::write(path("gone"), "before").unwrap();
        let plan = Plan {
            changes: vec![
                change("kept", Some("before"), Some("after")),
                change("gone", Some("before"), None),
                change("new", None, Some("after")),
                // The file below it makes this a directory, which no file can replace.
                change("place", None, Some("after")),
                change("place/below", None, Some("after")),
            ],
            ..Plan::default()
        };
        let refused = apply(&plan);
        assert!(
            matches!(&refused, Err(InstallError::Io { path: at, .. }) if *at == path("place")),
            "{refused:?}"
        );
        assert_eq!(read(&path("kept")).unwrap().as_deref(), Some("before"));
        assert_eq!(read(&path("gone")).unwrap().as_deref(), Some("before"));
        assert_eq!(read(&path("new")).unwrap(), None);
    }
}
