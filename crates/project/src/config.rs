//! `config.toml`, of a project and of a person.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

/// The largest configuration file read, in bytes.
const BYTES_MAX: u64 = 1_048_576;

/// A configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The workflow that guards every session in the project.
    pub workflow: Option<String>,
    /// How the log of a run is kept.
    pub store: StoreConfig,
}

/// How the log of a run is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// `process` (default): survives a killed process; `power`: survives power loss too.
    pub durability: Durability,
}

/// What an acknowledged event survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A killed process.
    #[default]
    Process,
    /// The loss of power, too.
    Power,
}

/// A configuration file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not parse.
    #[error("`{path}` is not a configuration: {reason}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why, with line and column.
        reason: String,
    },
}

impl Config {
    /// Reads the configuration of the project at `root`; none: the defaults.
    ///
    /// # Errors
    /// The file is there and cannot be read or does not parse.
    pub fn of_project(root: &Path) -> Result<Self, ConfigError> {
        Self::read(&root.join(".interlock").join("config.toml"))
    }

    /// Reads the file at `path`; none: the defaults.
    ///
    /// # Errors
    /// The file is there and cannot be read or does not parse.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        };
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error)),
            Ok(data) if data.len() > BYTES_MAX => {
                let reason = format!("it is larger than {BYTES_MAX} bytes");
                return Err(ConfigError::Invalid {
                    path: path.to_owned(),
                    reason,
                });
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        toml::from_str(&text).map_err(|error| ConfigError::Invalid {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })
    }
}
