//! A marker outside the state directory that an open run guards a session.
//!
//! It is stored next to the person's configuration, so that a session whose run, binding or baseline was deleted from the state
//! directory is refused instead of being unguarded. A session that no run has ever guarded has no marker: the check costs one
//! look at a directory, and a clone or another machine has no markers either.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use interlock_core::names::RunId;
use interlock_project::Environment;
use interlock_store::{BASELINE, EventLog as _, Home, SessionKey};
use serde::{Deserialize, Serialize};

use crate::{process, session::Guarded};

/// Directory of markers, next to the person's configuration directory.
const DIRECTORY: &str = "interlock-held";

/// Maximum size of a marker that is read, in bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// Contents of a marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// Run that guards the session.
    run: RunId,
    /// Interlock's state directory.
    state: PathBuf,
}

/// Refuses a session without a binding if a run guarded it and that run is not known to be over.
///
/// # Errors
/// Returns an error if the session was guarded, or if this cannot be determined.
pub(crate) fn refuse_if_gone(environment: &Environment, key: &SessionKey) -> Result<(), String> {
    let Some(directory) = directory(environment.configuration.as_deref()) else {
        return Ok(());
    };
    if matches!(fs::symlink_metadata(&directory), Err(error) if error.kind() == ErrorKind::NotFound)
    {
        return Ok(());
    }
    let of_session = directory.join(session_name(key));
    if let Some(mark) = read(&of_session)? {
        if !is_over(environment, &mark) {
            return Err(gone(&mark, "what Interlock kept of this session"));
        }
        forget(&of_session)?;
    }
    // Another conversation of the same client is unguarded as long as the state exists.
    let Some(of_process) = process_name(environment).map(|name| directory.join(name)) else {
        return Ok(());
    };
    let Some(mark) = read(&of_process)? else {
        return Ok(());
    };
    let run = home_of(environment, &mark).open_run(&mark.run);
    match run.and_then(|log| log.load()) {
        Ok(run) if run.is_over() => forget(&of_process).map(drop),
        Ok(_) => Ok(()),
        Err(_) => Err(gone(&mark, "that run")),
    }
}

/// Marks a session as guarded, or removes its marker when its run ends.
///
/// If the marker cannot be written, the session is guarded without one.
///
/// # Errors
/// Returns an error if the marker cannot be removed.
pub(crate) fn keep(environment: &Environment, guarded: &Guarded) -> Result<(), String> {
    let Some(directory) = directory(environment.configuration.as_deref()) else {
        return Ok(());
    };
    let names = [
        Some(session_name(&guarded.binding.session)),
        process_name(environment),
    ];
    for path in names.into_iter().flatten().map(|name| directory.join(name)) {
        // Its contents are known here, so a damaged marker counts as one of this run.
        let known = read(&path);
        if guarded.run.is_over() {
            if known.map_or(true, |known| {
                known.is_some_and(|known| known.run == *guarded.id())
            }) {
                forget(&path)?;
            }
            continue;
        }
        let mark = Mark {
            run: guarded.id().clone(),
            state: environment.home.path().to_owned(),
        };
        if known.ok().flatten().as_ref() != Some(&mark) {
            let _ = write(&directory, &path, &mark);
        }
    }
    Ok(())
}

/// Refuses a guarded session whose baseline is gone: the marker is written only after the baseline.
///
/// # Errors
/// Returns an error if the baseline is gone.
pub(crate) fn check_baseline(environment: &Environment, guarded: &Guarded) -> Result<(), String> {
    let Some(directory) = directory(environment.configuration.as_deref()) else {
        return Ok(());
    };
    let path = directory.join(session_name(&guarded.binding.session));
    let is_marked = read(&path).map_or(true, |mark| {
        mark.is_some_and(|mark| mark.run == *guarded.id())
    });
    if !is_marked || guarded.log.folder().has_baseline(BASELINE) {
        return Ok(());
    }
    let mark = Mark {
        run: guarded.id().clone(),
        state: environment.home.path().to_owned(),
    };
    Err(gone(&mark, "what protected files are compared with"))
}

/// Removes the markers of a run, or the marker at a path; returns how many there were.
///
/// A marker that cannot be read names no run: it is removed only by its path.
///
/// # Errors
/// Returns an error if the markers cannot be listed or removed.
pub fn forget_markers(configuration: Option<&Path>, named: &str) -> Result<usize, String> {
    let Some(directory) = directory(configuration) else {
        return Ok(0);
    };
    let path = Path::new(named);
    if path.is_absolute() {
        let is_mark = path.parent() == Some(&directory) && path.file_name().is_some();
        if !is_mark {
            return Err(format!(
                "`{named}` is not a mark below `{}`",
                directory.display()
            ));
        }
        return Ok(usize::from(forget(path)?));
    }
    let run = RunId::new(named);
    let failed = |error: io::Error| format!("`{}`: {error}", directory.display());
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(failed)?,
    };
    let mut count = 0;
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if read(&path).is_ok_and(|mark| mark.is_some_and(|mark| mark.run == run)) {
            count += usize::from(forget(&path)?);
        }
    }
    Ok(count)
}

fn directory(configuration: Option<&Path>) -> Option<PathBuf> {
    Some(configuration?.parent()?.join(DIRECTORY))
}

fn session_name(key: &SessionKey) -> String {
    // Also if the session was bound before its client was known.
    let key = SessionKey::of_any_client(key.session.as_str());
    format!("session-{}", key.file_name())
}

fn process_name(environment: &Environment) -> Option<String> {
    let process = process::client_of(environment)?;
    let started: String = process
        .started
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    Some(format!("process-{}-{started}", process.pid))
}

fn read(path: &Path) -> Result<Option<Mark>, String> {
    use std::io::Read as _;
    let failed = |why: String| {
        let path = path.display();
        format!(
            "a run guarded this session, but `{path}` no longer says which ({why}): every call is refused. A person can end this with `interlock doctor --forget {path}`"
        )
    };
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| failed(error.to_string()))?,
    };
    let mut text = String::new();
    let read = file.take(BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| failed(error.to_string()))
}

fn write(directory: &Path, path: &Path, mark: &Mark) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&beside, serde_json::to_vec(mark)?)?;
    fs::rename(&beside, path)
}

/// Removes a marker; returns whether it existed.
fn forget(path: &Path) -> Result<bool, String> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(format!("`{}` cannot be removed: {error}", path.display())),
    }
}

/// Returns whether the run of a marker is known to be over.
fn is_over(environment: &Environment, mark: &Mark) -> bool {
    let run = home_of(environment, mark).open_run(&mark.run);
    run.and_then(|log| log.load())
        .is_ok_and(|run| run.is_over())
}

/// Returns the state directory that a marker names, which may differ from the present one.
fn home_of(environment: &Environment, mark: &Mark) -> Home {
    if environment.home.path() == mark.state {
        environment.home.clone()
    } else {
        Home::at(&mark.state)
    }
}

fn gone(mark: &Mark, what: &str) -> String {
    let run = &mark.run;
    format!(
        "run {run} guards this session, and {what} is gone from `{}`: every call is refused. A person can restore it, or end this with `interlock doctor --forget {run}`",
        mark.state.display()
    )
}
