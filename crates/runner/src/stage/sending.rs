//! Calls of the model: the request, and the handling of failed calls.

use std::time::{Duration, Instant};

use interlock_core::{
    command::StageCommand,
    conversation::{seen_history, sent, stage_model},
    dialogue::{self, Speaker, condense},
    event::{Passing, TokenPlace},
    machine::{Ending, ModelStage},
    stage::{Step, step},
    stage_text,
};
use interlock_models::{Heard, Message, ModelError, Options, Part, Request, ToolSpec};

use super::{
    act::{Attempt, Halt, broken},
    kept::{KeptAnswer, keep},
    line::Standing,
    messages::sha256,
    models::{Model, Tries, usage},
    texts,
};
use crate::screen::Piece;

impl Attempt<'_> {
    /// Calls the model and reports its message; returns `None` if the call was given up.
    pub(super) fn model(&mut self, logged: bool) -> Result<Option<Standing>, Halt> {
        let wanted = self.wanted_model();
        let model = match self.stages.models.find(wanted.as_deref()) {
            Ok(model) => model,
            Err(why) => return self.end("model_error", why).map(Some),
        };
        let request = match self.request(&model)? {
            Ok(request) => request,
            Err(why) => return self.end("stage_invalid", why).map(Some),
        };
        self.void_token(&request.bytes(), TokenPlace::Prompt)?;
        if !logged {
            let digest = sha256(&String::from_utf8_lossy(&request.bytes()));
            let told = self.line.ask_stage(StageCommand::CallModel {
                provider: model.provider.clone(),
                model: model.name.clone(),
                request: digest,
            })?;
            let goes_on = |told: &Standing| {
                matches!(
                    step(self.machine, &told.run, &self.line.path),
                    Some(Step::Model { logged: true, .. })
                )
            };
            if !goes_on(&told) {
                return Ok(Some(told));
            }
        }
        let began = Instant::now();
        let said = self.call(&model, &request);
        self.screen.said(&self.path, Piece::End);
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let answer = match said {
            Ok(answer) => answer,
            // Stopped, or its time is over: the loop decides which.
            Err(_) if self.cancel_token.reason().is_some() => return Ok(None),
            Err(error) => {
                return Ok(Some(self.line.ask_stage(StageCommand::ModelFailed {
                    code: error.code().as_str().to_owned(),
                    message: error.to_string(),
                    passing: passing(&error).filter(|_| !self.is_conflict(&error)),
                })?));
            }
        };
        let usage = usage(self.stages.models.as_ref(), &model, &answer);
        self.void_token(
            &serde_json::to_vec(&answer).map_err(broken)?,
            TokenPlace::Call,
        )?;
        let kept = KeptAnswer { answer };
        let digest = keep(&self.stages.messages, &kept).map_err(broken)?;
        let message = self.reader().message(&kept.answer, digest, usage, ms);
        Ok(Some(
            self.line
                .ask_stage(StageCommand::Message(Box::new(message)))?,
        ))
    }

    fn call(
        &self,
        model: &Model,
        request: &Request,
    ) -> Result<interlock_models::Answer, ModelError> {
        let mut heard = |heard: Heard<'_>| match heard {
            Heard::Text(text) => self.screen.said(&self.path, Piece::Text(text)),
            Heard::Thinking(text) => self.screen.said(&self.path, Piece::Thinking(text)),
            Heard::Calling(tool) => self.screen.said(&self.path, Piece::Calling(tool)),
            Heard::Again { failure, wait, .. } => {
                let seconds = wait.as_secs_f64();
                let text = format!("{failure}; the model is called again in {seconds:.1} s");
                self.screen.warn(&self.path, &text);
            }
        };
        let tries = if self.stage.history {
            Tries::Once
        } else {
            Tries::Several
        };
        self.stages.models.call(
            model,
            request,
            tries,
            self.cancel_token.handle(),
            &mut heard,
        )
    }

    /// Calls the model again after a failed call, now that the delay is over.
    pub(super) fn again(&mut self) -> Result<Standing, Halt> {
        self.model(false)?.ok_or(Halt::Cut)
    }

    /// Has the conversation condensed; returns `None` if that was given up.
    pub(super) fn condense(&mut self) -> Result<Option<Standing>, Halt> {
        let wanted = self.wanted_model();
        let model = match self.stages.models.find(wanted.as_deref()) {
            Ok(model) => model,
            Err(why) => return self.end("model_error", why).map(Some),
        };
        let history = seen_history(self.machine, &self.told.run, &self.line.path);
        let history: Vec<dialogue::Message> = history
            .iter()
            .map(|said| dialogue::Message {
                text: sent(self.machine, said.text.clone()),
                ..*said
            })
            .collect();
        let request = Request {
            model: model.name.clone(),
            system: condense::SYSTEM.to_owned(),
            messages: vec![Message::user(condense::request(&history))],
            tools: Vec::new(),
            options: Options::default(),
        };
        self.void_token(&request.bytes(), TokenPlace::Prompt)?;
        let mut silent = |_: Heard<'_>| {};
        let said = self.stages.models.call(
            &model,
            &request,
            Tries::Several,
            self.cancel_token.handle(),
            &mut silent,
        );
        if said.is_err() && self.cancel_token.reason().is_some() {
            return Ok(None);
        }
        let answer = said.as_ref().ok();
        if let Err(error) = &said {
            let text = format!(
                "the conversation could not be condensed, and continues unchanged: {error}"
            );
            self.screen.warn(&self.path, &text);
        }
        let summary = answer.map(interlock_models::Answer::text);
        let used = answer.map(|answer| usage(self.stages.models.as_ref(), &model, answer));
        Ok(Some(self.line.ask_stage(StageCommand::Condensed {
            summary: summary.filter(|summary| !summary.trim().is_empty()),
            model: format!("{}/{}", model.provider, model.name),
            usage: used.unwrap_or_default(),
        })?))
    }

    /// Returns whether an error has status 409, which workflows with a conversation do not retry.
    fn is_conflict(&self, error: &ModelError) -> bool {
        self.stage.history && error.failure.status == Some(CONFLICT)
    }

    /// Returns the messages before this stage's own transcript.
    fn history(&self) -> Vec<Message> {
        let said = seen_history(self.machine, &self.told.run, &self.line.path);
        let mut messages: Vec<Message> = said
            .iter()
            .map(|said| match said.by {
                Speaker::Person => Message::user(sent(self.machine, said.text.clone())),
                Speaker::Model => Message::Assistant {
                    parts: vec![Part::Text(sent(self.machine, said.text.clone()))],
                },
            })
            .collect();
        if matches!(messages.first(), Some(Message::Assistant { .. })) {
            // No provider lets the model speak first.
            messages.insert(0, Message::user(texts::BEFORE));
        }
        messages
    }

    fn wanted_model(&self) -> Option<String> {
        let of_workflow = self.machine.stages.as_ref();
        let of_workflow = of_workflow.and_then(|rules| rules.model.clone());
        let own = stage_model(self.machine, &self.told.run, &self.line.path);
        let own = own.map(str::to_owned);
        own.or_else(|| self.stages.model.clone()).or(of_workflow)
    }

    /// Creates the request to the model: the same log gives the same bytes.
    fn request(&self, model: &Model) -> Result<Result<Request, String>, Halt> {
        let run = &self.told.run;
        let body = stage_text(self.machine, run, &self.line.path, &self.stage.body);
        let body = match body.ok_or(Halt::Cut)? {
            Ok(body) => body,
            Err(why) => return Ok(Err(why)),
        };
        let system = match &self.stage.ending {
            Ending::Answer { .. } => {
                let schema = self.reader().shown_schema();
                texts::system_of_conversation(&body, schema.as_deref())
            }
            Ending::Tool { name, .. } => texts::system(&body, name, self.stage.turns_max),
        };
        let options = match options(&self.stage) {
            Ok(options) => options,
            Err(why) => return Ok(Err(why)),
        };
        let mut messages = self.history();
        messages.extend_from_slice(self.transcript.messages());
        Ok(Ok(Request {
            model: model.name.clone(),
            system,
            messages,
            tools: self.specs()?,
            options,
        }))
    }

    /// Describes the tools offered to the model: those of the attempt, with the completion tool last.
    fn specs(&self) -> Result<Vec<ToolSpec>, Halt> {
        let names = self.progress()?.tools.iter();
        let known = names.filter_map(|name| self.stages.spec(name));
        let mut specs: Vec<ToolSpec> = known.map(|(spec, _)| spec).collect();
        if let Ending::Tool { name, schema } = &self.stage.ending {
            specs.retain(|spec| spec.name != *name);
            specs.push(ToolSpec {
                name: name.clone(),
                description: texts::completion_description(),
                schema: schema.clone(),
            });
        }
        Ok(specs)
    }
}

/// HTTP status of a conflict.
pub(crate) const CONFLICT: u16 = 409;

/// Returns whether and when a failed call may succeed.
fn passing(error: &ModelError) -> Option<Passing> {
    let failure = &error.failure;
    let after_ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    failure.is_passing.then(|| Passing {
        after_ms: failure.retry_after.map(after_ms),
    })
}

/// Parses the provider's options.
fn options(stage: &ModelStage) -> Result<Options, String> {
    let given = &stage.options;
    let temperature = match &given.temperature {
        None => None,
        Some(serde_json::Value::Number(number)) => Some(number.clone()),
        Some(other) => return Err(format!("`{other}` is not a temperature")),
    };
    let thinking = given.thinking.clone().map(TryInto::try_into).transpose();
    Ok(Options {
        temperature,
        max_output_tokens: given.max_output_tokens,
        thinking: thinking.map_err(|error: interlock_models::UnknownThinking| error.to_string())?,
    })
}
