//! The tools of a server, as it listed them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use interlock_core::machine::Object;
use serde_json::Value;

use super::{Live, McpClient};
use crate::message::Outcome;

/// Maximum number of pages requested of a list.
const PAGES_MAX: usize = 1_000;
/// Maximum number of tools kept of a list.
const TOOLS_MAX: usize = 100_000;

/// Definitions of tools by their names, in the order of the server.
pub type Definitions = IndexMap<String, Arc<Value>>;

/// What is known of the tools of a server.
#[derive(Debug, Default)]
pub(super) struct ToolList {
    known: Mutex<Known>,
    /// Two requests at once would ask twice.
    listing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    tools: Option<Arc<Definitions>>,
    /// Whether it was read since the server last reported a change.
    is_fresh: bool,
}

impl ToolList {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the list as outdated: the server reported a change, or has restarted.
    pub(super) fn spoil(&self) {
        self.lock().is_fresh = false;
    }

    fn fresh(&self) -> Option<Arc<Definitions>> {
        let known = self.lock();
        known.tools.clone().filter(|_| known.is_fresh)
    }
}

impl McpClient {
    /// Lists the tools of the server; while it is unavailable, those of its last list.
    ///
    /// # Errors
    /// It has never listed any and is unavailable, or it refuses; the error gives the reason.
    pub async fn list(&self) -> Result<Arc<Definitions>, Outcome> {
        let _turn = self.tools.listing.lock().await;
        self.ask_all().await
    }

    /// Lists the tools, reading the list again if the server has reported a change.
    ///
    /// # Errors
    /// Fails like [`Self::list`].
    pub async fn listed(&self) -> Result<Arc<Definitions>, Outcome> {
        if let Some(fresh) = self.tools.fresh() {
            return Ok(fresh);
        }
        let _turn = self.tools.listing.lock().await;
        match self.tools.fresh() {
            Some(fresh) => Ok(fresh),
            None => self.ask_all().await,
        }
    }

    /// Returns the last list; empty if there has been none.
    #[must_use]
    pub fn known(&self) -> Arc<Definitions> {
        self.tools.lock().tools.clone().unwrap_or_default()
    }

    /// Reads every page.
    async fn ask_all(&self) -> Result<Arc<Definitions>, Outcome> {
        let live = match self.state.live().await {
            Ok(live) => live,
            // An outdated list is better than none.
            Err(outcome) => return self.tools.lock().tools.clone().ok_or(outcome),
        };
        // Changes reported while it is read count.
        self.tools.lock().is_fresh = true;
        let found = match live.capability("tools") {
            None => Ok(Definitions::new()),
            Some(_) => self.pages(&live).await,
        };
        match found {
            Ok(tools) => {
                let tools = Arc::new(tools);
                self.tools.lock().tools = Some(Arc::clone(&tools));
                Ok(tools)
            }
            Err(outcome) => {
                self.tools.spoil();
                Err(outcome)
            }
        }
    }

    async fn pages(&self, live: &Live) -> Result<Definitions, Outcome> {
        let mut tools = Definitions::new();
        let mut cursor: Option<Value> = None;
        for _ in 0..PAGES_MAX {
            let params = cursor
                .take()
                .map(|cursor| Object::from_iter([("cursor".to_owned(), cursor)]));
            let outcome = self.ask(live, "tools/list", params).await;
            let Outcome::Result(result) = outcome else {
                return Err(outcome);
            };
            let mut page: Value = serde_json::from_str(result.get()).unwrap_or_default();
            let entries = page.get_mut("tools").map(Value::take);
            for entry in entries.iter().flat_map(Value::as_array).flatten() {
                if let Some(name) = entry.get("name").and_then(Value::as_str)
                    && tools.len() < TOOLS_MAX
                {
                    tools.insert(name.to_owned(), Arc::new(entry.clone()));
                }
            }
            match page.get_mut("nextCursor").map(Value::take) {
                Some(next @ Value::String(_)) => cursor = Some(next),
                _ => break,
            }
        }
        Ok(tools)
    }
}
