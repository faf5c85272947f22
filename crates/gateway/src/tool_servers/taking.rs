//! Governs the sessions of a run's servers: which tools are taken, and whether they are the same still.
//!
//! Whether a call may be made is the run's to say, before it comes here.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};

use super::{held::PinnedTools, wanted::WantedServer};
use crate::{
    govern::{
        CallDecision, CallEnd, GatewayCall, Instead, ListedTool, NotRead, OwnCall, PersonSaid,
        Reading, SessionPolicy, Ticket, pins,
    },
    governor_queue::unread,
};

/// The key of a refusal of ours in a result's `_meta`; its value nobody else knows.
pub(super) const REFUSED: &str = "interlock/refused";

/// A tool as the session shows it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) server: String,
    pub(super) tool: String,
}

/// What a session's governor and its owner share.
#[derive(Debug, Clone)]
pub(super) struct ServerPolicy {
    pub(super) wanted: Arc<Vec<WantedServer>>,
    /// Every tool that was listed, by the name the session shows it under.
    pub(super) seen: Arc<Mutex<HashMap<String, Seen>>>,
    pub(super) held: PinnedTools,
    /// Marks refusals of ours.
    pub(super) mark: Arc<str>,
}

impl ServerPolicy {
    fn takes(&self, tool: &ListedTool<'_>) -> bool {
        let server = self.wanted.iter().find(|server| server.name == tool.server);
        server.is_some_and(|server| server.takes(tool.name))
    }

    fn refuse(&self, code: &str, message: &str) -> CallDecision {
        CallDecision::Answer(json!({
            "content": [{"type": "text", "text": message}],
            "isError": true,
            "_meta": {REFUSED: {"mark": &*self.mark, "code": code}},
        }))
    }
}

impl SessionPolicy for ServerPolicy {
    fn own_tools(&self) -> Vec<Value> {
        Vec::new()
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn own_call(&mut self, _name: &str, _call: &OwnCall<'_>) -> Option<CallDecision> {
        None
    }

    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let known = Seen {
                server: tool.server.to_owned(),
                tool: tool.name.to_owned(),
            };
            seen.insert(tool.shown.to_owned(), known);
        }
        drop(seen);
        let taken: Vec<ListedTool<'_>> = tools
            .iter()
            .filter(|tool| self.takes(tool))
            .copied()
            .collect();
        // Where the pins cannot be read no definition is known to be the same.
        let Ok(changes) = self.held.compare(&taken) else {
            return vec![false; tools.len()];
        };
        let mut changes = changes.into_iter();
        let same = |tool: &ListedTool<'_>| self.takes(tool) && changes.next() == Some(None);
        tools.iter().map(same).collect()
    }

    fn call(&mut self, call: &GatewayCall<'_>) -> CallDecision {
        let name = call.tool.name;
        if !self.takes(&call.tool) || call.tool.definition.is_null() {
            return self.refuse("unknown_tool", &format!("no tool is called `{name}`"));
        }
        match self.held.compare(&[call.tool]).map(|mut all| all.pop()) {
            Ok(Some(None)) => CallDecision::Pass(Ticket {
                call: None,
                bytes_max: None,
            }),
            Ok(Some(Some(change))) => self.refuse(
                "protected",
                &pins::different(&change, self.held.run().as_deref()),
            ),
            Ok(None) => self.refuse("unavailable", "what the run has pinned is not known"),
            Err(error) => {
                let message = format!("what the run has pinned cannot be read: {error}");
                self.refuse("unavailable", &message)
            }
        }
    }

    fn read(&mut self, _reading: &Reading<'_>) -> Option<NotRead> {
        Some(unread())
    }

    fn answered(&mut self, _key: &str, _said: &PersonSaid, _at_ms: u64) -> CallDecision {
        self.refuse("unavailable", "nobody was asked")
    }

    fn ended(&mut self, _: &Ticket, _: CallEnd<'_>, _: u64) -> Option<Instead> {
        None
    }

    fn changed(&mut self) -> bool {
        false
    }
}
