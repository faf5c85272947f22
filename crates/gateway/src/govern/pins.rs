//! Definitions of tools, compared with those that the run of a session saw first.

use std::collections::BTreeMap;

use interlock_core::{event::ToolChange, names::RunId};
use interlock_served::pins::{by_name, change, is_accepted, name, pin};
use interlock_store::{StoreError, ToolPin};
use serde_json::Value;

use super::ListedTool;
use crate::{governor_queue::waiting, live::Live};

/// Maximum number of definitions whose digests are kept.
const DIGESTED_MAX: usize = 64;

/// The pinned definitions of a run, as far as they were read.
#[derive(Debug, Default)]
pub(super) struct Pins {
    run: Option<RunId>,
    known: BTreeMap<(String, String), ToolPin>,
    /// Definitions and their digests, because a digest takes longer than a comparison.
    digested: Vec<(Value, ToolPin)>,
}

impl Pins {
    /// Pins what the run sees for the first time, and returns for each tool whether it has changed.
    pub(super) fn compare(
        &mut self,
        live: &Live,
        tools: &[ListedTool<'_>],
    ) -> Result<Vec<Option<ToolChange>>, StoreError> {
        if self.run.as_ref() != Some(live.id()) {
            self.known = by_name(live.tool_pins()?);
            self.run = Some(live.id().clone());
        }
        let seen: Vec<Option<ToolPin>> = tools.iter().map(|tool| self.digest(tool)).collect();
        let is_new = |pin: &&ToolPin| !self.known.contains_key(&name(pin));
        let new: Vec<ToolPin> = seen.iter().flatten().filter(is_new).cloned().collect();
        if !new.is_empty() {
            // This takes a lock that another process may hold.
            self.known = by_name(waiting(|| live.pin_tools(new))?);
        }
        let changes = tools.iter().zip(seen).map(|(tool, seen)| {
            let key = (tool.server.to_owned(), tool.name.to_owned());
            let known = self.known.get(&key)?;
            change(known, seen.as_ref()).filter(|change| !is_accepted(&live.run, change))
        });
        Ok(changes.collect())
    }

    /// Returns the digests of a definition; `None` if the server does not list the tool.
    fn digest(&mut self, tool: &ListedTool<'_>) -> Option<ToolPin> {
        let of_tool =
            |(_, pin): &(Value, ToolPin)| pin.server == tool.server && pin.tool == tool.name;
        let place = self.digested.iter().position(of_tool);
        if let Some((definition, pin)) = place.and_then(|place| self.digested.get(place))
            && definition == tool.definition
        {
            return Some(pin.clone());
        }
        let pin = pin(tool)?;
        if let Some(place) = place {
            self.digested.swap_remove(place);
        } else if self.digested.len() == DIGESTED_MAX {
            self.digested.clear();
        }
        self.digested.push((tool.definition.clone(), pin.clone()));
        Some(pin)
    }
}
