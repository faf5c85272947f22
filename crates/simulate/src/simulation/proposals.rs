//! Calls of a model's messages, with the available tools.

use interlock_core::{
    attempt::{MessageCall, MessageCallKind, Submission},
    call::ToolCall,
    machine::{Activity, Ending, Machine},
    names::{CallId, Digest, FramePath},
    policy::wildcard_matches,
    refusal::{Code, Refusal},
};
use interlock_tools::{ArgumentError, Arguments, Deed, Tool};
use serde_json::Value;

use super::Simulation;
use crate::{calls, input::ToolLine};

impl Simulation {
    /// Creates the call at an index of the last message, with its facts.
    pub(super) fn call_at(&self, path: &FramePath, at: usize) -> Option<ToolCall> {
        let line = self.stages.messages.get(path)?.get(at)?;
        let progress = self.run.frame(path)?.stay.stage_attempt()?;
        let acted = progress.calls.get(at)?;
        let arguments = Arguments::of(line.input.clone()).ok()?;
        let mut call = match built_in(&line.tool) {
            Some(tool) => calls::built_in(&self.setting, line, tool, &arguments, &acted.id),
            None => calls::call(&self.setting, line, acted.id.to_string()),
        };
        call.id = CallId::new(acted.id.as_str());
        call.digest = acted.digest.clone();
        Some(call)
    }

    pub(super) fn taken_apart(&self, path: &FramePath, line: &ToolLine) -> MessageCall {
        let (digest, arguments) = match Arguments::of(line.input.clone()) {
            Ok(arguments) => (arguments.digest().clone(), Ok(arguments)),
            Err(fault) => (Digest::default(), Err(fault)),
        };
        let kind = match (arguments, self.stage_at(path).map(|stage| &stage.ending)) {
            (Err(fault), _) => fault_kind(Code::InvalidArguments, fault.to_string()),
            (Ok(arguments), Some(Ending::Tool { name, schema })) if *name == line.tool => {
                MessageCallKind::Completion(Submission {
                    findings: findings(arguments.value(), schema, true),
                    payload: arguments.value().clone(),
                })
            }
            (Ok(arguments), _) => self.tool_kind(line, &arguments),
        };
        MessageCall {
            tool: line.tool.clone(),
            digest,
            kind,
        }
    }

    fn tool_kind(&self, line: &ToolLine, arguments: &Arguments) -> MessageCallKind {
        if !self.tools_there().contains(&line.tool) {
            let message = format!("there is no tool `{}`", line.tool);
            return fault_kind(Code::UnknownTool, message);
        }
        let faults = built_in(&line.tool)
            .map(|tool| tool.faults(arguments))
            .unwrap_or_default();
        if faults.is_empty() {
            let tool = built_in(&line.tool);
            return MessageCallKind::Tool {
                reads: tool.is_some_and(|tool| tool.deed() == Deed::Reads),
            };
        }
        fault_kind(Code::InvalidArguments, ArgumentError::sentence(&faults))
    }

    /// Returns the available tools: the built-in ones, and those that the workflow names.
    pub(super) fn tools_there(&self) -> Vec<String> {
        let rules = self.machine.stages.clone().unwrap_or_default();
        let mut there: Vec<String> = Tool::PIPELINE
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect();
        let states = std::iter::once(&self.machine)
            .chain(self.machine.machines.values())
            .flat_map(|machine| machine.states.values());
        let listed = states
            .filter_map(|state| state.policy.allowed_tools.as_ref())
            .chain(rules.tools.as_ref())
            .flatten()
            .filter(|name| !name.contains('*') && !self.ends_a_stage(name));
        for name in listed {
            if !there.contains(name) {
                there.push(name.clone());
            }
        }
        if let Some(tools) = &rules.tools {
            there.retain(|name| tools.iter().any(|pattern| wildcard_matches(pattern, name)));
        }
        there
    }

    fn ends_a_stage(&self, name: &str) -> bool {
        let machines = std::iter::once(&self.machine).chain(self.machine.machines.values());
        machines
            .flat_map(|machine: &Machine| machine.states.values())
            .any(|state| match &state.activity {
                Activity::Stage(stage) => stage.completion_tool() == Some(name),
                _ => false,
            })
    }
}

/// Finds a built-in tool of any format.
fn built_in(name: &str) -> Option<Tool> {
    Tool::named(&Tool::PIPELINE, name).or_else(|| Tool::named(&Tool::CODEMIE, name))
}

fn fault_kind(code: Code, message: String) -> MessageCallKind {
    MessageCallKind::Fault(Refusal::new(code, message))
}

/// Returns what does not match a schema; a completion is always an object.
pub(super) fn findings(value: &Value, schema: &Value, object: bool) -> Vec<String> {
    if object && !value.is_object() {
        return vec!["an object is wanted".to_owned()];
    }
    interlock_tools::findings(value, schema)
        .iter()
        .map(ToString::to_string)
        .collect()
}
