//! Model stages: what a model is given, what it must hand in, and what bounds it.

use interlock_expr::text::Text;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::guard::GuardRef;

/// The first message of a transcript.
pub const BEGIN: &str = "Begin.";

/// A model that works through one fresh transcript, bounded by the policy of its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelStage {
    /// The system prompt; holes are filled from the context when an attempt begins.
    pub body: Text,
    /// What the model is told first, where that is no plain [`BEGIN`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text>,
    /// Whether it takes part in the conversation of the run.
    ///
    /// It then sees what was said so far, its body is sent as it is, and a
    /// model call that fails is made again, on the same transcript, as often
    /// as the state's [`crate::machine::Retry`] says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
    /// How it says that it is done.
    pub ending: Ending,
    /// Messages of the model in one attempt; from 1.
    pub turns_max: u32,
    /// Guards over the context, read before the first model call; one that fails: the stage is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<GuardRef>,
    /// Guards over what was handed in, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assert: Vec<Assertion>,
    /// What the provider is told beside; what it lacks is left out.
    #[serde(default, skip_serializing_if = "ModelOptions::is_default")]
    pub options: ModelOptions,
    /// Bytes of one tool result that the model is shown; `None`: as in [`StageRules`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// Wall clock of one attempt in milliseconds, waiting for people not counted; `None`: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// How a model says that it is done. Schemas are checked by whoever carries the stage out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It calls a tool with what it hands in.
    Tool {
        /// The tool; never the name of another one.
        name: String,
        /// JSON Schema of its arguments.
        schema: Value,
    },
    /// It answers without a call.
    Answer {
        /// JSON Schema of the answer; `None`: any text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// The schema as a text with holes, where there is no `schema`; filled for each message.
        ///
        /// One that comes to no JSON Schema is shown to the model and not enforced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema_text: Option<Text>,
        /// How often it is told what does not fit before the stage fails.
        again_max: u32,
    },
}

impl ModelStage {
    /// Tells whether a call of its model that failed is made again within the attempt, whose transcript stays.
    #[must_use]
    pub const fn repeats_calls(&self) -> bool {
        self.history
    }

    /// Returns the tool that ends the stage.
    #[must_use]
    pub fn completion_tool(&self) -> Option<&str> {
        match &self.ending {
            Ending::Tool { name, .. } => Some(name),
            Ending::Answer { .. } => None,
        }
    }
}

/// A guard over what a stage handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assertion {
    /// What must hold.
    pub guard: GuardRef,
    /// What follows when it does not.
    #[serde(default, rename = "else")]
    pub otherwise: Otherwise,
    /// Why, for people; empty: the guard says so itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What follows when an assertion does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// The stage has failed.
    #[default]
    Fail,
    /// Another attempt, while there is one.
    Retry,
    /// The stage counts as skipped.
    Skip,
}

/// What a provider is told beside the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelOptions {
    /// Sampling temperature, a decimal number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Value>,
    /// Tokens of one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// How hard to think, as the workflow writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Value>,
}

impl ModelOptions {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What holds for all model stages of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageRules {
    /// What becomes of calls in stages that list no tools, as the workflow has it; `None`: it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Keys that pass in mode `allowlist`; `*` any text, `?` one character.
    pub allowlist: Vec<String>,
    /// The tools that exist for any stage; `None`: all there are.
    pub tools: Option<Vec<String>>,
    /// Stages that run at the same time, from 1 to 64.
    pub at_once: usize,
    /// Attempts of all stages in one run.
    pub executions_max: u64,
    /// How long a request for a grant waits for a person, in milliseconds; `None`: for ever.
    pub grant_timeout_ms: Option<u64>,
    /// Bytes of one tool result that the model is shown.
    pub result_bytes: u64,
    /// What a run may spend on models.
    pub budget: Budget,
    /// The model of stages that name none, as `provider/model`.
    pub model: Option<String>,
}

impl Default for StageRules {
    fn default() -> Self {
        Self {
            mode: None,
            allowlist: Vec::new(),
            tools: None,
            at_once: 4,
            executions_max: 100,
            grant_timeout_ms: None,
            result_bytes: 30_000,
            budget: Budget::default(),
            model: None,
        }
    }
}

/// What becomes of a call in a stage that lists no tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It passes when its key is listed; nobody is asked.
    Allowlist,
    /// A person is asked once for each key of a run.
    #[default]
    Ask,
    /// It passes.
    Yolo,
}

/// The mode of one run, with all entries that count in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeRules {
    /// The mode.
    pub mode: Mode,
    /// Keys that pass in mode `allowlist`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

/// What a run may spend on models; once reached, no model is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// Money, in millionths of a millionth of a US dollar.
    pub pico_usd: Option<u64>,
}

/// A question that a person answers before a state begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalBefore {
    /// What the person is asked; holes are filled from the context.
    pub message: Text,
    /// What a no means.
    #[serde(default)]
    pub no: Refused,
}

/// What a person's no before a state means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// The state has failed with code `rejected`.
    #[default]
    Fails,
    /// The run is cancelled.
    Cancels,
}
