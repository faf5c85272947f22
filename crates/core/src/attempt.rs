//! An attempt of a model stage in motion: the messages of the model, and what became of their calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    names::{CallId, Digest},
    refusal::Refusal,
};

/// A message of a model, as the engine sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMessage {
    /// Digest of the whole message, which is kept beside the log.
    pub digest: Digest,
    /// Reason that the message ended.
    pub finish: Finish,
    /// Its calls, in order.
    pub calls: Vec<MessageCall>,
    /// Its text as an answer, where the stage ends with one; `None`: it has no text.
    pub answer: Option<Submission>,
    /// What it cost.
    pub usage: Usage,
    /// Duration from the request to the end, in milliseconds.
    pub ms: u64,
}

/// What a model hands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// The value.
    pub payload: Value,
    /// What is wrong with it, each with its place and what was wanted, at most 10; none: it fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// Why a message ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model wants tools.
    ToolCalls,
    /// The model was done.
    Stop,
    /// It was cut at the output limit.
    Length,
    /// The provider refused to answer.
    Refused,
    /// The provider says neither.
    Error,
}

/// One call of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageCall {
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// Digest of the arguments in canonical JSON, or of their text where that cannot be made.
    pub digest: Digest,
    /// What it is.
    pub kind: MessageCallKind,
}

/// What a call of a message is.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageCallKind {
    /// A call of a tool, to be judged when its turn comes.
    Tool {
        /// Whether the tool does nothing but read files of this machine.
        reads: bool,
    },
    /// The completion tool.
    Completion(Submission),
    /// It cannot be judged at all: no such tool, or no JSON.
    Fault(Refusal),
}

/// What calls of models cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the request, cached ones too.
    pub input: u64,
    /// Tokens of the answer, reasoning too.
    pub output: u64,
    /// Tokens of the request that came from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of the answer that nobody sees.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Money, in millionths of a millionth of a US dollar; `None`: some price is not known.
    pub pico_usd: Option<u64>,
}

fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Returns both together; money is known where both know it.
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

    /// Returns all tokens.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Where an attempt of a stage stands. Bounded: the last message's calls, not the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageAttempt {
    /// The tools that the model is told of.
    pub tools: Vec<String>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// Milliseconds that people were waited for.
    #[serde(default)]
    pub waited_ms: u64,
    /// Messages that arrived.
    pub turns: u32,
    /// Whether a model call is in the log without its end.
    #[serde(default)]
    pub calling: bool,
    /// Whether the last message had no call, so that the model was reminded.
    #[serde(default)]
    pub reminded: bool,
    /// The calls of the last message, in order, while they are dealt with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<PendingCall>,
    /// What the attempt has cost so far.
    #[serde(default)]
    pub usage: Usage,
    /// Answers that did not fit.
    #[serde(default)]
    pub refused: u32,
    /// Calls of the model in a row that came to nothing.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub failed: u32,
    /// When the model is called again, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_ms: Option<u64>,
    /// Whether the conversation has been looked at, and condensed where it was too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub condensed: bool,
}

/// One call of the last message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// Its id: turn and place, unique in the run.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// Digest of the arguments.
    pub digest: Digest,
    /// Whether its tool does nothing but read files of this machine, so that it may be judged while others like it run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// What became of it so far.
    pub status: CallStatus,
}

/// What became of a call of a message so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It is to be judged.
    Waiting,
    /// A person is asked.
    Asked,
    /// It may run, and its end is not known.
    Running {
        /// Whether it only reads, so that it may run beside others and again after a crash.
        reads: bool,
    },
    /// It was denied, or has ended.
    Settled,
    /// It hands something in; judged after all others.
    Completion(Submission),
    /// It cannot be judged at all; answered when its turn comes.
    Fault(Refusal),
}

impl StageAttempt {
    /// Makes an attempt that has just begun.
    pub(crate) fn begun(tools: Vec<String>, started_ms: u64) -> Self {
        Self {
            tools,
            started_ms,
            ..Self::default()
        }
    }

    pub(crate) fn places(&self, is: impl Fn(&CallStatus) -> bool) -> Vec<usize> {
        let calls = self.calls.iter().enumerate();
        calls
            .filter(|(_, call)| is(&call.status))
            .map(|(at, _)| at)
            .collect()
    }

    pub(crate) fn place(&self, is: impl Fn(&CallStatus) -> bool) -> Option<usize> {
        self.calls.iter().position(|call| is(&call.status))
    }

    /// Tells whether the call at `next` may begin while those at `running` go on.
    pub(crate) fn may_overlap(&self, running: &[usize], next: usize) -> bool {
        let reads = |at: &usize| {
            self.calls
                .get(*at)
                .is_some_and(|call| call.status == CallStatus::Running { reads: true })
        };
        let next = self.calls.get(next);
        running.iter().all(reads) && next.is_some_and(|call| call.reads)
    }
}
