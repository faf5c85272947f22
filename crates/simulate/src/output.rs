//! The line a simulation answers with.

use interlock_core::refusal::Code;
use interlock_view::Report;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// What a tool call is told.
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

/// What a call of a model's message is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallVerdict {
    /// The tool.
    pub tool: String,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Why not.
    pub code: Option<Code>,
    /// One sentence for the model.
    pub message: String,
}

/// What the model of an agent under way is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelPrompt {
    /// The shown path of the agent's state.
    pub path: String,
    /// The system prompt.
    pub system: String,
    /// The task.
    pub task: String,
    /// The conversation before it: each message behind who said it, `person: …` or `model: …`.
    pub history: Vec<String>,
}

/// What a run with a conversation has to say beside its report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Talk {
    /// What each agent under way is told, in the order of the lines.
    pub told: Vec<ModelPrompt>,
    /// What is not as the workflow wants it, and what was done about it: the code, then a sentence.
    pub notes: Vec<String>,
    /// The result, once there is one.
    pub result: Option<Value>,
}

/// The answer to one line; serialises with its keys in the order of the contract.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputLine {
    /// Whether it was neither denied nor rejected.
    pub ok: bool,
    /// The verdict; only of tool lines.
    pub verdict: Option<Verdict>,
    /// Why not.
    pub code: Option<Code>,
    /// One sentence for the agent.
    pub message: String,
    /// What became of each call of a model's message, in order; only of message lines.
    pub calls: Option<Vec<CallVerdict>>,
    /// Where the run stands after it.
    pub report: Report,
    /// What belongs to the conversation; `None`: the workflow has none.
    pub talk: Option<Talk>,
    /// The names of the events it added.
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
