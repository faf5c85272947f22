//! The reports of a runner about the states that it runs.

use interlock_core::{
    attempt::{
        CallStatus, FinishReason, MessageCall, MessageCallKind, ModelMessage, StageAttempt,
        Submission, Usage,
    },
    command::{
        ActivityOutcome, AvailableTool, CommandKind, Effect, EffectSettlement, EffectStatus,
        NodeCommand, StageCommand,
    },
    effects,
    event::{Cause, NoAnswer, Passing},
    machine::EffectKind,
    names::Digest,
    place::stage_of,
    refusal::{Code, Refusal},
    stage::{Step, step},
};
use serde_json::{Value, json};

use crate::sessions::session::Session;

impl Session<'_> {
    pub(crate) fn carried_out(&mut self) -> CommandKind {
        let all = effects(&self.machine, &self.run);
        let Some(effect) = self.dice.pick(&all).cloned() else {
            return if self.dice.one_in(2) {
                self.answered()
            } else {
                self.rare()
            };
        };
        match &effect.status {
            EffectStatus::Reading(files) => CommandKind::Supply {
                files: files
                    .iter()
                    .map(|file| {
                        let read = if self.dice.one_in(4) {
                            Err("absent".to_owned())
                        } else {
                            Ok("{\"x\": 1}".to_owned())
                        };
                        (file.clone(), read)
                    })
                    .collect(),
                path: effect.frame,
            },
            EffectStatus::Waiting(until) => {
                if !self.dice.one_in(3) {
                    self.at_ms = self.at_ms.max(*until);
                }
                CommandKind::Advance
            }
            EffectStatus::Lost => CommandKind::SettleEffect {
                path: (!self.dice.one_in(3)).then_some(effect.path),
                how: match self.dice.below(3) {
                    0 => EffectSettlement::Again,
                    1 => EffectSettlement::Failed(json!(3)),
                    _ => EffectSettlement::Done(json!("done by hand")),
                },
                by: "ana".to_owned(),
            },
            EffectStatus::Person if effect.kind == EffectKind::Stage => match self.stage(&effect) {
                Some(command) if self.dice.one_in(3) => command,
                _ => self.answered(),
            },
            EffectStatus::Person | EffectStatus::Running => self.running(&effect),
        }
    }

    fn running(&mut self, effect: &Effect) -> CommandKind {
        if effect.kind == EffectKind::Stage
            && !self.dice.one_in(8)
            && let Some(command) = self.stage(effect)
        {
            return command;
        }
        match self.dice.below(12) {
            0 => CommandKind::LoseEffects,
            1 => self.rare(),
            2 | 3 => CommandKind::Node {
                path: effect.frame.clone(),
                attempt: effect.attempt + u32::from(self.dice.one_in(5)),
                command: self.node(),
            },
            4 => self.answered(),
            _ => CommandKind::EndActivity {
                path: (!self.dice.one_in(4)).then(|| effect.path.clone()),
                outcome: self.outcome(),
            },
        }
    }

    fn outcome(&mut self) -> ActivityOutcome {
        let given = self.dice.pick(&self.material.outcomes).cloned();
        match (self.dice.below(4), given) {
            (0, _) | (1, None) => ActivityOutcome::Failed(Cause {
                stderr: "E: no".to_owned(),
                passing: self.dice.one_in(3).then_some(Passing { after_ms: None }),
                ..Cause::new(self.dice.below(3), "it failed")
            }),
            (_, Some(given)) => given,
            (_, None) => {
                let data = Value::Object(self.data());
                let all = [
                    data,
                    json!("yes"),
                    json!(["a", "b"]),
                    json!("one\ntwo\n"),
                    json!(3),
                ];
                ActivityOutcome::done(self.dice.pick(&all).cloned().unwrap_or_default())
            }
        }
    }

    fn usage(&mut self) -> Usage {
        Usage {
            input: self.dice.number(&[1, 20]),
            output: 3,
            pico_usd: (!self.dice.one_in(4)).then_some(5),
            ..Usage::default()
        }
    }

    fn node(&mut self) -> NodeCommand {
        let (number, code) = (1, "c".to_owned());
        match self.dice.below(4) {
            0 => NodeCommand::CallModel {
                number,
                provider: "p".to_owned(),
                model: "m".to_owned(),
                request: Digest::new("d"),
            },
            1 => NodeCommand::Answered {
                number,
                digest: Digest::new("a"),
                finish: FinishReason::Stop,
                usage: self.usage(),
                ms: 3,
            },
            2 => NodeCommand::NotAnswered {
                number,
                code,
                message: "m".to_owned(),
            },
            _ => NodeCommand::Note {
                code,
                message: "m".to_owned(),
            },
        }
    }

    /// Performs the next step of a model stage, and occasionally something else.
    fn stage(&mut self, effect: &Effect) -> Option<CommandKind> {
        let path = &effect.frame;
        let step = step(&self.machine, &self.run, path)?;
        let attempt = self.run.frame(path)?.stay.stage_attempt().cloned();
        let step = match self.dice.below(12) {
            0 => Step::Model {
                turn: 1,
                logged: self.dice.one_in(2),
            },
            1 => Step::Propose(0),
            2 => Step::Run(vec![0]),
            _ => step,
        };
        let command = match step {
            Step::Begin => StageCommand::Begin {
                tools: self.tools(),
            },
            Step::Condense => StageCommand::Condensed {
                summary: (!self.dice.one_in(3)).then(|| "so far".to_owned()),
                model: "m".to_owned(),
                usage: self.usage(),
            },
            Step::Model { logged: false, .. } => StageCommand::CallModel {
                provider: "p".to_owned(),
                model: "m".to_owned(),
                request: Digest::new("d"),
            },
            Step::Model { logged: true, .. } => self.message(effect),
            Step::Wait(until) => {
                self.at_ms = self.at_ms.max(until);
                return Some(CommandKind::Advance);
            }
            Step::Propose(at) => self.propose_call(attempt.as_ref()?, at)?,
            Step::Run(places) => {
                let at = self.dice.pick(&places).copied()?;
                self.record(attempt.as_ref()?, at)?
            }
            Step::Person(_) => StageCommand::CloseGrant {
                why: NoAnswer::Timeout,
            },
        };
        let late = self.dice.one_in(20);
        Some(CommandKind::Stage {
            path: path.clone(),
            attempt: effect.attempt + u32::from(late),
            command,
        })
    }

    fn tools(&mut self) -> Vec<AvailableTool> {
        let own = self.material.calls.iter().map(|call| call.tool.as_str());
        let all = ["read_file", "bash", "edit_file"].into_iter().chain(own);
        let all: Vec<AvailableTool> = all.map(AvailableTool::own).collect();
        let without = self.dice.below(all.len());
        let all = all.into_iter().enumerate();
        all.filter(|(at, _)| *at != without)
            .map(|(_, tool)| tool)
            .collect()
    }

    fn submission(&mut self) -> Submission {
        let payload = match self.outcome() {
            ActivityOutcome::Done { output, .. } => output,
            ActivityOutcome::Failed(_) => json!({"x": "y"}),
        };
        let wrong = self.dice.one_in(5);
        Submission {
            payload,
            findings: wrong
                .then(|| "/x: wanted a number".to_owned())
                .into_iter()
                .collect(),
        }
    }

    fn message(&mut self, effect: &Effect) -> StageCommand {
        if self.dice.one_in(7) {
            return StageCommand::ModelFailed {
                code: self.dice.word(&["overloaded", "auth"]),
                message: "no".to_owned(),
                passing: self.dice.one_in(2).then_some(Passing {
                    after_ms: Some(500),
                }),
            };
        }
        let completion = (self.run.frame(&effect.frame))
            .and_then(|frame| stage_of(&self.machine, frame))
            .and_then(|stage| stage.completion_tool())
            .map(str::to_owned);
        let mut calls = Vec::new();
        for _ in 0..self.dice.below(4) {
            let call = self.some_call();
            let kind = match self.dice.below(8) {
                0 => MessageCallKind::Fault(Refusal::new(Code::InvalidArguments, "no JSON")),
                _ => MessageCallKind::Tool {
                    reads: self.dice.one_in(2),
                },
            };
            calls.push(MessageCall {
                tool: call.tool,
                digest: call.digest,
                kind,
            });
        }
        if let Some(tool) = completion.filter(|_| self.dice.one_in(3)) {
            calls.push(MessageCall {
                tool,
                digest: Digest::new("payload"),
                kind: MessageCallKind::Completion(self.submission()),
            });
        }
        let finish = match self.dice.below(9) {
            0 => FinishReason::Length,
            1 => FinishReason::Refused,
            _ if calls.is_empty() => FinishReason::Stop,
            _ => FinishReason::ToolCalls,
        };
        let answer = calls.is_empty() && !self.dice.one_in(4);
        StageCommand::Message(Box::new(ModelMessage {
            digest: Digest::new("message"),
            finish,
            calls,
            answer: answer.then(|| self.submission()),
            usage: self.usage(),
            ms: 12,
        }))
    }

    fn propose_call(&mut self, attempt: &StageAttempt, at: usize) -> Option<StageCommand> {
        let wanted = attempt.calls.get(at)?;
        let known = self.material.calls.iter();
        let mut known = known.filter(|call| call.digest == wanted.digest);
        let mut call = known.next().cloned().unwrap_or_else(|| self.some_call());
        if !self.dice.one_in(15) {
            call.id = wanted.id.clone();
            call.tool.clone_from(&wanted.tool);
            call.digest = wanted.digest.clone();
        }
        self.proposed.push(call.clone());
        Some(StageCommand::Propose(Box::new(call)))
    }

    fn record(&mut self, attempt: &StageAttempt, at: usize) -> Option<StageCommand> {
        let call = attempt.calls.get(at)?;
        let running = matches!(call.status, CallStatus::Running { .. });
        let open = self
            .run
            .calls
            .iter()
            .find(|open| open.id == call.id)
            .cloned();
        let mut result = self.ended(open.as_ref());
        if running || !self.dice.one_in(3) {
            result.id = Some(call.id.clone());
        }
        Some(StageCommand::Record {
            code: (!result.ok).then(|| "failed".to_owned()),
            result,
            ms: 4,
            told: Digest::new("told"),
        })
    }
}
