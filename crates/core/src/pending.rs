//! What waits for a person, in the order of the frames: transitions, then calls.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    machine::{Machine, Object},
    names::{ApprovalId, Digest, EventName, FramePath},
    place::{shown_path, title},
    run::{EntryRequest, Grant, PendingTransition, Phase, Request, Run},
};

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// Its id; `None`: asked before requests had ids.
    pub id: Option<ApprovalId>,
    /// The frame that asks.
    pub path: FramePath,
    /// The path of its state, as shown.
    pub shown: String,
    /// What people call it: `process-file 2 of 3` for the line of an item, else the path.
    pub title: String,
    /// When it was asked.
    pub asked: Option<Request>,
    /// Who asks: `agent`, a sub-agent's id or a person's name.
    pub by: String,
    /// Whether a client asks it in a prompt of its own.
    pub in_prompt: bool,
    /// What it is about.
    pub about: About,
}

/// What a person is asked about.
#[derive(Debug, Clone, PartialEq)]
pub enum About {
    /// Whether a transition may be taken.
    Transition {
        /// Its event.
        event: EventName,
        /// Which of its transitions.
        index: usize,
        /// What the person is asked.
        message: String,
        /// What would be merged into the context.
        data: Object,
    },
    /// Whether a state may begin.
    Entry {
        /// What the person is asked.
        message: String,
    },
    /// Whether one call may run.
    Call {
        /// The tool.
        tool: String,
        /// Its arguments, in one line.
        summary: String,
        /// Digest of the tool's name and arguments.
        digest: Digest,
    },
}

impl Pending {
    /// Returns the digest of what a yes would hold for.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        match &self.about {
            About::Call { digest, .. } => Some(digest),
            About::Transition { .. } | About::Entry { .. } => {
                self.asked.as_ref().map(|asked| &asked.question)
            }
        }
    }

    /// Tells whether a person who says `name` means this.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        let id = self.id.as_ref().is_some_and(|id| id.as_str() == name);
        id || self.shown == name || self.title == name || self.path.to_string() == name
    }
}

/// Lists what waits for a person in an open run.
#[must_use]
pub fn pending(machine: &Machine, run: &Run) -> Vec<Pending> {
    if run.phase != Phase::Open {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut frames = vec![FramePath::root()];
    while let Some(path) = frames.pop() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        if let Some(parked) = &frame.stay.parked {
            all.push(transition(machine, run, &path, parked));
        }
        if let Some(held) = &frame.stay.held {
            all.push(entry(machine, run, &path, held));
        }
        let below = frame.children.iter().filter(|child| child.ended.is_none());
        frames.extend(below.rev().map(|child| path.child(&child.name)));
    }
    all.extend(run.prompts.iter().map(|prompt| Pending {
        in_prompt: true,
        ..transition(machine, run, &prompt.path, &prompt.parked)
    }));
    let asked = run.grants.iter().filter(|grant| grant.granted_by.is_none());
    all.extend(asked.map(|grant| call(machine, run, grant)));
    all
}

/// Lists what has come to wait for a person since the run had `before` events.
#[must_use]
pub fn asked_since(machine: &Machine, run: &Run, before: u64) -> Vec<Pending> {
    if run.seq == before {
        return Vec::new();
    }
    let mut all = pending(machine, run);
    all.retain(|one| one.asked.as_ref().is_some_and(|asked| asked.seq >= before));
    all
}

fn transition(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    parked: &PendingTransition,
) -> Pending {
    Pending {
        id: parked.asked.as_ref().map(Request::id),
        shown: shown_path(machine, run, path),
        title: title(machine, run, path),
        path: path.clone(),
        asked: parked.asked.clone(),
        by: parked.by.clone(),
        in_prompt: false,
        about: About::Transition {
            event: parked.event.clone(),
            index: parked.index,
            message: parked.message.clone(),
            data: parked.data.clone(),
        },
    }
}

fn entry(machine: &Machine, run: &Run, path: &FramePath, held: &EntryRequest) -> Pending {
    Pending {
        id: Some(held.asked.id()),
        shown: shown_path(machine, run, path),
        title: title(machine, run, path),
        path: path.clone(),
        asked: Some(held.asked.clone()),
        by: "interlock".to_owned(),
        in_prompt: false,
        about: About::Entry {
            message: held.message.clone(),
        },
    }
}

fn call(machine: &Machine, run: &Run, grant: &Grant) -> Pending {
    let agent = grant.agent.as_ref();
    Pending {
        id: grant.asked.as_ref().map(Request::id),
        shown: shown_path(machine, run, &grant.path),
        title: title(machine, run, &grant.path),
        path: grant.path.clone(),
        asked: grant.asked.clone(),
        by: agent.map_or_else(|| "agent".to_owned(), ToString::to_string),
        in_prompt: grant.prompt.is_some(),
        about: About::Call {
            tool: grant.tool.clone(),
            summary: grant.summary.clone(),
            digest: grant.digest.clone(),
        },
    }
}

impl Serialize for Pending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        let kind = match &self.about {
            About::Transition { .. } | About::Entry { .. } => "approval",
            About::Call { .. } => "grant",
        };
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("path", &self.shown)?;
        if self.title != self.shown {
            map.serialize_entry("title", &self.title)?;
        }
        match &self.about {
            About::Transition {
                event,
                message,
                data,
                ..
            } => {
                map.serialize_entry("event", event)?;
                map.serialize_entry("message", message)?;
                map.serialize_entry("data", data)?;
            }
            About::Entry { message } => map.serialize_entry("message", message)?,
            About::Call { tool, summary, .. } => {
                map.serialize_entry("tool", tool)?;
                map.serialize_entry("summary", summary)?;
            }
        }
        map.serialize_entry("by", &self.by)?;
        if self.in_prompt {
            map.serialize_entry("in_prompt", &true)?;
        }
        map.serialize_entry("digest", &self.digest())?;
        let at_ms = self.asked.as_ref().map(|asked| asked.at_ms);
        map.serialize_entry("asked_ms", &at_ms)?;
        map.end()
    }
}
