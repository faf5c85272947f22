//! A stage attempt in progress: the model's messages, and the status of their calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    defaults::is_zero,
    names::{CallId, Digest},
    refusal::Refusal,
};

/// A message of a model, reduced to what the engine needs.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMessage {
    /// Digest of the whole message, which is stored beside the log.
    pub digest: Digest,
    /// Reason that the message ended.
    pub finish: FinishReason,
    /// Calls in the message, in order.
    pub calls: Vec<MessageCall>,
    /// Text of the message, if the stage ends with an answer; `None`: it has no text.
    pub answer: Option<Submission>,
    /// Tokens and money spent on it.
    pub usage: Usage,
    /// Duration from the request to the end, in milliseconds.
    pub ms: u64,
}

/// What a model submits as its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Submitted value.
    pub payload: Value,
    /// Schema errors, each with its place and what was expected, at most 10; empty: the value is valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// Why a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model calls tools.
    ToolCalls,
    /// The model finished its answer.
    Stop,
    /// The output limit was reached.
    Length,
    /// The provider refused to answer.
    Refused,
    /// The provider gave another reason, or none.
    Error,
}

/// One call in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageCall {
    /// Name of the tool as the model wrote it.
    pub tool: String,
    /// Digest of the arguments in canonical JSON, or of their text if they are not JSON.
    pub digest: Digest,
    /// Kind of the call.
    pub kind: MessageCallKind,
}

/// Kind of a call in a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageCallKind {
    /// A tool call, judged when its turn comes.
    Tool {
        /// Whether the tool only reads files of this machine.
        reads: bool,
    },
    /// The completion tool.
    Completion(Submission),
    /// The call cannot be judged: the tool is unknown, or the arguments are not JSON.
    Fault(Refusal),
}

/// Tokens and money spent on models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the request, including cached ones.
    pub input: u64,
    /// Tokens of the answer, including reasoning.
    pub output: u64,
    /// Tokens of the request that came from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of the answer spent on reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Cost in picodollars (10⁻¹² US dollars); `None`: a price is unknown.
    pub pico_usd: Option<u64>,
}

impl Usage {
    /// Returns the sum; the cost is known only if both costs are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = u64::saturating_add;
        let known = |one: &Self| *one == Self::default() || one.pico_usd.is_some();
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            cached: add(self.cached, other.cached),
            reasoning: add(self.reasoning, other.reasoning),
            pico_usd: (known(&self) && known(&other)).then(|| {
                add(
                    self.pico_usd.unwrap_or_default(),
                    other.pico_usd.unwrap_or_default(),
                )
            }),
        }
    }

    /// Returns the total number of tokens.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Progress of a stage attempt. Bounded: holds the calls of the last message, not the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageAttempt {
    /// Tools that the model is offered.
    pub tools: Vec<String>,
    /// Start of the attempt, in milliseconds since 1970.
    pub started_ms: u64,
    /// Time spent waiting for people, in milliseconds.
    #[serde(default)]
    pub waited_ms: u64,
    /// Number of messages received.
    pub turns: u32,
    /// Whether a model call is in the log without its result.
    #[serde(default)]
    pub calling: bool,
    /// Whether the model was reminded because its last message had no call.
    #[serde(default)]
    pub reminded: bool,
    /// Calls of the last message, in order, until all are settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<PendingCall>,
    /// Tokens and money spent on the attempt so far.
    #[serde(default)]
    pub usage: Usage,
    /// Number of rejected submissions.
    #[serde(default)]
    pub refused: u32,
    /// Number of model calls in a row that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Time of the next model call, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_ms: Option<u64>,
    /// Whether the conversation has been checked, and condensed if it was too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub condensed: bool,
}

/// One call of the last message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// Id of the call, made of turn and position; unique in the run.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// Digest of the arguments.
    pub digest: Digest,
    /// Whether its tool only reads files of this machine, so that the call may be judged while similar ones run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// Status of the call.
    pub status: CallStatus,
}

/// Status of a call in a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The call is to be judged.
    Waiting,
    /// A person is asked about the call.
    Asked,
    /// The call was allowed and has not ended.
    Running {
        /// Whether the call only reads, so that it may run beside others and again after a crash.
        reads: bool,
    },
    /// The call was denied, or has ended.
    Settled,
    /// The call submits a result; judged after all others.
    Completion(Submission),
    /// The call cannot be judged; answered when its turn comes.
    Fault(Refusal),
}

impl StageAttempt {
    /// Makes an attempt that has just started.
    #[must_use]
    pub fn begun(tools: Vec<String>, started_ms: u64) -> Self {
        Self {
            tools,
            started_ms,
            ..Self::default()
        }
    }

    /// Returns the positions of the calls whose status satisfies `is`.
    pub fn places(&self, is: impl Fn(&CallStatus) -> bool) -> Vec<usize> {
        let calls = self.calls.iter().enumerate();
        calls
            .filter(|(_, call)| is(&call.status))
            .map(|(at, _)| at)
            .collect()
    }

    /// Returns the position of the first call whose status satisfies `is`.
    pub fn place(&self, is: impl Fn(&CallStatus) -> bool) -> Option<usize> {
        self.calls.iter().position(|call| is(&call.status))
    }

    /// Returns whether the call at `next` may begin while those at `running` are still running.
    #[must_use]
    pub fn may_overlap(&self, running: &[usize], next: usize) -> bool {
        let reads = |at: &usize| {
            self.calls
                .get(*at)
                .is_some_and(|call| call.status == CallStatus::Running { reads: true })
        };
        let next = self.calls.get(next);
        running.iter().all(reads) && next.is_some_and(|call| call.reads)
    }
}
