//! The clients' settings files: where they are, how they are parsed, and how they are edited without touching the rest.

pub(crate) mod client_def;
pub(crate) mod code;
mod error;
pub(crate) mod hooks;
pub(crate) mod json;
pub(crate) mod servers;
mod site;
pub(crate) mod toml;
pub(crate) mod words;

use std::{fs, io, path::Path};

pub(crate) use error::EditError;
pub use error::InstallError;
pub use hooks::HookState;
pub(crate) use json::Syntax;
pub use site::Site;
pub(crate) use words::shown;

/// First comment in a file of Interlock.
pub(crate) const MARK: &str = " Written by interlock init; interlock init --remove takes it out.";

/// Scope of the settings that are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The project's settings, which others share.
    Project,
    /// The person's own settings for this project.
    Local,
    /// The person's own settings for every project.
    User,
}

/// Reads a file; returns `None` if there is none, or a device or a pipe, which contains nothing and may block the reader.
pub(crate) fn read(path: &Path) -> Result<Option<String>, InstallError> {
    if is_special(path) {
        return Ok(None);
    }
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

/// Returns whether `path` exists and is neither a file nor a directory.
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// Parses a JSON file as a client does; returns `None` if it does not exist.
pub(crate) fn parsed(path: &Path, syntax: Syntax) -> Result<Option<serde_json::Value>, String> {
    let Some(text) = read(path).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    match json::Text::of_file(Some(&text), syntax) {
        Ok((_, settings)) => Ok(Some(settings)),
        Err(fault) => Err(fault.said(path)),
    }
}

/// Parses a TOML file; returns `None` if it does not exist.
pub(crate) fn parsed_toml(path: &Path) -> Result<Option<serde_json::Value>, String> {
    let Some(text) = read(path).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    match toml::Text::parse(&text) {
        Ok(text) => Ok(Some(text.as_json())),
        Err(fault) => Err(fault.said(path)),
    }
}

/// Parses TOML text; returns `None` if it is malformed.
pub(crate) fn toml_of(text: &str) -> Option<serde_json::Value> {
    toml::Text::parse(text).ok().map(|text| text.as_json())
}
