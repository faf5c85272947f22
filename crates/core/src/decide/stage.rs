//! Model stages: the phases from Setup to Next.

mod calls;
mod end;
mod message;

use super::{Answered, Reply, Work, people::Asking, transitions::state_of};
use crate::{
    attempt::{StageAttempt, Usage},
    command::{AvailableTool, StageCommand, offered},
    conversation::{beside, complete_task, is_too_long, sent, text_fault},
    dialogue::Conversation,
    event::{About, Cause, Event, NoAnswer},
    evolve::UPSTREAM,
    fill::sources,
    holds::unmet,
    machine::{Machine, ModeRules, ModelStage, Object, StageRules},
    names::{Digest, FramePath},
    place::{item_title, stage_of},
    refusal::{Code, Refusal},
    run::{Entry, Frame, Run, RunningAt},
};
pub(in crate::decide) use end::End;
use interlock_expr::{
    template::UnrenderedBlock,
    text::{Beside, MissingInput, Sources, Text},
};
use serde_json::Value;
use std::fmt::Write as _;

/// Maximum size of a filled body in bytes.
const BODY_MAX: usize = 256 * 1024;

impl<'a> Work<'a> {
    /// Handles a command to the attempt of a stage.
    pub(super) fn stage(
        &mut self,
        path: &FramePath,
        attempt: u32,
        command: &StageCommand,
    ) -> Answered {
        self.open_and_going()?;
        self.path = path.clone();
        self.attempt_of(path, attempt)?;
        match command {
            StageCommand::Begin { tools } => self.begin_attempt(path, attempt, tools)?,
            StageCommand::CallModel {
                provider,
                model,
                request,
            } => self.call_model(path, provider, model, request)?,
            StageCommand::Message(message) => self.take_message(path, message)?,
            StageCommand::ModelFailed {
                code,
                message,
                passing,
            } => self.model_failed(path, code, message, *passing)?,
            StageCommand::Condensed {
                summary,
                model,
                usage,
            } => self.condensed(path, summary.as_deref(), model, *usage)?,
            StageCommand::Propose(call) => return self.propose_in_stage(path, call),
            StageCommand::Record {
                result,
                code,
                ms,
                told,
            } => self.record_in_stage(path, result, code.as_deref(), *ms, told)?,
            StageCommand::CloseGrant { why } => self.close_grant(path, *why)?,
            StageCommand::End { code, message } => self.exit(path, End::failed(code, message))?,
        }
        Ok(Reply::Accepted)
    }

    /// Refuses commands to an attempt other than the one in progress.
    fn attempt_of(&self, path: &FramePath, attempt: u32) -> Result<(), Refusal> {
        let frame = self.run.frame(path).filter(|_| self.is_open(path));
        let under_way = frame.is_some_and(|frame| {
            stage_of(self.machine, frame).is_some()
                && frame.stay.effect().is_some_and(|effect| {
                    effect.at == RunningAt::Started && effect.attempt == attempt
                })
        });
        if under_way {
            return Ok(());
        }
        Err(Refusal::new(
            Code::NothingPending,
            format!("attempt {attempt} of a stage is not running there"),
        ))
    }

