//! What people are asked, and what they said.

use serde::{Deserialize, Serialize};

use crate::{
    machine::Object,
    names::{AgentId, ApprovalId, CallId, Digest, EventName, FramePath},
    parts::{GrantThen, PromptCall},
};

/// A transition that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingTransition {
    /// The event.
    pub event: EventName,
    /// Which of its transitions.
    pub index: usize,
    /// What the agent wants merged.
    pub data: Object,
    /// What the person is asked.
    pub message: String,
    /// Who asked for the transition.
    pub by: String,
    /// When it was asked and what the answer rests on; `None` in logs that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Request>,
}

/// What a person is asked before a state begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryRequest {
    /// What the person is asked.
    pub message: String,
    /// When, and what the answer rests on.
    pub asked: Request,
}

/// When a person was asked, and what the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Sequence number of the request.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Digest of all that the answer rests on.
    pub question: Digest,
}

impl Request {
    /// Returns the id of what was asked.
    #[must_use]
    pub fn id(&self) -> ApprovalId {
        ApprovalId::of(self.seq)
    }
}

/// A transition that a person is asked about in a client's own prompt; nothing stands still for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptedTransition {
    /// The frame.
    pub path: FramePath,
    /// When that frame had entered its state; the question ends with the stay.
    pub entered_seq: u64,
    /// What is asked.
    pub parked: PendingTransition,
    /// The call that brings the question to the person.
    pub prompt: PromptCall,
}

impl PromptedTransition {
    /// Returns the id of the question.
    #[must_use]
    pub fn id(&self) -> Option<ApprovalId> {
        self.parked.asked.as_ref().map(Request::id)
    }
}

/// A request to a person that is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Which.
    pub id: ApprovalId,
    /// The frame that asked.
    pub path: FramePath,
    /// When that frame had entered its state.
    pub entered_seq: u64,
    /// The event or the tool it was about.
    pub about: String,
    /// How it was settled.
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

/// A request for a grant, or a grant not used yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The frame.
    pub path: FramePath,
    /// When that frame had entered its state; a grant ends with the stay.
    pub entered_seq: u64,
    /// Exactly which call.
    pub digest: Digest,
    /// The tool, for people.
    pub tool: String,
    /// The arguments, for people.
    pub summary: String,
    /// Who said yes; `None`: nobody yet.
    pub granted_by: Option<String>,
    /// When it was asked; `None` in logs that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Request>,
    /// The sub-agent that asked; nobody else may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Sequence number of the yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_seq: Option<u64>,
    /// The call of a stage that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What a yes leads to in a stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<GrantThen>,
    /// The call with which the client asks in a prompt of its own; `None`: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptCall>,
}
