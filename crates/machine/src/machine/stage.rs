//! Model stages: a model's input, its required result, and its limits.

use interlock_expr::text::Text;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{defaults::is_default, guard::GuardRef};

/// First message of a transcript.
pub const BEGIN: &str = "Begin.";

/// A model that works through one fresh transcript, bounded by the policy of its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelStage {
    /// System prompt; holes are filled from the context when an attempt begins.
    pub body: Text,
    /// First message to the model; `None`: [`BEGIN`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text>,
    /// Whether the stage takes part in the conversation of the run.
    ///
    /// The model then sees the conversation so far, and the body is sent without filling holes. A failed
    /// model call is repeated on the same transcript, as often as the state's
    /// [`crate::machine::Retry`] permits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
    /// How the model ends the stage.
    pub ending: Ending,
    /// Limit of model messages in one attempt, from 1.
    pub turns_max: u32,
    /// Guards over the context before the first model call; if one fails, the stage is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<GuardRef>,
    /// Guards over the submitted result, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assert: Vec<Assertion>,
    /// Options for the provider; unsupported ones are left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: ModelOptions,
    /// Bytes of a tool result shown to the model; `None`: as in [`StageRules`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// Time limit of one attempt in milliseconds, not counting waits for people; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// How a model ends a stage. The runner checks schemas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It calls a tool with its result.
    Tool {
        /// Name of the tool, which no other tool has.
        name: String,
        /// JSON Schema of the arguments.
        schema: Value,
    },
    /// It answers without a call.
    Answer {
        /// JSON Schema of the answer; `None`: any text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// Schema as text with holes, if there is no `schema`; filled for each message.
        ///
        /// Text that is not a JSON Schema is shown to the model and not enforced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema_text: Option<Text>,
        /// How often an invalid answer is returned to the model before the stage fails.
        again_max: u32,
    },
}

impl ModelStage {
    /// Returns whether a failed model call is repeated within the attempt, keeping the transcript.
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

/// A guard over the result of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assertion {
    /// Guard that must hold.
    pub guard: GuardRef,
    /// What follows if it does not hold.
    #[serde(default, rename = "else")]
    pub otherwise: Otherwise,
    /// Message for people; empty: that of the guard.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What follows if an assertion does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// The stage fails.
    #[default]
    Fail,
    /// Another attempt starts, if any is left.
    Retry,
    /// The stage counts as skipped.
    Skip,
}

/// Options sent to a provider besides the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelOptions {
    /// Sampling temperature, a decimal number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Value>,
    /// Token limit of one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Thinking level as the workflow writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Value>,
}

/// Rules for all model stages of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageRules {
    /// Mode for calls in stages that list no tools; `None`: the workflow does not set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Keys allowed in mode `allowlist`; `*` matches any text, `?` one character.
    pub allowlist: Vec<String>,
    /// Tools available to stages; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Limit of stages that run at the same time, from 1 to 64.
    pub at_once: usize,
    /// Limit of stage attempts in one run.
    pub executions_max: u64,
    /// Time limit of a request for a grant, in milliseconds; `None`: none.
    pub grant_timeout_ms: Option<u64>,
    /// Bytes of a tool result shown to the model.
    pub result_bytes: u64,
    /// Budget of a run for models.
    pub budget: Budget,
    /// Model of stages that name none, as `provider/model`.
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

/// How calls are judged in a stage that lists no tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Listed keys are allowed, others are denied; nobody is asked.
    Allowlist,
    /// A person is asked once for each key in a run.
    #[default]
    Ask,
    /// Every call is allowed.
    Yolo,
}

/// Mode of a run with the keys it allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeRules {
    /// The mode.
    pub mode: Mode,
    /// Keys allowed in mode `allowlist`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

/// Budget of a run for models; once it is spent, no model is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Limit of tokens, input and output together.
    pub tokens: Option<u64>,
    /// Limit of cost, in picodollars (10⁻¹² US dollars).
    pub pico_usd: Option<u64>,
}

/// An approval that is needed before a state begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalBefore {
    /// Message shown to the person; holes are filled from the context.
    pub message: Text,
    /// What follows a rejection.
    #[serde(default)]
    pub no: Refused,
}

/// What follows if a person rejects the entry of a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// The state fails with code `rejected`.
    #[default]
    Fails,
    /// The run is cancelled.
    Cancels,
}
