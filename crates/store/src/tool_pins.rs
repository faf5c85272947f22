//! The server tools as a run first saw them, stored beside its log.

use std::collections::BTreeMap;

use interlock_core::names::Digest;
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    folder::RunFolder,
};

const FILE_NAME: &str = "tools.json";
const LOCK_NAME: &str = "tools.lock";
/// Maximum number of tools that one run pins.
const PINS_MAX: usize = 20_000;

/// A server tool as a run first saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolPin {
    /// Name of the server; empty: the wrapped one.
    pub server: String,
    /// Name of the tool at the server.
    pub tool: String,
    /// Digest of the whole definition.
    pub digest: Digest,
    /// Digest of each field of the definition.
    pub parts: BTreeMap<String, String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    pins: Vec<ToolPin>,
}

impl Versioned for Stored {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 32 * 1024 * 1024;
}

impl RunFolder {
    /// Reads the tools that the run has pinned, in the order in which they were seen.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn tool_pins(&self) -> Result<Vec<ToolPin>, StoreError> {
        let path = self.path().join(FILE_NAME);
        Ok(files::read::<Stored>(&path)?.unwrap_or_default().pins)
    }

    /// Pins the tools that are not pinned yet; returns all pinned tools.
    ///
    /// If two processes see a tool at the same time, the first one's definition counts.
    ///
    /// # Errors
    /// The file cannot be read or written, or too many tools are pinned.
    pub fn pin_tools(&self, seen: Vec<ToolPin>) -> Result<Vec<ToolPin>, StoreError> {
        let _lock = files::lock(&self.path().join(LOCK_NAME))?;
        let mut pins = self.tool_pins()?;
        for pin in seen {
            let known = pins
                .iter()
                .any(|known| known.server == pin.server && known.tool == pin.tool);
            if !known {
                pins.push(pin);
            }
        }
        let path = self.path().join(FILE_NAME);
        if pins.len() > PINS_MAX {
            return Err(StoreError::Unwritable {
                path,
                what: format!("more than {PINS_MAX} tools of servers"),
            });
        }
        let kept = Stored { pins };
        files::write(&path, &kept, Sync::Later)?;
        Ok(kept.pins)
    }
}
