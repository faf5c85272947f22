//! Model stages, in which lines play the model's part.

use std::collections::BTreeMap;

use interlock_core::{
    Reply,
    attempt::{CallStatus, FinishReason, MessageCall, ModelMessage, Submission, Usage},
    command::{AvailableTool, CommandKind, StageCommand},
    data::parse_output,
    event::{Cause, Event},
    machine::{Ending, ModelStage},
    names::{Digest, FramePath},
    place::{shown_path, stage_of},
    refusal::{Code, Refusal},
    stage::{Step, step},
    substance::Checked,
};
use serde_json::Value;

use super::{Simulation, names, proposals, verdicts, wording};
use crate::{
    calls,
    input::{MessageLine, ResultLine, ToolLine},
    output::{CallVerdict, OutputLine, Verdict},
};

/// The open parts of stages.
#[derive(Debug, Clone, Default)]
pub(super) struct Stages {
    /// The calls of the last message of each frame.
    pub(super) messages: BTreeMap<FramePath, Vec<ToolLine>>,
    /// Frame whose last call has no outcome yet.
    open: Option<FramePath>,
}

impl Stages {
    /// Returns whether a call of a stage has no outcome yet.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

impl Simulation {
    /// Begins every stage that the run has entered and has room for.
    pub(super) fn begin_stages(&mut self) -> Vec<&'static str> {
        let mut log = Vec::new();
        let at_once = self.machine.stages.clone().unwrap_or_default().at_once;
        loop {
            let leaves = self.run.open_leaves();
            let at_work = leaves
                .iter()
                .filter(|path| {
                    self.run
                        .frame(path)
                        .is_some_and(|frame| frame.stay.stage_attempt().is_some())
                })
                .count();
            let next = leaves
                .into_iter()
                .find(|path| step(&self.machine, &self.run, path) == Some(Step::Begin));
            let Some(path) = next.filter(|_| at_work < at_once.max(1)) else {
                log.extend(self.condense());
                return log;
            };
            let tools = self.tools_there();
            let tools = tools.iter().map(|name| AvailableTool::own(name)).collect();
            let events = self.ask_stage(&path, StageCommand::Begin { tools }).1;
            if events.is_empty() {
                return log;
            }
            log.extend(names(&events));
        }
    }

