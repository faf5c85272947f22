//! Open requests to people, in the order of the frames: first transitions and states, then calls.

use serde::{Serialize, Serializer, ser::SerializeMap};

pub use crate::parts::About;
use crate::{
    machine::Machine,
    names::{ApprovalId, Digest, FramePath},
    parts::ApprovalKind,
    place::{shown_path, title},
    run::{Phase, Request, Run},
};

/// An open request to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The request.
    pub request: Request,
    /// Path of its state, as shown to people.
    pub shown: String,
    /// Title for people: `process-file 2 of 3` for the region of an item, otherwise the path.
    pub title: String,
}

impl Pending {
    fn of(machine: &Machine, run: &Run, request: &Request) -> Self {
        Self {
            shown: shown_path(machine, run, &request.path),
            title: title(machine, run, &request.path),
            request: request.clone(),
        }
    }

    /// Returns the id of the request.
    #[must_use]
    pub fn id(&self) -> ApprovalId {
        self.request.id()
    }

    /// Returns the path of the frame that asks.
    #[must_use]
    pub const fn path(&self) -> &FramePath {
        &self.request.path
    }

    /// Returns the subject of the request.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.request.about
    }

    /// Returns the digest of what an approval would apply to.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.request.question
    }

    /// Returns whether a client asks in its own prompt.
    #[must_use]
    pub const fn is_in_prompt(&self) -> bool {
        self.request.prompt.is_some()
    }

    /// Returns whether an approval requires a passkey.
    #[must_use]
    pub fn takes_passkey(&self) -> bool {
        self.request.approval == ApprovalKind::Passkey
    }

    /// Names whoever asks: `agent`, a sub-agent's id or a person's name.
    #[must_use]
    pub fn by(&self) -> &str {
        match self.about() {
            About::Transition(transition) => &transition.by,
            About::Entry { .. } => "interlock",
            About::Call(grant) => grant.call.agent.as_ref().map_or("agent", |id| id.as_str()),
        }
    }

    /// Returns whether `name` identifies this request.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.id().as_str() == name
            || self.shown == name
            || self.title == name
            || self.path().to_string() == name
    }
}

/// Lists the open requests of an open run.
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
        let standing = frame.stay.request();
        all.extend(standing.map(|request| Pending::of(machine, run, request)));
        let below = frame.open_regions();
        frames.extend(below.rev().map(|region| path.child(&region.name)));
    }
    let open = |request: &&Request| request.granted.is_none();
    let (calls, prompts): (Vec<&Request>, Vec<&Request>) = (run.requests.iter())
        .filter(open)
        .partition(|request| request.call().is_some());
    let others = prompts.into_iter().chain(calls);
    all.extend(others.map(|request| Pending::of(machine, run, request)));
    all
}

/// Lists the requests that were opened since the run had `before` events.
#[must_use]
pub fn asked_since(machine: &Machine, run: &Run, before: u64) -> Vec<Pending> {
    if run.seq == before {
        return Vec::new();
    }
    let mut all = pending(machine, run);
    all.retain(|one| one.request.seq >= before);
    all
}

impl Serialize for Pending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id())?;
        let kind = match self.about() {
            About::Transition(_) | About::Entry { .. } => "approval",
            About::Call(_) => "grant",
        };
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("path", &self.shown)?;
        if self.title != self.shown {
            map.serialize_entry("title", &self.title)?;
        }
        match self.about() {
            About::Transition(transition) => {
                map.serialize_entry("event", &transition.event)?;
                map.serialize_entry("message", &transition.message)?;
                map.serialize_entry("data", &transition.data)?;
            }
            About::Entry { message } => map.serialize_entry("message", message)?,
            About::Call(grant) => {
                map.serialize_entry("tool", &grant.call.tool)?;
                map.serialize_entry("summary", &grant.call.summary)?;
            }
        }
        map.serialize_entry("by", self.by())?;
        if self.is_in_prompt() {
            map.serialize_entry("in_prompt", &true)?;
        }
        if self.takes_passkey() {
            map.serialize_entry("approval", &self.request.approval)?;
        }
        map.serialize_entry("digest", self.digest())?;
        map.serialize_entry("asked_ms", &self.request.at_ms)?;
        map.end()
    }
}
