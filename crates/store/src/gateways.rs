//! Records of running gateways: the process of each, and the names of its tools.
//!
//! A hook sees a tool under the name that the client gives it. Only the gateway knows which server's tool that is.

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    bindings::ClientProcess,
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Key, Record},
};

/// Record of a gateway that serves a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayCard {
    /// Ancestors of its process, the nearest first; the client is one of them.
    pub above: Vec<ClientProcess>,
    /// Run whose credential its caller has presented.
    pub run: Option<RunId>,
    /// Server tools that it offers.
    pub tools: Vec<ServedTool>,
}

/// A server tool, as a gateway offers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedTool {
    /// Name under which it is offered.
    pub shown: String,
    /// Name of the server; empty: the wrapped one.
    pub server: String,
    /// Name of the tool at the server.
    pub tool: String,
    /// Whether the server says that the tool changes nothing.
    pub read_only: bool,
}

impl Versioned for GatewayCard {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 8 * 1024 * 1024;
}

impl Record for GatewayCard {
    const PLACE: &'static str = "gateways";
}

/// A record in the state directory, until this is dropped.
#[derive(Debug)]
pub struct ManifestFile {
    home: Home,
    key: Key,
}

impl ManifestFile {
    /// Replaces the record.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn renew(&self, card: &GatewayCard) -> Result<(), StoreError> {
        self.home.records().put(&self.key, card)
    }
}

impl Drop for ManifestFile {
    fn drop(&mut self) {
        // One that stays behind is of a process that is gone, which everybody sees.
        let _ = self.home.records::<GatewayCard>().remove(&self.key);
    }
}

impl Home {
    /// Writes the record of this process's gateway, and removes those of processes that are gone.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn keep_card(
        &self,
        card: &GatewayCard,
        is_alive: impl Fn(u32) -> bool,
    ) -> Result<ManifestFile, StoreError> {
        let cards = self.records::<GatewayCard>();
        for key in cards.keys()? {
            if process_of(&key).is_some_and(|process| !is_alive(process)) {
                cards.remove(&key)?;
            }
        }
        let random = Key::random()?;
        let name = format!("{}-{}", std::process::id(), random.as_str());
        let key = Key::named(&name).unwrap_or(random);
        cards.put(&key, card)?;
        Ok(ManifestFile {
            home: self.clone(),
            key,
        })
    }

    /// Lists the live processes that serve as gateways.
    ///
    /// # Errors
    /// The directory of records cannot be listed.
    pub fn gateway_processes(
        &self,
        is_alive: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, StoreError> {
        let keys = self.records::<GatewayCard>().keys()?;
        let processes = keys.iter().filter_map(process_of);
        Ok(processes.filter(|process| is_alive(*process)).collect())
    }

    /// Reads the records of all gateways whose process is alive.
    ///
    /// # Errors
    /// A record exists and cannot be read.
    pub fn cards(&self, is_alive: impl Fn(u32) -> bool) -> Result<Vec<GatewayCard>, StoreError> {
        let cards = self.records::<GatewayCard>();
        let keys = cards.keys()?;
        let alive = keys
            .iter()
            .filter(|key| process_of(key).is_some_and(&is_alive));
        alive.filter_map(|key| cards.get(key).transpose()).collect()
    }
}

/// Returns the process whose record has the key.
fn process_of(key: &Key) -> Option<u32> {
    let (process, _) = key.as_str().split_once('-')?;
    process.parse().ok()
}