    /// Returns the frame, its stage and the progress of its attempt.
    fn progress(
        &self,
        path: &FramePath,
    ) -> Result<(&Frame, &'a Machine, &'a ModelStage, &StageAttempt), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let stage = stage_of(self.machine, frame);
        match (stage, frame.stay.stage_attempt()) {
            (Some(stage), Some(progress)) => Ok((frame, machine, stage, progress)),
            _ => Err(Refusal::new(
                Code::NothingPending,
                "no attempt of a stage has begun there",
            )),
        }
    }

    /// Refuses data that would replace the results of stages.
    pub(super) fn refuse_upstream(&self, data: &Object) -> Result<(), Refusal> {
        if data.contains_key(UPSTREAM) && self.machine.has_stages() {
            return Err(Refusal::new(
                Code::InvalidArguments,
                format!(
                    "`{UPSTREAM}` contains the submissions of model stages and cannot be set otherwise"
                ),
            ));
        }
        Ok(())
    }

    /// Returns the rules for all stages.
    fn rules(&self) -> StageRules {
        self.machine.stages.clone().unwrap_or_default()
    }

    /// Returns the mode for calls in stages that list no tools.
    fn mode(&self) -> ModeRules {
        self.run.mode().cloned().unwrap_or_else(|| {
            let rules = self.rules();
            ModeRules {
                mode: rules.mode.unwrap_or_default(),
                allow: rules.allowlist,
            }
        })
    }

    /// Runs Setup and Init, then the gate.
    fn begin_attempt(
        &mut self,
        path: &FramePath,
        attempt: u32,
        there: &[AvailableTool],
    ) -> Result<(), Refusal> {
        let limit = self.rules().executions_max;
        if self.run.executions >= limit {
            let message =
                format!("the run has made {limit} attempts of stages, which is its limit");
            return self.end_uncaught(Cause::new(Code::LimitExceeded.as_str(), message));
        }
        let (frame, machine) = self.stand(path)?;
        let Some(stage) = stage_of(self.machine, frame) else {
            return Ok(());
        };
        if frame.stay.stage_attempt().is_some() {
            return Err(Refusal::new(Code::NothingPending, "the attempt has begun"));
        }
        let at = frame.at.clone();
        let policy = machine.states.get(&at).map(|state| &state.policy);
        let of_run = self.rules().tools;
        let (tools, missing) = offered(policy, stage.completion_tool(), of_run.as_deref(), there);
        self.emit(Event::StageEntered {
            path: path.clone(),
            stage: at,
            attempt,
            tools,
            missing,
            at_ms: self.at_ms,
        });
        let (body, mut left) = filled_text(self.machine, &self.run, path, &stage.body);
        let (task, more) = match &stage.task {
            Some(task) if stage.history => filled_text(self.machine, &self.run, path, task),
            _ => (Some(Ok(String::new())), Vec::new()),
        };
        left.extend(more);
        self.note_unfilled(path, left);
        let code = text_fault(self.machine);
        let body = match (body, task) {
            (Some(Ok(body)), Some(Ok(_))) => body,
            (Some(Err(why)), _) | (_, Some(Err(why))) => {
                return self.exit(path, End::failed(code, &why));
            }
            (None, _) | (_, None) => return Ok(()),
        };
        self.emit(Event::StageStarted {
            path: path.clone(),
            body: Digest::of(&body),
        });
        let (frame, machine) = self.stand(path)?;
        let scope = self.scope(machine, frame);
        if unmet(scope, &stage.gate).is_empty() {
            return Ok(());
        }
        self.exit(path, End::Skipped)
    }

    /// Ends the stage at `path` or its wait if a deadline has passed; tells whether it did.
    pub(super) fn stage_is_due(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        if self.run.paused.is_some() {
            return Ok(false);
        }
        let (frame, _) = self.stand(path)?;
        let Some((stage, progress)) = stage_of(self.machine, frame).zip(frame.stay.stage_attempt())
        else {
            return Ok(false);
        };
        let asked_ms = self
            .run
            .requests
            .iter()
            .find(|request| request.path == *path && request.is_of_stage())
            .map(|request| request.at_ms);
        if let Some(asked_ms) = asked_ms {
            // While a person is asked, the attempt's own time stands still.
            let limit = self.rules().grant_timeout_ms;
            let over = limit.is_some_and(|limit| self.at_ms.saturating_sub(asked_ms) >= limit);
            if over {
                self.close_grant(path, NoAnswer::Timeout)?;
            }
            return Ok(over);
        }
        let worked = self
            .at_ms
            .saturating_sub(progress.started_ms)
            .saturating_sub(progress.waited_ms);
        let Some(limit) = stage.timeout_ms.filter(|limit| worked >= *limit) else {
            return Ok(false);
        };
        let message = format!("the attempt took longer than {limit} ms");
        self.exit(path, End::failed("timeout", &message))?;
        Ok(true)
    }

    /// Asks a person before the state at `path` begins; tells whether it has to wait.
    pub(super) fn ask_before_entry(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let (frame, machine) = self.stand(path)?;
        if frame.stay.entry_request().is_some() {
            return Ok(true);
        }
        let state = state_of(machine, frame)?;
        let Some(before) = &state.approval_before else {
            return Ok(false);
        };
        if frame.stay.entry == Entry::Admitted {
            return Ok(false);
        }
        let filled = stage_text(self.machine, &self.run, path, &before.message);
        let message = match filled {
            Some(Ok(message)) if !message.is_empty() => message,
            _ => self.entry_question(path)?,
        };
        let rests_on = serde_json::json!([
            self.run.id,
            self.machine.hash,
            path,
            frame.at,
            frame.stay.entered_seq,
            message,
            frame.line.context,
            frame.line.dialogue,
        ]);
        let question = Digest::of(rests_on.to_string());
        let how = Asking::of(state.approval);
        self.ask(path, About::Entry { message }, question, how);
        Ok(true)
    }

    /// Returns the question asked before the state at `path` begins, if the workflow has none.
    fn entry_question(&self, path: &FramePath) -> Result<String, Refusal> {
        let (frame, machine) = self.stand(path)?;
        let state = item_title(self.machine, &self.run, path);
        let state = state.unwrap_or_else(|| machine.shown(&frame.at).to_string());
        let mut question = format!("may `{state}` begin?");
        if let Some(dialogue) = frame.line.dialogue.as_deref() {
            let given = Conversation::text_of(dialogue.given());
            let _ = write!(question, "\n\nThe output before:\n{given}");
        }
        if let Some(Ok(task)) = stage_task(self.machine, &self.run, path) {
            let _ = write!(question, "\n\nIts task:\n{task}");
        }
        Ok(question)
    }

    /// Handles the result of condensing the conversation of the region at `path`.
    fn condensed(
        &mut self,
        path: &FramePath,
        summary: Option<&str>,
        model: &str,
        usage: Usage,
    ) -> Result<(), Refusal> {
        let (frame, ..) = self.progress(path)?;
        if !is_too_long(self.machine, frame) {
            return Err(Refusal::new(
                Code::NothingPending,
                "the conversation is not too long",
            ));
        }
        self.emit(Event::HistoryCondensed {
            path: path.clone(),
            summary: summary.map(str::to_owned),
            model: model.to_owned(),
            usage,
        });
        Ok(())
    }
}