    /// Condenses every conversation that is too long, with a placeholder text.
    fn condense(&mut self) -> Vec<&'static str> {
        let leaves = self.run.open_leaves().into_iter();
        let due: Vec<FramePath> = leaves
            .filter(|path| step(&self.machine, &self.run, path) == Some(Step::Condense))
            .collect();
        let mut log = Vec::new();
        for path in due {
            let command = StageCommand::Condensed {
                summary: Some("(what was said so far)".to_owned()),
                model: "lines".to_owned(),
                usage: Usage::default(),
            };
            log.extend(names(&self.ask_stage(&path, command).1));
        }
        log
    }

    /// Answers a message of a model; returns `None` if the line is for no stage.
    pub(super) fn message(&mut self, line: MessageLine) -> OutputLine {
        match self.stage_named(line.branch.as_deref()) {
            Ok(Some(path)) => {
                let mut output = self.play(&path, line.calls);
                // A line without calls reports that.
                output.calls.get_or_insert_default();
                output
            }
            Ok(None) => self.refused(Refusal::new(
                Code::NothingPending,
                "no model stage waits for a message",
            )),
            Err(refusal) => self.refused(refusal),
        }
    }

    /// Answers a tool line as a message with this one call; returns `None` if it is for no stage.
    pub(super) fn propose_in_stage(&mut self, line: &ToolLine) -> Option<OutputLine> {
        let path = match self.stage_named(line.branch.as_deref()) {
            Ok(Some(path)) => path,
            Ok(None) => return None,
            Err(refusal) => return Some(self.refused(refusal)),
        };
        let mut output = self.play(&path, vec![line.clone()]);
        if let Some(call) = output.calls.take().and_then(|mut calls| calls.pop()) {
            output.verdict = call.verdict;
            output.message = call.message;
        }
        Some(output)
    }

    /// Treats a payload as the model's only completion; returns `None` if the line is for no stage.
    pub(super) fn hand_in(&mut self, named: Option<&str>, payload: &Value) -> Option<OutputLine> {
        let path = match self.stage_named(named) {
            Ok(Some(path)) => path,
            Ok(None) => return None,
            Err(refusal) => return Some(self.refused(refusal)),
        };
        let stage = self.stage_at(&path)?;
        if let Some(tool) = stage.completion_tool() {
            let tool = tool.to_owned();
            let mut output = self.play(
                &path,
                vec![ToolLine {
                    tool,
                    input: payload.clone(),
                    ..ToolLine::default()
                }],
            );
            if let Some(call) = output.calls.take().and_then(|mut calls| calls.pop()) {
                output.message = call.message;
            }
            return Some(output);
        }
        let Ending::Answer { schema, .. } = &stage.ending else {
            return None;
        };
        let payload = match (schema, payload) {
            (Some(_), Value::String(text)) => parse_output(text),
            _ => payload.clone(),
        };
        let findings = schema
            .as_ref()
            .map(|schema| proposals::findings(&payload, schema, false))
            .unwrap_or_default();
        let answer = Submission { payload, findings };
        let mut events = match self.call_model(&path) {
            Ok(events) => events,
            Err(refusal) => return Some(self.refused(refusal)),
        };
        events.extend(self.deliver(&path, Vec::new(), Some(answer)));
        Some(self.told(&path, events))
    }

    /// Treats a failure as that of a model call; returns `None` if the line is for no stage of a conversation.
    pub(super) fn model_fails(&mut self, named: Option<&str>, cause: &Cause) -> Option<OutputLine> {
        self.machine.conversation.as_ref()?;
        let path = match self.stage_named(named) {
            Ok(Some(path)) => path,
            Ok(None) => return None,
            Err(refusal) => return Some(self.refused(refusal)),
        };
        let mut events = match self.call_model(&path) {
            Ok(events) => events,
            Err(refusal) => return Some(self.refused(refusal)),
        };
        let code = cause.code.as_str().unwrap_or("model_error").to_owned();
        let command = StageCommand::ModelFailed {
            code,
            message: cause.message.clone(),
            passing: cause.passing,
        };
        events.extend(self.ask_stage(&path, command).1);
        Some(self.told(&path, events))
    }

    /// Records the outcome of the call that a line left open; returns `None` if there is none.
    pub(super) fn record_in_stage(&mut self, result: ResultLine) -> Option<OutputLine> {
        let path = self.stages.open.take()?;
        let wrote = result
            .wrote
            .iter()
            .filter_map(|path| calls::written(&self.setting, path).ok())
            .collect();
        let mut events = self.record_running(&path, &result, wrote);
        events.extend(self.go_on(&path));
        let mut output = self.told(&path, events);
        output.calls = None;
        Some(output)
    }

    /// Assumes success for an open call without an outcome.
    pub(super) fn settle_open_stage(&mut self) -> Vec<&'static str> {
        self.record_in_stage(ResultLine::default())
            .map(|output| output.log)
            .unwrap_or_default()
    }

    /// Continues every message whose calls a person's answer has allowed.
    pub(super) fn go_on_everywhere(&mut self) -> (Vec<CallVerdict>, Vec<&'static str>) {
        let paths: Vec<FramePath> = self.stages.messages.keys().cloned().collect();
        let mut events = Vec::new();
        for path in paths {
            events.extend(self.go_on(&path));
        }
        (verdicts::of(&events), names(&events))
    }

    fn play(&mut self, path: &FramePath, lines: Vec<ToolLine>) -> OutputLine {
        let mut events = match self.call_model(path) {
            Ok(events) => events,
            Err(refusal) => return self.refused(refusal),
        };
        let calls = lines
            .iter()
            .map(|line| self.taken_apart(path, line))
            .collect();
        self.stages.messages.insert(path.clone(), lines);
        events.extend(self.deliver(path, calls, None));
        events.extend(self.go_on(path));
        self.told(path, events)
    }

    fn call_model(&mut self, path: &FramePath) -> Result<Vec<Event>, Refusal> {
        let logged = matches!(
            step(&self.machine, &self.run, path),
            Some(Step::Model { logged: true, .. })
        );
        if logged {
            return Ok(Vec::new());
        }
        let command = StageCommand::CallModel {
            provider: "simulate".to_owned(),
            model: "lines".to_owned(),
            request: Digest::default(),
        };
        match self.ask_stage(path, command) {
            (Reply::Refused(refusal), _) => Err(refusal),
            (_, events) => Ok(events),
        }
    }

    fn deliver(
        &mut self,
        path: &FramePath,
        calls: Vec<MessageCall>,
        answer: Option<Submission>,
    ) -> Vec<Event> {
        let finish = if calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        let message = ModelMessage {
            digest: Digest::default(),
            finish,
            calls,
            answer,
            usage: Usage::default(),
            ms: 0,
        };
        self.ask_stage(path, StageCommand::Message(Box::new(message)))
            .1
    }

    /// Judges the calls of the last message and ends them successfully; the last one may stay open for a line.
    fn go_on(&mut self, path: &FramePath) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let before = events.len();
            match step(&self.machine, &self.run, path) {
                Some(Step::Propose(at)) => {
                    let Some(call) = self.call_at(path, at) else {
                        return events;
                    };
                    let command = StageCommand::Propose(Box::new(call));
                    events.extend(self.ask_stage(path, command).1);
                }
                Some(Step::Run(_)) if self.is_last(path) => {
                    self.stages.open = Some(path.clone());
                    return events;
                }
                Some(Step::Run(_)) => {
                    let hoped = ResultLine::default();
                    events.extend(self.record_running(path, &hoped, Vec::new()));
                }
                _ => return events,
            }
            if events.len() == before {
                return events;
            }
        }
    }

    /// Returns whether one call is running and no other call of its message waits for its end.
    fn is_last(&self, path: &FramePath) -> bool {
        let progress = self
            .run
            .frame(path)
            .and_then(|frame| frame.stay.stage_attempt());
        let Some(progress) = progress else {
            return false;
        };
        let running = |status: &CallStatus| matches!(status, CallStatus::Running { .. });
        let mut unsettled = progress
            .calls
            .iter()
            .filter(|call| call.status != CallStatus::Settled);
        unsettled.next().is_some_and(|call| running(&call.status)) && unsettled.next().is_none()
    }

    fn record_running(
        &mut self,
        path: &FramePath,
        result: &ResultLine,
        wrote: Vec<interlock_core::call::WrittenPath>,
    ) -> Vec<Event> {
        let running = self
            .run
            .frame(path)
            .and_then(|frame| frame.stay.stage_attempt())
            .and_then(|progress| {
                progress
                    .calls
                    .iter()
                    .find(|call| matches!(call.status, CallStatus::Running { .. }))
            });
        let Some(id) = running.map(|call| call.id.clone()) else {
            return Vec::new();
        };
        let mut outcome = result
            .clone()
            .into_result(wrote, Vec::new(), Checked::default());
        outcome.id = Some(id);
        let command = StageCommand::Record {
            code: (!outcome.ok).then(|| "failed".to_owned()),
            result: outcome,
            ms: 0,
            told: Digest::default(),
        };
        self.ask_stage(path, command).1
    }

    fn ask_stage(&mut self, path: &FramePath, command: StageCommand) -> (Reply, Vec<Event>) {
        let attempt = self
            .run
            .frame(path)
            .and_then(|frame| frame.stay.effect())
            .map_or(1, |effect| effect.attempt);
        let decision = self.command(CommandKind::Stage {
            path: path.clone(),
            attempt,
            command,
        });
        (decision.reply, decision.events)
    }

    pub(super) fn stage_at(&self, path: &FramePath) -> Option<&ModelStage> {
        stage_of(&self.machine, self.run.frame(path)?)
    }

    /// Finds the stage that a line is for; `None` if no model is awaited there.
    fn stage_named(&self, named: Option<&str>) -> Result<Option<FramePath>, Refusal> {
        let stages: Vec<FramePath> = self
            .run
            .open_leaves()
            .into_iter()
            .filter(|path| self.stage_at(path).is_some())
            .collect();
        if let Some(named) = named {
            let is_named = |path: &&FramePath| {
                path.to_string() == named
                    || shown_path(&self.machine, &self.run, path) == named
                    || path.names().last().is_some_and(|last| last == named)
            };
            return Ok(stages.iter().find(is_named).cloned());
        }
        let awaited = |path: &&FramePath| {
            matches!(
                step(&self.machine, &self.run, path),
                Some(Step::Model { .. } | Step::Wait(_))
            )
        };
        let mut meant = stages.iter().filter(awaited);
        match (meant.next(), meant.next()) {
            (Some(path), None) => Ok(Some(path.clone())),
            (Some(_), Some(_)) => {
                let names: Vec<String> = stages
                    .iter()
                    .map(|path| shown_path(&self.machine, &self.run, path))
                    .collect();
                Err(Refusal::new(
                    Code::UnknownBranch,
                    format!(
                        "several stages wait for a message, name one with `branch`: {}",
                        names.join(", ")
                    ),
                ))
            }
            (None, _) => Ok(None),
        }
    }

    fn refused(&self, refusal: Refusal) -> OutputLine {
        let output = self.output(false, refusal.message, Vec::new(), None);
        OutputLine {
            code: Some(refusal.code),
            ..output
        }
    }

    /// Describes what happened to a message.
    fn told(&self, path: &FramePath, events: Vec<Event>) -> OutputLine {
        let calls = verdicts::of(&events);
        let denied = calls
            .iter()
            .find(|call| call.verdict == Some(Verdict::Deny) && call.code.is_some());
        let said = match (denied, failed_attempt(&events)) {
            (Some(call), _) => call.message.clone(),
            (None, Some(failed)) => failed,
            (None, None) => wording::accepted(
                &self.machine,
                &self.run,
                &events,
                "the message was taken".to_owned(),
            ),
        };
        let code = denied.and_then(|call| call.code);
        let output = self.output(denied.is_none(), said, names(&events), Some(path));
        OutputLine {
            code,
            calls: Some(calls).filter(|calls| !calls.is_empty()),
            ..output
        }
    }
}

/// Describes why an attempt ended without success; `None` if none did.
fn failed_attempt(events: &[Event]) -> Option<String> {
    events.iter().find_map(|event| match event {
        Event::StageExited {
            stage,
            attempt,
            error: Some(cause),
            ..
        } => {
            let code = cause.code.as_str().unwrap_or_default();
            Some(format!(
                "attempt {attempt} of `{stage}` ended with {code}: {}",
                cause.message
            ))
        }
        _ => None,
    })
}
