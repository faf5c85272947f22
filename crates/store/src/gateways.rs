//! Gateways that serve: which process each is, and what its tools are called.
//!
//! A hook sees a tool under the name its client gives it; only the gateway
//! knows which server's tool that is.

use std::path::PathBuf;

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    bindings::ClientProcess,
    chain::hex,
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
    id,
};

const GATEWAYS: &str = "gateways";

/// A gateway that serves a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayCard {
    /// The processes above it, the nearest first; the client is among them.
    pub above: Vec<ClientProcess>,
    /// The run whose credential its caller holds, where it serves by one.
    pub run: Option<RunId>,
    /// The tools of servers that it shows.
    pub tools: Vec<ServedTool>,
}

/// A tool of a server, as a gateway shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedTool {
    /// The name it is shown under.
    pub shown: String,
    /// The server; empty: the one that is wrapped.
    pub server: String,
    /// The server's own name of it.
    pub tool: String,
    /// Whether the server says that it changes nothing.
    pub read_only: bool,
}

impl Versioned for GatewayCard {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 8 * 1024 * 1024;
}

/// A card that lies in the state directory until this is dropped.
#[derive(Debug)]
pub struct ManifestFile {
    path: PathBuf,
}

impl ManifestFile {
    /// Replaces what the card says.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn renew(&self, card: &GatewayCard) -> Result<(), StoreError> {
        files::write(&self.path, card, Sync::Later)
    }
}

impl Drop for ManifestFile {
    fn drop(&mut self) {
        // One that stays behind is of a process that is gone, which everybody sees.
        let _ = files::remove(&self.path);
    }
}

impl Home {
    /// Lays down the card of a gateway of this process, and takes away those of processes that are gone.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn keep_card(
        &self,
        card: &GatewayCard,
        is_alive: impl Fn(u32) -> bool,
    ) -> Result<ManifestFile, StoreError> {
        let directory = self.made_place(GATEWAYS)?;
        for name in files::names(&directory)? {
            if process_of(&name).is_some_and(|process| !is_alive(process)) {
                files::remove(&directory.join(name))?;
            }
        }
        let random = hex(&id::random::<8>()?);
        let path = directory.join(format!("{}-{random}.json", std::process::id()));
        files::write(&path, card, Sync::Later)?;
        Ok(ManifestFile { path })
    }

    /// Lists the processes that serve as gateways and are alive.
    ///
    /// # Errors
    /// The directory of cards cannot be listed.
    pub fn gateway_processes(
        &self,
        is_alive: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Vec::new());
        };
        let names = files::names(&root.join(GATEWAYS))?;
        let processes = names.iter().filter_map(|name| process_of(name));
        Ok(processes.filter(|process| is_alive(*process)).collect())
    }

    /// Reads the cards of all gateways whose process is alive.
    ///
    /// # Errors
    /// A card is there and cannot be read.
    pub fn cards(&self, is_alive: impl Fn(u32) -> bool) -> Result<Vec<GatewayCard>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Vec::new());
        };
        let directory = root.join(GATEWAYS);
        let names = files::names(&directory)?;
        let alive = names
            .iter()
            .filter(|name| process_of(name).is_some_and(&is_alive));
        alive
            .filter_map(|name| files::read(&directory.join(name)).transpose())
            .collect()
    }
}

/// Returns the process whose card has the name.
fn process_of(name: &str) -> Option<u32> {
    let (process, _) = name.strip_suffix(".json")?.split_once('-')?;
    process.parse().ok()
}