/// Names of the context keys that only a stage's texts see.
const OWN_NAMES: [&str; 3] = ["stage", "attempt", "run"];

/// Fills a text of the stage at `path` for its current attempt.
///
/// `None`: the run is not in that stage. The error is one clause.
#[must_use]
pub fn stage_text(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    text: &Text,
) -> Option<Result<String, String>> {
    filled_text(machine, run, path, text).0
}

/// Returns the first message to the model of the stage at `path`.
///
/// `None`: the run is not in that stage, or the stage has no task of its own. The error is one clause.
#[must_use]
pub fn stage_task(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
) -> Option<Result<String, String>> {
    let frame = run.frame(path)?;
    let stage = stage_of(machine, frame)?;
    let task = stage.task.as_ref()?;
    let filled = stage_text(machine, run, path, task)?;
    if !stage.history {
        return Some(filled);
    }
    Some(filled.map(|filled| complete_task(machine, run, frame, task, filled)))
}

/// Fills a text of a stage, and returns the blocks of templates that could not be filled.
fn filled_text(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    text: &Text,
) -> (Option<Result<String, String>>, Vec<UnrenderedBlock>) {
    let beside = beside(machine, run, path);
    let filled = fill_text(machine, run, path, text, beside.as_ref());
    let left = beside.map(|beside| beside.left.into_inner());
    (filled, left.unwrap_or_default())
}

fn fill_text(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    text: &Text,
    beside: Option<&Beside>,
) -> Option<Result<String, String>> {
    let frame = run.frame(path)?;
    let own = machine.called(frame.machine.as_ref())?;
    let attempt = frame.stay.attempt();
    let mut context: Object = frame.line.context.as_ref().clone();
    let values = [
        Value::from(own.shown(&frame.at).as_str()),
        Value::from(attempt),
        Value::from(run.id.as_str()),
    ];
    if beside.is_none() {
        for (name, value) in OWN_NAMES.iter().zip(values) {
            context.insert((*name).to_owned(), value);
        }
    }
    let filled = text.fill(&Sources {
        context: &context,
        beside,
        ..sources(frame, run.places())
    });
    Some(match filled {
        // In a conversation such a text comes from an output, and no workflow is wrong for it.
        Ok(body) if beside.is_some() => Ok(sent(machine, body)),
        Ok(body) if body.len() > BODY_MAX => Err(format!(
            "the body has {} bytes and {BODY_MAX} is the limit",
            body.len()
        )),
        Ok(body) => Ok(body),
        Err(MissingInput::Wrong(error)) => Err(error.reason),
        Err(MissingInput::File(file)) => Err(format!("`{file}` cannot be read here")),
    })
}
