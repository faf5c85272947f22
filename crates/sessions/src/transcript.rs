//! What one file holds, before sub-agents are joined to their sessions.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    Format,
    session::{Call, Ended, Losses},
};

/// What one file holds: a session, or what one of its sub-agents did.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// How it is written.
    pub format: Format,
    /// Where it was read from.
    pub source: String,
    /// The id of the session.
    pub session: String,
    /// The session that the sub-agent works for; `None`: it is not a sub-agent's.
    pub parent: Option<String>,
    /// The sub-agent whose calls these are; `None`: the main agent.
    pub agent: Option<String>,
    /// The client whose tools are called, by the word for it.
    pub client: Option<String>,
    /// The version of the program that has written it.
    pub version: Option<String>,
    /// The directory it began in.
    pub directory: Option<String>,
    /// Its calls, in the order of the file.
    pub calls: Vec<Call>,
    /// What was not read.
    pub losses: Losses,
    /// The calls by their ids.
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

    /// Adds a call; one that is there already stays as it is, since clients write records again.
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
        // What a damaged file calls its records is of any length.
        let kind: String = kind.chars().take(60).collect();
        *self.losses.unknown.entry(kind).or_default() += 1;
    }

    /// Takes a value where none is known yet.
    pub(crate) fn learn(place: &mut Option<String>, found: Option<String>) {
        if place.is_none() {
            *place = found.filter(|found| !found.is_empty());
        }
    }
}
