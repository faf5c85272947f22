//! The contents of one file, before sub-agents are merged into their sessions.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    Format,
    session::{Call, Ended, Losses},
};

/// The contents of one file: a session, or the calls of one of its sub-agents.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// Format of the file.
    pub format: Format,
    /// Source of the file.
    pub source: String,
    /// Id of the session.
    pub session: String,
    /// Session that the sub-agent works for; `None` if it is not a sub-agent's.
    pub parent: Option<String>,
    /// Sub-agent whose calls these are; `None` for the main agent.
    pub agent: Option<String>,
    /// Identifier of the client whose tools are called.
    pub client: Option<String>,
    /// Version of the program that wrote it.
    pub version: Option<String>,
    /// Directory in which it began.
    pub directory: Option<String>,
    /// Calls in the order of the file.
    pub calls: Vec<Call>,
    /// What was not read.
    pub losses: Losses,
    /// Calls by their ids.
    known: BTreeMap<String, usize>,
}

impl Transcript {
    pub(crate) fn new(format: Format, source: &str) -> Self {
        Self {
            format,
            source: source.to_owned(),
            session: String::new(),
            parent: None,
            agent: None,
            client: format.client().map(str::to_owned),
            version: None,
            directory: None,
            calls: Vec::new(),
            losses: Losses::default(),
            known: BTreeMap::new(),
        }
    }

    /// Adds a call; an existing one stays unchanged, since clients write records again.
    pub(crate) fn begin(&mut self, id: &str, tool: &str, input: Value) -> Option<&mut Call> {
        if id.is_empty() || tool.is_empty() {
            self.miss("call without an id or a tool");
            return None;
        }
        if self.known.contains_key(id) {
            return None;
        }
        self.known.insert(id.to_owned(), self.calls.len());
        self.calls.push(Call {
            id: id.to_owned(),
            tool: tool.to_owned(),
            input,
            agent: None,
            at_ms: None,
            directory: None,
            ended: Ended::Unknown,
            exit: None,
            bytes: 0,
            files: Vec::new(),
            record: None,
        });
        self.calls.last_mut()
    }

    /// Returns the call with an id.
    pub(crate) fn call(&mut self, id: &str) -> Option<&mut Call> {
        let at = self.known.get(id)?;
        self.calls.get_mut(*at)
    }

    /// Counts a record that is not understood.
    pub(crate) fn miss(&mut self, kind: &str) {
        // In a damaged file, the kind of a record may have any length.
        let kind: String = kind.chars().take(60).collect();
        *self.losses.unknown.entry(kind).or_default() += 1;
    }

    /// Sets a value unless one is known; an empty text is none.
    pub(crate) fn learn(place: &mut Option<String>, found: &str) {
        if place.is_none() && !found.is_empty() {
            *place = Some(found.to_owned());
        }
    }
}
