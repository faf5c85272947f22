//! Converts the messages of a model to commands for the engine.

use interlock_core::{
    attempt::{FinishReason, MessageCall, MessageCallKind, ModelMessage, Submission, Usage},
    data::parse_output,
    machine::{Ending, ModelStage},
    names::Digest,
    refusal::{Code, Refusal},
};
use interlock_formats::{answer_findings, answer_schema};
use interlock_models::{Answer, Call};
use interlock_tools::{ArgumentError, Arguments, Deed, Tool};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{place::Stages, texts};

/// The context for parsing a message.
pub(super) struct Reader<'a> {
    pub(super) stage: &'a ModelStage,
    /// Schema of its answer, if that is a text with holes.
    pub(super) schema_text: Option<String>,
    /// Tools that exist for any stage of the run; `None` for all.
    pub(super) of_run: Option<&'a [String]>,
    pub(super) stages: &'a Stages,
}

/// Meaning of a model's call, and its arguments if it can be judged.
pub(super) struct ReadCall {
    pub(super) call: MessageCall,
    pub(super) arguments: Option<Arguments>,
}

impl Reader<'_> {
    /// Parses a message.
    pub(super) fn message(
        &self,
        answer: &Answer,
        digest: Digest,
        usage: Usage,
        ms: u64,
    ) -> ModelMessage {
        ModelMessage {
            digest,
            finish: finish(answer.finish),
            calls: answer.calls().map(|call| self.call(call).call).collect(),
            answer: self.answer(answer),
            usage,
            ms,
        }
    }

    /// Interprets one call.
    pub(super) fn call(&self, call: &Call) -> ReadCall {
        let read = Arguments::read(&call.arguments);
        let digest = match &read {
            Ok(arguments) => arguments.digest().clone(),
            Err(_) => sha256(&call.arguments),
        };
        let kind = if call.incomplete {
            fault(Code::InvalidArguments, texts::CUT_CALL.to_owned())
        } else {
            self.kind(call, read.as_ref())
        };
        let is_tool = matches!(kind, MessageCallKind::Tool { .. });
        ReadCall {
            call: MessageCall {
                tool: call.name.clone(),
                digest,
                kind,
            },
            arguments: read.ok().filter(|_| is_tool),
        }
    }

    fn kind(&self, call: &Call, read: Result<&Arguments, &ArgumentError>) -> MessageCallKind {
        if let Ending::Tool { name, schema } = &self.stage.ending
            && *name == call.name
        {
            return MessageCallKind::Completion(handed(read, schema));
        }
        let Some(schema) = self.schema(&call.name) else {
            let message = format!("there is no tool `{}` here", one_line(&call.name));
            return fault(Code::UnknownTool, message);
        };
        let arguments = match read {
            Ok(arguments) => arguments,
            Err(why) => return fault(Code::InvalidArguments, why.to_string()),
        };
        let faults = arguments.faults(&schema);
        if faults.is_empty() {
            let tool = Tool::named(&self.stages.tools, &call.name);
            return MessageCallKind::Tool {
                reads: tool.is_some_and(|tool| tool.deed() == Deed::Reads),
            };
        }
        fault(Code::InvalidArguments, ArgumentError::sentence(&faults))
    }

    /// Returns the schema of a tool that exists for this run.
    fn schema(&self, name: &str) -> Option<Value> {
        let (spec, there) = self.stages.spec(name)?;
        let exists = self.of_run.is_none_or(|tools| there.is_of(tools));
        exists.then_some(spec.schema)
    }

    /// Parses the text of a message as an answer, if the stage ends with one.
    fn answer(&self, answer: &Answer) -> Option<Submission> {
        let Ending::Answer { .. } = &self.stage.ending else {
            return None;
        };
        let schema = self.enforced_schema();
        let text = answer.text();
        if text.trim().is_empty() {
            return None;
        }
        let Some(schema) = schema else {
            return Some(Submission {
                payload: Value::String(text),
                findings: Vec::new(),
            });
        };
        Some(found(&text, &schema))
    }

    /// Returns the schema that an answer must match.
    fn enforced_schema(&self) -> Option<Value> {
        match &self.stage.ending {
            Ending::Answer {
                schema: Some(schema),
                ..
            } => Some(schema.clone()),
            _ => self.schema_text.as_deref().and_then(answer_schema),
        }
    }

    /// Returns the schema of an answer as shown to the model.
    pub(super) fn shown_schema(&self) -> Option<String> {
        match &self.stage.ending {
            Ending::Answer {
                schema: Some(schema),
                ..
            } => Some(schema.to_string()),
            _ => self.schema_text.clone(),
        }
    }
}

/// Checks a submission.
fn handed(read: Result<&Arguments, &ArgumentError>, schema: &Value) -> Submission {
    match read {
        Ok(arguments) => Submission {
            payload: arguments.value().clone(),
            findings: arguments
                .faults(schema)
                .iter()
                .map(ArgumentError::to_string)
                .collect(),
        },
        Err(why) => Submission {
            payload: Value::Null,
            findings: vec![why.to_string()],
        },
    }
}

/// Extracts the JSON from an answer that may be surrounded by prose, and checks it.
fn found(text: &str, schema: &Value) -> Submission {
    let parsed = parse_output(text);
    if parsed.is_string() && serde_json::from_str::<Value>(text.trim()).is_err() {
        return Submission {
            payload: Value::Null,
            findings: vec!["at `/`: there is no JSON in the answer".to_owned()],
        };
    }
    Submission {
        findings: answer_findings(&parsed, schema),
        payload: parsed,
    }
}

pub(crate) const fn finish(finish: interlock_models::FinishReason) -> FinishReason {
    use interlock_models::FinishReason as OfModel;
    match finish {
        OfModel::ToolCalls => FinishReason::ToolCalls,
        OfModel::Stop => FinishReason::Stop,
        OfModel::Length => FinishReason::Length,
        OfModel::Refused => FinishReason::Refused,
        OfModel::Error => FinishReason::Error,
    }
}

fn fault(code: Code, message: String) -> MessageCallKind {
    MessageCallKind::Fault(Refusal::new(code, message))
}

fn one_line(text: &str) -> String {
    interlock_facts::one_line(text, 80)
}

/// Returns the lower-case hexadecimal SHA-256 of a text.
pub(crate) fn sha256(text: &str) -> Digest {
    let bytes = Sha256::digest(text.as_bytes());
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Digest::new(hex)
}
