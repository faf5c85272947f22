//! Output lines of a simulation.

use interlock_core::refusal::Code;
use interlock_view::Report;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// The verdict on a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not.
    Deny,
    /// A person has to grant it.
    Ask,
}

/// The verdict on a call of a model's message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallVerdict {
    /// The tool.
    pub tool: String,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Code of the refusal.
    pub code: Option<Code>,
    /// One sentence for the model.
    pub message: String,
}

/// The prompt of a running agent's model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelPrompt {
    /// Path of the agent's state, as shown to people.
    pub path: String,
    /// The system prompt.
    pub system: String,
    /// The task.
    pub task: String,
    /// Preceding conversation: each message after its sender, `person: …` or `model: …`.
    pub history: Vec<String>,
}

/// Additional output of a run with a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Talk {
    /// Prompts of the running agents, in the order of the regions.
    pub told: Vec<ModelPrompt>,
    /// Deviations from the workflow, and how they were handled: the code, then a sentence.
    pub notes: Vec<String>,
    /// The result, once there is one.
    pub result: Option<Value>,
}

/// The answer to one line, serialized with its keys in the documented order.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputLine {
    /// Whether it was neither denied nor rejected.
    pub ok: bool,
    /// The verdict; only of tool lines.
    pub verdict: Option<Verdict>,
    /// Code of the refusal.
    pub code: Option<Code>,
    /// One sentence for the agent.
    pub message: String,
    /// Verdicts on the calls of a model's message, in order; only for message lines.
    pub calls: Option<Vec<CallVerdict>>,
    /// State of the run after it.
    pub report: Report,
    /// Data of the conversation; `None` if the workflow has none.
    pub talk: Option<Talk>,
    /// Names of the events that it added.
    pub log: Vec<&'static str>,
}

impl Serialize for OutputLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ok", &self.ok)?;
        if let Some(verdict) = &self.verdict {
            map.serialize_entry("verdict", verdict)?;
        }
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("message", &self.message)?;
        if let Some(calls) = &self.calls {
            map.serialize_entry("calls", calls)?;
        }
        self.report.write_into(&mut map)?;
        if let Some(talk) = &self.talk {
            map.serialize_entry("told", &talk.told)?;
            map.serialize_entry("notes", &talk.notes)?;
            if let Some(result) = &talk.result {
                map.serialize_entry("result", result)?;
            }
        }
        map.serialize_entry("log", &self.log)?;
        map.end()
    }
}
