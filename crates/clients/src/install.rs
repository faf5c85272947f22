//! What `init` writes into a client's settings, and takes out again.
//!
//! Planned from the text of the files, shown as a diff, then written. What
//! others wrote there stays, with its order, blanks and comments.

mod json;
mod settings;
mod words;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use json::Fault;
pub use settings::{EVENTS, HookState};

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those of the project.
    Project,
    /// The person's own, for every project.
    User,
}

/// Where the files lie, and what they should start.
#[derive(Debug, Clone)]
pub struct Site {
    /// The project's root.
    pub project_root: PathBuf,
    /// The person's home directory.
    pub home: PathBuf,
    /// This program, absolute.
    pub program: PathBuf,
}

/// One file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Its text; `None`: there is none.
    pub before: Option<String>,
    /// What it becomes; `None`: it goes.
    pub after: Option<String>,
}

/// Why nothing was planned or written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The file cannot be read or written.
    #[error("`{path}` cannot be {what}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Read or written.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The file is not what the client would accept either, or cannot be added to.
    #[error("`{}:{line}:{column}`: {reason}; mend it first, nothing was changed", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// Why.
        reason: String,
    },
    /// The file is a link to where nothing should be written.
    #[error("`{path}` is a link that leads {where_to}; replace it by a file, nothing was changed")]
    Link {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        where_to: &'static str,
    },
    /// Somebody else wrote the file meanwhile.
    #[error("`{path}` was changed meanwhile; nothing was written, try again")]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl Site {
    /// Returns the settings file that holds the hooks.
    #[must_use]
    pub fn settings(&self, scope: Scope) -> PathBuf {
        let base = match scope {
            Scope::Project => &self.project_root,
            Scope::User => &self.home,
        };
        base.join(".claude").join("settings.json")
    }

    /// Returns the file that names the MCP servers.
    #[must_use]
    pub fn servers(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::Project => self.project_root.join(".mcp.json"),
            Scope::User => self.home.join(".claude.json"),
        }
    }

    /// Returns the command line of the hook, as a shell reads it.
    #[must_use]
    pub fn hook_command(&self) -> String {
        words::joined(&self.hook_words())
    }

    fn hook_words(&self) -> [String; 3] {
        let program = self.program.display().to_string();
        [program, "hook".to_owned(), "claude-code".to_owned()]
    }
}

/// Plans what `init` changes, or what `init --remove` takes out; no change: nothing is planned.
///
/// # Errors
/// A file is there and cannot be read, or is malformed.
pub fn plan(site: &Site, scope: Scope, remove: bool) -> Result<Vec<FileChange>, InstallError> {
    let hooks: Edit<'_> = if remove {
        &settings::without_hooks
    } else {
        &settings::with_hooks
    };
    let server: Edit<'_> = if remove {
        &settings::without_server
    } else {
        &settings::with_server
    };
    let mut changes = Vec::new();
    for (path, edit) in [(site.settings(scope), hooks), (site.servers(scope), server)] {
        let linked = leads(&path, site, scope)?;
        let before = read(&path)?;
        let after = edit(before.as_deref(), site).map_err(|fault| InstallError::Malformed {
            path: path.clone(),
            line: fault.line,
            column: fault.column,
            reason: fault.reason,
        })?;
        // A link stays; what it leads to is emptied.
        let after = match after {
            None if before.is_some() && linked => Some("{}\n".to_owned()),
            after => after,
        };
        if before != after {
            changes.push(FileChange {
                path,
                before,
                after,
            });
        }
    }
    Ok(changes)
}

/// Changes the text of one file; `None`: no file.
type Edit<'a> = &'a dyn Fn(Option<&str>, &Site) -> Result<Option<String>, Fault>;

/// Tells whether `path` is a link, and refuses one that leads to nothing or out of the project.
///
/// A project that was checked out must not make `init` write elsewhere.
fn leads(path: &Path, site: &Site, scope: Scope) -> Result<bool, InstallError> {
    let link = |where_to| InstallError::Link {
        path: path.to_owned(),
        where_to,
    };
    let is_link = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|known| known.is_symlink())
    };
    let parent = path.parent().unwrap_or(Path::new("/"));
    if (is_link(path) && !path.exists()) || (is_link(parent) && !parent.exists()) {
        return Err(link("nowhere"));
    }
    if scope == Scope::Project {
        let place = path.canonicalize().or_else(|_| parent.canonicalize());
        let root = site.project_root.canonicalize();
        if let (Ok(place), Ok(root)) = (place, root)
            && !place.starts_with(&root)
        {
            return Err(link("out of the project"));
        }
    }
    Ok(is_link(path))
}

/// Writes planned changes, each file as a whole.
///
/// # Errors
/// A file was changed meanwhile: nothing is written. One cannot be written: those before it are.
pub fn apply(changes: &[FileChange]) -> Result<(), InstallError> {
    for change in changes {
        if read(&change.path)? != change.before {
            return Err(InstallError::Changed {
                path: change.path.clone(),
            });
        }
    }
    for change in changes {
        let failed = |source| InstallError::Io {
            path: change.path.clone(),
            what: "written",
            source,
        };
        match &change.after {
            Some(text) => write(&change.path, text).map_err(failed)?,
            None => fs::remove_file(&change.path).map_err(failed)?,
        }
    }
    Ok(())
}

/// Writes a planned change as a person reads it.
#[must_use]
pub fn diff(change: &FileChange) -> String {
    let path = change.path.display().to_string();
    let name = |text: &Option<String>| {
        text.as_ref()
            .map_or_else(|| "/dev/null".to_owned(), |_| path.clone())
    };
    let (before, after) = (
        change.before.as_deref().unwrap_or_default(),
        change.after.as_deref().unwrap_or_default(),
    );
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .header(&name(&change.before), &name(&change.after))
        .to_string()
}

pub(crate) fn read(path: &Path) -> Result<Option<String>, InstallError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(InstallError::Io {
            path: path.to_owned(),
            what: "read",
            source,
        }),
    }
}

/// Writes a file beside its place and renames it; permissions stay, and so does a link that leads somewhere.
fn write(path: &Path, text: &str) -> io::Result<()> {
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
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
