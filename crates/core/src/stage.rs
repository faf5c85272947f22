//! Model stages in motion: what they are asked, where an attempt stands, and what is to be done next.
//!
//! One attempt goes Setup, Init, Act, Assert, Exit, Next. [`step`] says what
//! whoever carries the stage out does next; it answers with a [`StageAsk`].

mod there;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::{CallResult, ToolCall},
    conversation::is_too_long,
    event::Passing,
    machine::{Activity, Machine, ModelStage},
    names::{CallId, Digest, FramePath},
    refusal::Refusal,
    run::{Frame, Run, RunningAt},
};

pub use there::ToolThere;
pub(crate) use there::offered;

/// Calls of one message that are looked at; the rest are answered with `too_many_calls`.
pub const CALLS_MAX: usize = 64;
/// The first message of a transcript.
pub const BEGIN: &str = "Begin.";

/// What the attempt of a stage is asked; [`crate::command::Ask::Stage`] names the frame.
#[derive(Debug, Clone, PartialEq)]
pub enum StageAsk {
    /// Setup and Init: these tools are there now.
    Begin {
        /// All tools of the run that are there, built-in ones too.
        tools: Vec<ToolThere>,
    },
    /// A model is about to be called.
    CallModel {
        /// The provider's name.
        provider: String,
        /// The model's name at that provider.
        model: String,
        /// Of what it is sent.
        request: Digest,
    },
    /// A message arrived whole.
    Message(Box<ModelMessage>),
    /// No message will come.
    ModelFailed {
        /// `model_error`, `model_refused`, `context_overflow`.
        code: String,
        /// One sentence, without secrets.
        message: String,
        /// Whether it may pass by itself.
        passing: Option<Passing>,
    },
    /// The conversation was condensed, or could not be.
    Condensed {
        /// The summary; `None`: there is none.
        summary: Option<String>,
        /// The model's name.
        model: String,
        /// What it cost.
        usage: Usage,
    },
    /// The next call of the message, with its facts.
    Propose(Box<ToolCall>),
    /// An allowed call ended.
    Record {
        /// What became of it.
        result: CallResult,
        /// The code of its failure.
        code: Option<String>,
        /// How long it took, in milliseconds.
        ms: u64,
        /// Of what the model is told.
        told: Digest,
    },
    /// Nobody will answer the open request for a grant.
    CloseGrant {
        /// Why.
        why: NoAnswer,
    },
    /// The attempt ends without the model: out of time, or unable to go on.
    End {
        /// `timeout`, `context_overflow`, `stage_invalid`, `model_error`.
        code: String,
        /// One sentence.
        message: String,
    },
}

/// Why nobody answers a request for a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoAnswer {
    /// Whoever was asked put it off.
    Deferred,
    /// The time for it is over.
    Timeout,
    /// Nobody is there to be asked.
    NoChannel,
}

impl NoAnswer {
    /// Returns the word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deferred => "deferred",
            Self::Timeout => "timeout",
            Self::NoChannel => "no_channel",
        }
    }
}

/// A message of a model, as the engine sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMessage {
    /// Of the whole message as it is kept beside the log.
    pub digest: Digest,
    /// Why it ended there.
    pub finish: Finish,
    /// Its calls, in order.
    pub calls: Vec<MessageCall>,
    /// Its text as an answer, where the stage ends with one; `None`: it has no text.
    pub answer: Option<Handed>,
    /// What it cost.
    pub usage: Usage,
    /// From request to end, in milliseconds.
    pub ms: u64,
}

/// What a model hands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handed {
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
    /// Of its arguments, in canonical JSON; of the text where that cannot be made.
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
    Completion(Handed),
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Acting {
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
    pub calls: Vec<ActedCall>,
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
pub struct ActedCall {
    /// Its id: turn and place, unique in the run.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// Of its arguments.
    pub digest: Digest,
    /// Whether its tool does nothing but read files of this machine, so that it may be judged while others like it run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// What became of it so far.
    pub fate: CallFate,
}

/// What became of a call of a message so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallFate {
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
    Completion(Handed),
    /// It cannot be judged at all; answered when its turn comes.
    Fault(Refusal),
}

/// What is to be done next for a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The tools that are there are to be told: [`StageAsk::Begin`].
    Begin,
    /// A model is to be called: [`StageAsk::CallModel`], then its end.
    Model {
        /// The number of the message to come, from 1.
        turn: u32,
        /// Whether the call is in the log already, and its end is not.
        logged: bool,
    },
    /// The conversation is too long, and is to be condensed first: [`StageAsk::Condensed`].
    Condense,
    /// The model is called again at this time, in milliseconds since 1970, and not before.
    Wait(u64),
    /// The call at this place of the last message is to be judged: [`StageAsk::Propose`].
    Propose(usize),
    /// The calls at these places run, or are to be run again after a crash: [`StageAsk::Record`].
    Run(Vec<usize>),
    /// A person is asked about the call at this place.
    Person(usize),
}

