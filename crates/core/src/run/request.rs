//! What people are asked, and what they said.

use serde::{Deserialize, Serialize};

use crate::{
    names::{ApprovalId, Digest, FramePath},
    parts::{About, ApprovalKind, PendingGrant, PendingTransition, PromptCall},
};

/// A request to a person, or a yes to a call that is not used up yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Sequence number of the request.
    pub seq: u64,
    /// The frame that asks.
    pub path: FramePath,
    /// When that frame had entered its state; the request ends with the stay.
    pub entered_seq: u64,
    /// Subject of the request.
    pub about: About,
    /// Digest of all that the answer rests on; of a call, that of its tool and arguments.
    pub question: Digest,
    /// The call with which the client asks in a prompt of its own; `None`: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptCall>,
    /// What a yes has to come with.
    #[serde(default, skip_serializing_if = "ApprovalKind::is_default")]
    pub approval: ApprovalKind,
    /// When it was asked, in milliseconds since 1970.
    pub at_ms: u64,
    /// The yes that its call may use up; `None`: nobody has said it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
}

/// A person's yes to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Name of whoever said it.
    pub by: String,
    /// Sequence number of the answer.
    pub seq: u64,
}

impl Request {
    /// Returns its id.
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

    /// Tells whether it asks about a call of a model stage.
    #[must_use]
    pub fn is_of_stage(&self) -> bool {
        self.call().is_some_and(|grant| grant.then.is_some())
    }

    /// Names the event, the state or the tool that it is about; `at` is where its frame stands.
    pub(crate) fn subject<'a>(&'a self, at: &'a str) -> &'a str {
        match &self.about {
            About::Transition(transition) => transition.event.as_str(),
            About::Entry { .. } => at,
            About::Call(grant) => &grant.call.tool,
        }
    }
}

/// A request to a person that is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Id of the request.
    pub id: ApprovalId,
    /// The frame that asked.
    pub path: FramePath,
    /// When that frame had entered its state.
    pub entered_seq: u64,
    /// The event or the tool it was about.
    pub about: String,
    /// Outcome of the request.
    pub how: Settlement,
    /// Who answered; `None`: nobody, it is void.
    pub by: Option<String>,
    /// When, in milliseconds since 1970, where the log says.
    pub at_ms: Option<u64>,
    /// What the person said, or why it is void.
    pub note: Option<String>,
}

/// How a request to a person was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// With a yes.
    Approved,
    /// With a no.
    Rejected,
    /// It was void before anybody answered.
    Void,
}
