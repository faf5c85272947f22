//! What `init` writes into a client's settings, and takes out again.
//!
//! Planned from the text of the files, shown as a diff, then written. What
//! others wrote there stays, with its order, blanks and comments.

mod settings;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

pub use settings::{EVENTS, HookState, is_ours};

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
    /// The file is not what the client would accept either.
    #[error("`{path}`: {reason}; mend it first, nothing was changed")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why, with line and column.
        reason: String,
    },
    /// Somebody else wrote the file meanwhile.
    #[error("`{path}` was changed meanwhile; nothing more was written, try again")]
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
        format!(
            "{} hook claude-code",
            quoted(&self.program.display().to_string())
        )
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
        let before = read(&path)?;
        let after = edit(before.as_deref(), site).map_err(|reason| InstallError::Malformed {
            path: path.clone(),
            reason,
        })?;
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
type Edit<'a> = &'a dyn Fn(Option<&str>, &Site) -> Result<Option<String>, String>;

/// Writes planned changes, each file as a whole.
///
/// # Errors
/// A file was changed meanwhile or cannot be written; those before it are written.
pub fn apply(changes: &[FileChange]) -> Result<(), InstallError> {
    for change in changes {
        if read(&change.path)? != change.before {
            return Err(InstallError::Changed {
                path: change.path.clone(),
            });
        }
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

/// Writes a file beside its place and renames it; a link is followed, permissions stay.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
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

/// Quotes a word for a shell, where it needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
