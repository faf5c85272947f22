//! Gateways that serve: which process each is, and what its tools are called.
//!
//! A hook sees a tool under the name its client gives it; only the gateway
//! knows which server's tool that is.

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    bindings::ClientProcess,
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Key, Record},
};

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

impl Record for GatewayCard {
    const PLACE: &'static str = "gateways";
}

/// A card that lies in the state directory until this is dropped.
#[derive(Debug)]
pub struct ManifestFile {
    home: Home,
    key: Key,
}

impl ManifestFile {
    /// Replaces what the card says.
    ///
    /// # Errors
    /// It cannot be written.
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
    /// Lays down the card of a gateway of this process, and takes away those of processes that are gone.
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

    /// Lists the processes that serve as gateways and are alive.
    ///
    /// # Errors
    /// The directory of cards cannot be listed.
    pub fn gateway_processes(
        &self,
        is_alive: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, StoreError> {
        let keys = self.records::<GatewayCard>().keys()?;
        let processes = keys.iter().filter_map(process_of);
        Ok(processes.filter(|process| is_alive(*process)).collect())
    }

    /// Reads the cards of all gateways whose process is alive.
    ///
    /// # Errors
    /// A card is there and cannot be read.
    pub fn cards(&self, is_alive: impl Fn(u32) -> bool) -> Result<Vec<GatewayCard>, StoreError> {
        let cards = self.records::<GatewayCard>();
        let keys = cards.keys()?;
        let alive = keys
            .iter()
            .filter(|key| process_of(key).is_some_and(&is_alive));
        alive.filter_map(|key| cards.get(key).transpose()).collect()
    }
}

/// Returns the process whose card has the key.
fn process_of(key: &Key) -> Option<u32> {
    let (process, _) = key.as_str().split_once('-')?;
    process.parse().ok()
}