/// Returns what is to be done next for the stage of the frame at `path`; `None`: none is under way there.
#[must_use]
pub fn step(machine: &Machine, run: &Run, path: &FramePath) -> Option<Step> {
    let frame = run.frame(path)?;
    stage_of(machine, frame)?;
    let started = frame.effect.as_ref()?.at == RunningAt::Started;
    if !started || run.is_over() || frame.parked.is_some() || frame.held.is_some() {
        return None;
    }
    let Some(acting) = &frame.acting else {
        return Some(Step::Begin);
    };
    if let Some(at) = acting.place(|fate| matches!(fate, CallFate::Asked)) {
        return Some(Step::Person(at));
    }
    let running: Vec<usize> = acting.places(|fate| matches!(fate, CallFate::Running { .. }));
    let reading = acting.places(|fate| matches!(fate, CallFate::Running { reads: true }));
    let waiting = acting.place(|fate| matches!(fate, CallFate::Waiting));
    if !running.is_empty() {
        // Calls that only read may run beside each other; judged one after the other all the same.
        return Some(match waiting {
            Some(at) if acting.may_overlap(&running, at) => Step::Propose(at),
            // What may write runs alone, also behind calls that only read.
            _ if reading.is_empty() => Step::Run(running),
            _ => Step::Run(reading),
        });
    }
    if let Some(at) = waiting {
        return Some(Step::Propose(at));
    }
    let is_first = acting.turns == 0 && !acting.condensed && !acting.calling;
    // What the run may not spend on an answer, it may not spend on a summary either.
    if is_first && is_too_long(machine, frame) && !is_spent(machine, run) {
        return Some(Step::Condense);
    }
    if let Some(again_ms) = acting.again_ms {
        return Some(Step::Wait(again_ms));
    }
    Some(Step::Model {
        turn: acting.turns.saturating_add(1),
        logged: acting.calling,
    })
}

/// Tells whether the run has spent what it may on models.
pub(crate) fn is_spent(machine: &Machine, run: &Run) -> bool {
    let budget = machine.stages.as_ref().map(|rules| rules.budget);
    let budget = budget.unwrap_or_default();
    let money = run.spent.pico_usd;
    let most = |most: Option<u64>, spent: u64| most.is_some_and(|most| spent >= most);
    most(budget.tokens, run.spent.tokens())
        || money.is_some_and(|spent| most(budget.pico_usd, spent))
}

impl Acting {
    fn places(&self, is: impl Fn(&CallFate) -> bool) -> Vec<usize> {
        let calls = self.calls.iter().enumerate();
        calls
            .filter(|(_, call)| is(&call.fate))
            .map(|(at, _)| at)
            .collect()
    }

    fn place(&self, is: impl Fn(&CallFate) -> bool) -> Option<usize> {
        self.calls.iter().position(|call| is(&call.fate))
    }

    /// Tells whether the call at `next` may begin while those at `running` go on.
    fn may_overlap(&self, running: &[usize], next: usize) -> bool {
        let reads = |at: &usize| {
            self.calls
                .get(*at)
                .is_some_and(|call| call.fate == CallFate::Running { reads: true })
        };
        let next = self.calls.get(next);
        running.iter().all(reads) && next.is_some_and(|call| call.reads)
    }
}

/// Returns the stage that a frame stands in.
#[must_use]
pub fn stage_of<'m>(machine: &'m Machine, frame: &Frame) -> Option<&'m ModelStage> {
    let machine = machine.called(frame.machine.as_ref())?;
    match &machine.states.get(&frame.at)?.activity {
        Activity::Stage(stage) => Some(stage),
        _ => None,
    }
}

/// Names one attempt of a stage in a run: run, frame, state, entry and attempt.
#[must_use]
pub fn execution_id(run: &Run, path: &FramePath) -> String {
    let Some(frame) = run.frame(path) else {
        return String::new();
    };
    let attempt = frame.effect.as_ref().map_or(1, |effect| effect.attempt);
    let at = &frame.at;
    let seq = frame.entered_seq;
    if path.is_root() {
        format!("{}/{at}/{seq}.{attempt}", run.id)
    } else {
        format!("{}/{path}/{at}/{seq}.{attempt}", run.id)
    }
}
