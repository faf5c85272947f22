//! `state_processor_node`: combines the outputs of ended states, unchanged or processed by a model.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use interlock_core::{
    command::NodeCommand,
    event::{Event, Passing},
    machine::Machine,
    names::StateName,
};
use interlock_models::{Heard, Message, ModelError, Options, Request};
use interlock_nodes::{Answers, Known, NodeOutput, RecordsNode, records, tool::fill};

use super::{CANCELLED, Worked, failed, reasoned};
use crate::{
    order::Failed,
    stage::{CONFLICT, KeptAnswer, Model, Stages, Tries, finish, keep, read, sha256, usage},
};

/// Maximum number of model calls of one node.
const CALLS_MAX: usize = 1_000;

impl Worked<'_> {
    /// Combines the outputs of ended states.
    pub(super) fn records(&mut self) -> Result<NodeOutput, Failed> {
        let node: RecordsNode = self.input()?;
        let (machine, events) = self.history(&node)?;
        let own = self.node.run.frame(&self.node.path);
        let own = own.map(|frame| self.node.machine.shown(&frame.at).clone());
        let own = own.ok_or_else(|| Failed::new(1, "its frame is not there any more"))?;
        // In another run, no state is the node itself, even one of the same name.
        let own = match node.run {
            Some(_) => StateName::new(""),
            None => own,
        };
        let all = records::all(&machine, &events);
        let wanted = records::wanted(all, &node, &own);
        let mut items = Vec::new();
        let mut notes = Vec::new();
        let mut known = Answers::of(&self.node.path, &self.node.events);
        for (at, record) in wanted.iter().enumerate() {
            let number = at + 1;
            let said = match node.task.is_some() && record.ok {
                true if number > CALLS_MAX => {
                    let why = format!("there are more than {CALLS_MAX} records to ask a model of");
                    return Err(reasoned("limit_exceeded", why, None));
                }
                true => Some(self.ask(&node, record, number, &mut known)?),
                false => None,
            };
            items.push(records::item(record, number, said.as_deref()));
        }
        if wanted.is_empty() {
            notes.push(format!(
                "no state that begins with `{}` has ended",
                node.state
            ));
        }
        let mut made =
            records::output(&node, items, &self.given).map_err(|error| failed(&error))?;
        made.warnings.splice(0..0, notes);
        Ok(made)
    }

    /// Returns the events to search, with the machine that they belong to.
    fn history(&self, node: &RecordsNode) -> Result<(Arc<Machine>, Vec<Event>), Failed> {
        let Some(run) = &node.run else {
            return Ok((Arc::clone(&self.node.machine), self.node.events.clone()));
        };
        let (run, _) = fill(run, self.given.values(), true).map_err(|error| failed(&error))?;
        let found = self.nodes()?.configured.run(run.trim());
        let (machine, events) = found.map_err(|why| reasoned("node_failed", why, None))?;
        Ok((Arc::new(machine), events))
    }

    /// Asks a model about one record, unless it has already answered.
    fn ask(
        &self,
        node: &RecordsNode,
        record: &records::Record,
        number: usize,
        known: &mut Answers,
    ) -> Result<String, Failed> {
        let stages: Option<&Stages> = self.context.stages.as_deref();
        let stages = stages.ok_or_else(|| Failed::new(1, "nothing here can call a model"))?;
        let wanted = node.model.as_deref().or(stages.model.as_deref());
        let model = stages.models.find(wanted);
        let model = model.map_err(|why| reasoned("model_error", why, None))?;
        let request = self.request(node, record, number, &model)?;
        let digest = sha256(&String::from_utf8_lossy(&request.bytes()));
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        match known.take(number, &digest) {
            Known::Answered(answer) => {
                let kept: Result<KeptAnswer, _> = read(&stages.messages, &answer);
                let kept = kept.map_err(|error| reasoned("node_failed", error.to_string(), None));
                return said(&kept?);
            }
            Known::Called => {}
            Known::New => self.talk.tell(NodeCommand::CallModel {
                number,
                provider: model.provider.clone(),
                model: model.name.clone(),
                request: digest,
            })?,
        }
        let began = Instant::now();
        let mut silent = |_: Heard<'_>| {};
        let models = &stages.models;
        let answer = models.call(&model, &request, Tries::Once, self.cancel, &mut silent);
        if self.cancel.is_cancelled() {
            return Err(Failed::new(CANCELLED, "it was stopped"));
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.talk.tell(NodeCommand::NotAnswered {
                    number,
                    code: error.code().as_str().to_owned(),
                    message: error.to_string(),
                })?;
                return Err(unanswered(&error));
            }
        };
        let used = usage(stages.models.as_ref(), &model, &answer);
        let kept = KeptAnswer { answer };
        let digest = keep(&stages.messages, &kept);
        self.talk.tell(NodeCommand::Answered {
            number,
            digest: digest.map_err(|error| Failed::new(1, error.to_string()))?,
            finish: finish(kept.answer.finish),
            usage: used,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })?;
        said(&kept)
    }

    /// Creates the request to a model about one record: the same log gives the same bytes.
    fn request(
        &self,
        node: &RecordsNode,
        record: &records::Record,
        number: usize,
        model: &Model,
    ) -> Result<Request, Failed> {
        let text = records::request(node, record, number, &self.given);
        let system = match &node.system_prompt {
            Some(prompt) => fill(prompt, self.given.values(), node.strict).map(|filled| filled.0),
            None => Ok(String::new()),
        };
        Ok(Request {
            model: model.name.clone(),
            system: system.map_err(|error| failed(&error))?,
            messages: vec![Message::user(text.map_err(|error| failed(&error))?)],
            tools: Vec::new(),
            options: Options::default(),
        })
    }
}

/// Returns the text of an answer.
fn said(kept: &KeptAnswer) -> Result<String, Failed> {
    match kept.answer.finish {
        interlock_models::FinishReason::Refused => Err(reasoned(
            "model_refused",
            "the provider refused to answer",
            None,
        )),
        _ => Ok(kept.answer.text()),
    }
}

fn unanswered(error: &ModelError) -> Failed {
    let after_ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let failure = &error.failure;
    let is_passing = failure.is_passing && failure.status != Some(CONFLICT);
    let passing = is_passing.then(|| Passing {
        after_ms: failure.retry_after.map(after_ms),
    });
    reasoned("model_error", error.to_string(), passing)
}
