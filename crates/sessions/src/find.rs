//! Finds recordings.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Format, join::join, read::read, session::Session};

/// Maximum size of a file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Maximum depth of folders that are searched.
const DEPTH_MAX: usize = 12;

/// Why recordings cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A file or folder cannot be read.
    #[error("`{}` cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Reason of the failure.
        why: io::Error,
    },
    /// A named file contains no recording.
    #[error(
        "`{}` is not a recording of a session that is known: Claude Code, Codex, Gemini CLI, Copilot CLI, an export of opencode, ATIF, OTLP spans in JSON, or what `interlock log --json` prints",
        .0.display()
    )]
    Unknown(PathBuf),
}

/// Returns the folder below a home directory in which a client stores its sessions; `None` if it stores no files.
#[must_use]
pub fn client_folder(home: &Path, format: Format) -> Option<PathBuf> {
    let below = match format {
        Format::ClaudeCode => ".claude/projects",
        Format::Codex => ".codex/sessions",
        Format::Gemini => ".gemini/tmp",
        Format::Copilot => ".copilot/session-state",
        Format::Interlock | Format::Opencode | Format::Atif | Format::Otel => return None,
    };
    Some(home.join(below))
}

/// Lists the files at or below `place` that may be recordings, sorted by path.
///
/// # Errors
/// A folder cannot be read.
pub fn recordings(place: &Path) -> Result<Vec<PathBuf>, SessionError> {
    if !place.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut found = Vec::new();
    collect(place, DEPTH_MAX, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), SessionError> {
    let unreadable = |why| SessionError::Unreadable {
        path: folder.to_owned(),
        why,
    };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        // A link could lead in a circle.
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, found)?;
        } else if kind.is_file() && may_be_recording(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn may_be_recording(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("jsonl") => true,
        // A client stores small files of its own next to its transcripts.
        Some("json") => !name.is_some_and(|name| name.ends_with(".meta.json")),
        _ => false,
    }
}

/// Reads recordings into sessions; `named` must be recordings, and `seen` is called for each file read.
///
/// Other files in a folder that are not recordings are skipped.
///
/// # Errors
/// A file cannot be read, or one of `named` is not a recording.
pub fn read_files(
    files: &[PathBuf],
    named: &[PathBuf],
    mut seen: impl FnMut(usize),
) -> Result<Vec<Session>, SessionError> {
    let mut all = Vec::new();
    for (count, path) in files.iter().enumerate() {
        seen(count);
        let must_be = named.contains(path);
        let unreadable = |why| SessionError::Unreadable {
            path: path.clone(),
            why,
        };
        let size = fs::metadata(path).map_err(unreadable)?.len();
        if size > FILE_BYTES_MAX {
            let why = io::Error::other("it is larger than 1 GiB");
            return Err(unreadable(why));
        }
        let bytes = fs::read(path).map_err(unreadable)?;
        let source = path.display().to_string();
        let Some(mut one) = read(&source, &bytes, None) else {
            if must_be {
                return Err(SessionError::Unknown(path.clone()));
            }
            continue;
        };
        if one.session.is_empty() {
            let stem = path.file_stem().unwrap_or_default();
            one.session = stem.to_string_lossy().into_owned();
        }
        if one.format == Format::Gemini {
            beside_gemini(&mut one, path);
        }
        all.push(one);
    }
    Ok(join(all))
}

/// Determines what a chat of Gemini CLI does not contain: its folder, and the session of a sub-agent.
fn beside_gemini(one: &mut crate::Transcript, path: &Path) {
    let above = |name: &str| {
        let mut folders = path.ancestors().skip(1).take(4);
        folders.find_map(|folder| fs::read_to_string(folder.join(name)).ok())
    };
    if let Some(root) = above(".project_root").filter(|_| one.directory.is_none()) {
        let root = root.trim().to_owned();
        for call in &mut one.calls {
            call.directory.get_or_insert_with(|| root.clone());
        }
        one.directory = Some(root);
    }
    if one.agent.is_some() && one.parent.is_none() {
        // It is in a folder named after the id of that session.
        let folder = path.parent().and_then(Path::file_name);
        one.parent = folder.map(|name| name.to_string_lossy().into_owned());
    }
}
