//! The phase Act: calls a model, processes its message, and judges its result.

use super::{End, Work};
use crate::{
    attempt::{
        CallStatus, FinishReason, MessageCall, MessageCallKind, ModelMessage, PendingCall,
        Submission,
    },
    command::CALLS_MAX,
    decide::{carry::spent, transitions::state_of},
    event::{CallRecord, Cause, Event, Passing},
    machine::Ending,
    names::{CallId, Digest, FramePath},
    refusal::{Code, Refusal},
    stage::{SPENT, is_spent},
};

/// Reminder for a model that calls nothing.
const COMPLETION: &str = "completion";
/// Reminder for a model whose message was cut.
const CUT: &str = "cut";
/// Reminder for a model that sent an empty message.
const EMPTY: &str = "empty";
/// Reminder for a model whose answer does not match its schema.
const ANSWER: &str = "answer";

impl Work<'_> {
    /// Records that a model is called, unless the run has spent its budget.
    pub(super) fn call_model(
        &mut self,
        path: &FramePath,
        provider: &str,
        model: &str,
        request: &Digest,
    ) -> Result<(), Refusal> {
        let (.., progress) = self.progress(path)?;
        if !progress.calls.is_empty() {
            return Err(Refusal::new(
                Code::NothingPending,
                "the calls of the last message come first",
            ));
        }
        if progress
            .again_ms
            .is_some_and(|again_ms| self.at_ms < again_ms)
        {
            return Err(Refusal::new(
                Code::NothingPending,
                "the model is not called again yet",
            ));
        }
        let turn = progress.turns.saturating_add(1);
        if is_spent(self.machine, &self.run) {
            return self.exit(path, End::failed("budget", SPENT));
        }
        self.emit(Event::ModelCalled {
            path: path.clone(),
            turn,
            provider: provider.to_owned(),
            model: model.to_owned(),
            digest: request.clone(),
        });
        Ok(())
    }

    /// Handles a failed model call: the attempt ends with it.
    pub(super) fn model_failed(
        &mut self,
        path: &FramePath,
        code: &str,
        message: &str,
        passing: Option<Passing>,
    ) -> Result<(), Refusal> {
        let (frame, machine, stage, progress) = self.progress(path)?;
        let turn = progress.turns.saturating_add(1);
        let tries = progress.failed.saturating_add(1);
        let cause = Cause {
            passing,
            ..Cause::new(code, message)
        };
        let retry = state_of(machine, frame)?.retry.as_ref();
        let wait = retry.filter(|_| stage.repeats_calls()).and_then(|retry| {
            let place = format!("{}/{path}/{turn}/{tries}", self.run.id);
            let wait = retry.next_wait(tries, &cause)?;
            Some(wait.saturating_add(retry.jitter_ms(&place, self.at_ms)))
        });
        let again_ms = wait.map(|wait| self.at_ms.saturating_add(wait));
        self.emit(Event::ModelFailed {
            path: path.clone(),
            turn,
            code: code.to_owned(),
            message: message.to_owned(),
            again_ms,
        });
        if again_ms.is_some() {
            return Ok(());
        }
        self.exit(path, End::failed(code, &spent(cause, tries).message))
    }

    /// Handles a complete message.
    pub(super) fn take_message(
        &mut self,
        path: &FramePath,
        message: &ModelMessage,
    ) -> Result<(), Refusal> {
        let (frame, _, _, progress) = self.progress(path)?;
        if !progress.calling {
            return Err(Refusal::new(Code::NothingPending, "no model was called"));
        }
        let turn = progress.turns.saturating_add(1);
        let reminded = progress.reminded;
        let attempt = frame.stay.attempt();
        // Branches of one fork are entered at once: only their paths tell their calls apart.
        let place = if *path == FramePath::root() {
            String::new()
        } else {
            format!("{path}/")
        };
        let prefix = format!("{place}s{}.{attempt}.t{turn}", frame.stay.entered_seq);
        let calls: Vec<PendingCall> = message
            .calls
            .iter()
            .enumerate()
            .map(|(at, call)| pending_call(&prefix, at, call))
            .collect();
        let none = calls.is_empty();
        self.emit(Event::ModelResponded {
            path: path.clone(),
            turn,
            digest: message.digest.clone(),
            finish: message.finish,
            calls,
            usage: message.usage,
            ms: message.ms,
        });
        if message.finish == FinishReason::Refused {
            let text = "the provider refused to answer";
            return self.exit(path, End::failed("model_refused", text));
        }
        if !none {
            return self.go_on(path);
        }
        match (self.ending(path)?, &message.answer) {
            (Ending::Answer { again_max, .. }, Some(answer)) => {
                self.take_answer(path, turn, answer, again_max)
            }
            (Ending::Answer { .. }, None) if reminded => self.exit(
                path,
                End::failed("model_error", "the model answered nothing, twice"),
            ),
            (Ending::Answer { .. }, None) => self.end_turn(path, turn, EMPTY),
            (Ending::Tool { name, .. }, _) if reminded => {
                let text = format!("the model did not call `{name}`, although it was reminded");
                self.exit(path, End::failed("no_completion", &text))
            }
            (Ending::Tool { .. }, _) => {
                let cut = message.finish == FinishReason::Length;
                self.end_turn(path, turn, if cut { CUT } else { COMPLETION })
            }
        }
    }

    fn ending(&self, path: &FramePath) -> Result<Ending, Refusal> {
        self.progress(path)
            .map(|(_, _, stage, _)| stage.ending.clone())
    }

    /// Judges an answer that ends the stage without a call.
    fn take_answer(
        &mut self,
        path: &FramePath,
        turn: u32,
        answer: &Submission,
        again_max: u32,
    ) -> Result<(), Refusal> {
        if answer.findings.is_empty() {
            self.emit(Event::CompletionAccepted {
                path: path.clone(),
                call: None,
                digest: Digest::of(answer.payload.to_string()),
            });
            self.emit_turn(path, turn, "");
            return self.assert_and_exit(path, &answer.payload);
        }
        let (.., progress) = self.progress(path)?;
        let refused = progress.refused;
        self.emit(Event::CompletionRejected {
            path: path.clone(),
            call: None,
            findings: answer.findings.clone(),
        });
        if refused >= again_max {
            let text = format!(
                "the answer did not match its schema {} times: {}",
                u64::from(refused) + 1,
                answer.findings.join("; ")
            );
            return self.exit(path, End::failed(Code::SchemaInvalid.as_str(), &text));
        }
        self.end_turn(path, turn, ANSWER)
    }

    /// Processes the calls of the last message as far as possible without a person or a tool.
    pub(super) fn go_on(&mut self, path: &FramePath) -> Result<(), Refusal> {
        loop {
            let (.., progress) = self.progress(path)?;
            let open = progress.calls.iter().find(|call| {
                !matches!(call.status, CallStatus::Settled | CallStatus::Completion(_))
            });
            let Some(call) = open.cloned() else {
                return self.judge_completions(path);
            };
            let CallStatus::Fault(refusal) = call.status.clone() else {
                return Ok(());
            };
            let call = CallRecord {
                id: call.id,
                tool: call.tool,
                digest: call.digest,
                summary: String::new(),
                agent: None,
            };
            self.deny(path, call, "stage", refusal);
        }
    }

    /// Judges the submitted results, once all other calls are settled.
    fn judge_completions(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (.., progress) = self.progress(path)?;
        let turn = progress.turns;
        let handed: Vec<(PendingCall, Submission)> = progress
            .calls
            .iter()
            .filter_map(|call| match &call.status {
                CallStatus::Completion(handed) => Some((call.clone(), handed.clone())),
                _ => None,
            })
            .collect();
        let mut accepted = None;
        for (call, handed) in handed {
            if accepted.is_none() && handed.findings.is_empty() {
                self.emit(Event::CompletionAccepted {
                    path: path.clone(),
                    call: Some(call.id),
                    digest: call.digest,
                });
                accepted = Some(handed.payload);
            } else {
                self.emit(Event::CompletionRejected {
                    path: path.clone(),
                    call: Some(call.id),
                    findings: handed.findings,
                });
            }
        }
        match accepted {
            Some(payload) => {
                self.emit_turn(path, turn, "");
                self.assert_and_exit(path, &payload)
            }
            None => self.end_turn(path, turn, ""),
        }
    }

    fn emit_turn(&mut self, path: &FramePath, turn: u32, reminder: &str) {
        let calls = self
            .progress(path)
            .map_or(0, |(.., progress)| progress.calls.len());
        self.emit(Event::TurnEnded {
            path: path.clone(),
            n: turn,
            calls: u32::try_from(calls).unwrap_or(u32::MAX),
            reminder: reminder.to_owned(),
        });
    }

    /// Ends a turn that has not ended the stage; the attempt continues within its limit.
    fn end_turn(&mut self, path: &FramePath, turn: u32, reminder: &str) -> Result<(), Refusal> {
        self.emit_turn(path, turn, reminder);
        let (_, _, stage, _) = self.progress(path)?;
        if turn < stage.turns_max {
            return Ok(());
        }
        let cap = stage.turns_max;
        let text = format!("{cap} messages were received and none ended the stage");
        let code = match stage.ending {
            Ending::Tool { .. } => "cap_hit",
            Ending::Answer { .. } => "turn_limit",
        };
        self.exit(path, End::failed(code, &text))
    }
}

fn pending_call(prefix: &str, at: usize, call: &MessageCall) -> PendingCall {
    let status = match &call.kind {
        _ if at >= CALLS_MAX => CallStatus::Fault(Refusal::new(
            Code::TooManyCalls,
            format!("a message may have {CALLS_MAX} calls: make fewer at once"),
        )),
        MessageCallKind::Tool { .. } => CallStatus::Waiting,
        MessageCallKind::Completion(handed) => CallStatus::Completion(handed.clone()),
        MessageCallKind::Fault(refusal) => CallStatus::Fault(refusal.clone()),
    };
    PendingCall {
        id: CallId::new(format!("{prefix}.c{}", at + 1)),
        tool: call.tool.clone(),
        digest: call.digest.clone(),
        reads: call.kind == MessageCallKind::Tool { reads: true },
        status,
    }
}
