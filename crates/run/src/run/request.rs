//! Requests to people, and their answers.

use serde::{Deserialize, Serialize};

use crate::{
    defaults::is_default,
    names::{ApprovalId, Digest, FramePath},
    parts::{About, ApprovalKind, PendingGrant, PendingTransition, PromptCall},
};

/// A request to a person, or an approval of a call that is not used yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Sequence number of the request.
    pub seq: u64,
    /// Path of the frame that asks.
    pub path: FramePath,
    /// Sequence number of that frame's state entry; the request ends when the state is left.
    pub entered_seq: u64,
    /// Subject of the request.
    pub about: About,
    /// Digest of everything the answer depends on; for a call, of its tool and arguments.
    pub question: Digest,
    /// Call for which the client asks in its own prompt; `None`: it does not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptCall>,
    /// What an approval requires besides a person's answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approval: ApprovalKind,
    /// Time of the request, in milliseconds since 1970.
    pub at_ms: u64,
    /// Approval that the call may use; `None`: nobody has approved it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
}

/// A person's approval of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Name of whoever approved it.
    pub by: String,
    /// Sequence number of the answer.
    pub seq: u64,
}

impl Request {
    /// Returns the id of the request.
    #[must_use]
    pub fn id(&self) -> ApprovalId {
        ApprovalId::of(self.seq)
    }

    /// Returns the transition it asks about; `None`: it asks about something else.
    #[must_use]
    pub const fn transition(&self) -> Option<&PendingTransition> {
        match &self.about {
            About::Transition(transition) => Some(transition),
            About::Entry { .. } | About::Call(_) => None,
        }
    }

    /// Returns the call it asks about; `None`: it asks about something else.
    #[must_use]
    pub fn call(&self) -> Option<&PendingGrant> {
        match &self.about {
            About::Call(grant) => Some(grant),
            About::Transition(_) | About::Entry { .. } => None,
        }
    }

    /// Returns whether the request is about a call of a model stage.
    #[must_use]
    pub fn is_of_stage(&self) -> bool {
        self.call().is_some_and(|grant| grant.then.is_some())
    }

    /// Names the event, state or tool that the request is about; `at` is the frame's current state.
    #[must_use]
    pub fn subject<'a>(&'a self, at: &'a str) -> &'a str {
        match &self.about {
            About::Transition(transition) => transition.event.as_str(),
            About::Entry { .. } => at,
            About::Call(grant) => &grant.call.tool,
        }
    }
}

/// A settled request to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Id of the request.
    pub id: ApprovalId,
    /// Path of the frame that asked.
    pub path: FramePath,
    /// Sequence number of that frame's state entry.
    pub entered_seq: u64,
    /// Event or tool that the request was about.
    pub about: String,
    /// Outcome of the request.
    pub how: Settlement,
    /// Name of whoever answered; `None`: nobody did, the request is void.
    pub by: Option<String>,
    /// Time of the answer, in milliseconds since 1970, if the log has it.
    pub at_ms: Option<u64>,
    /// What the person said, or why the request is void.
    pub note: Option<String>,
}

/// How a request to a person was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// The person approved.
    Approved,
    /// The person rejected.
    Rejected,
    /// The request became void before anybody answered.
    Void,
}
