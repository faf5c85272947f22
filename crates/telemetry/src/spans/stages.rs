//! Stages: an attempt is a span of its own that contains the calls of its model and of its tools.

use interlock_core::{
    attempt::{FinishReason, Usage},
    event::{CallRecord, Event},
    names::{CallId, FramePath, StateName},
};

use super::{Attributes, Maker, Open, source_word, text};
use crate::span::{Moment, Value};

/// An attempt of a stage that has not ended.
pub(super) struct Attempt {
    pub(super) span: Open,
    /// The message that is requested from its model, with all retries.
    chat: Option<Open>,
}

impl Maker<'_> {
    pub(super) fn take_stage(&mut self, event: &Event) {
        match event {
            Event::StageEntered {
                path,
                stage,
                attempt,
                ..
            } => self.begin_attempt(path, stage, *attempt),
            Event::StageExited {
                path,
                outcome,
                turns,
                usage,
                error,
                ..
            } => {
                let why = error.as_ref().map(|error| error.message.as_str());
                self.end_attempt(path, outcome, *turns, usage, why);
            }
            Event::CompletionRejected { path, findings, .. } => {
                let count = i64::try_from(findings.len()).unwrap_or(i64::MAX);
                let more = vec![("interlock.findings", Value::Number(count))];
                self.note_in_attempt(path, "interlock.completion_rejected", more);
            }
            Event::StageAsserted { path, ok, .. } if !ok => {
                self.note_in_attempt(path, "interlock.assertion_failed", Vec::new());
            }
            Event::HistoryCondensed {
                path, model, usage, ..
            } => {
                let mut more = vec![("gen_ai.request.model", text(model))];
                more.extend(costs(usage));
                self.note(path, "interlock.history_condensed", more);
            }
            other => self.take_model(other),
        }
    }

    fn take_model(&mut self, event: &Event) {
        match event {
            Event::ModelCalled {
                path,
                turn,
                provider,
                model,
                ..
            } => self.begin_chat(path, *turn, provider, model),
            Event::ModelResponded {
                path,
                finish,
                usage,
                ..
            } => {
                let mut more = vec![("gen_ai.response.finish_reasons", finish_word(*finish))];
                more.extend(costs(usage));
                self.end_chat(path, more, None);
            }
            Event::ModelFailed {
                path,
                code,
                again_ms,
                ..
            } => self.fail_chat(path, code, again_ms.is_some()),
            other => self.take_stage_call(other),
        }
    }

    fn take_stage_call(&mut self, event: &Event) {
        match event {
            Event::ToolAllowed {
                path, call, source, ..
            } => {
                let mut span = self.decided(path, call, "allow");
                span.attributes
                    .push(("interlock.source", source_word(*source)));
                self.open_call(path, call, span);
            }
            Event::ToolDenied {
                path,
                call,
                source,
                refusal,
            } => {
                let mut span = self.decided(path, call, "deny");
                let code = refusal.code.as_str();
                span.attributes.push(("interlock.source", text(source)));
                span.attributes.push(("interlock.code", text(code)));
                span.attributes.push(("error.type", text(code)));
                self.close(span, Some(code.to_owned()));
            }
            Event::ToolEnded {
                call,
                ok,
                exit,
                bytes,
                ..
            } => self.end_call(call, *ok, *exit, *bytes, false),
            _ => {}
        }
    }

    fn begin_attempt(&mut self, path: &FramePath, stage: &StateName, attempt: u32) {
        self.lose_attempt(path);
        let state = self.states.get(path).or(self.run.as_ref());
        let parent = state.map(|open| open.id.clone());
        let attributes = vec![
            ("gen_ai.operation.name", text("invoke_agent")),
            ("gen_ai.agent.name", text(stage.as_str())),
            ("interlock.run", text(&self.label.run)),
            ("interlock.stage", text(stage.as_str())),
            ("interlock.attempt", Value::Number(attempt.into())),
        ];
        let span = self.opened(path, format!("invoke_agent {stage}"), parent, attributes);
        self.attempts
            .insert(path.clone(), Attempt { span, chat: None });
    }

    fn end_attempt(
        &mut self,
        path: &FramePath,
        outcome: &str,
        turns: u32,
        usage: &Usage,
        why: Option<&str>,
    ) {
        let Some(Attempt { mut span, chat }) = self.attempts.remove(path) else {
            return;
        };
        if let Some(chat) = chat {
            self.lose_chat(chat);
        }
        self.lose_calls(|of| of == path);
        span.attributes.push(("interlock.outcome", text(outcome)));
        span.attributes
            .push(("interlock.turns", Value::Number(turns.into())));
        span.attributes.extend(costs(usage));
        let is_well = matches!(outcome, "ok" | "skipped" | "cancelled");
        if !is_well {
            span.attributes.push(("error.type", text(outcome)));
        }
        // The text of a failure may quote what a model or an assertion wrote.
        let why = why.filter(|_| self.label.content).unwrap_or(outcome);
        let failure = (!is_well).then(|| why.to_owned());
        self.close(span, failure);
    }

    /// Ends an attempt whose end will not be seen.
    pub(super) fn lose_attempt(&mut self, path: &FramePath) {
        let Some(Attempt { mut span, chat }) = self.attempts.remove(path) else {
            return;
        };
        if let Some(chat) = chat {
            self.lose_chat(chat);
        }
        span.attributes.push(("interlock.outcome", text("unknown")));
        self.close(span, None);
    }

    fn begin_chat(&mut self, path: &FramePath, turn: u32, provider: &str, model: &str) {
        let turn = ("interlock.turn", Value::Number(turn.into()));
        let Some(attempt) = self.attempts.get_mut(path) else {
            return;
        };
        // A retry of the same message is part of the same span.
        if let Some(chat) = &attempt.chat
            && chat.attributes.contains(&turn)
        {
            return;
        }
        let parent = Some(attempt.span.id.clone());
        let lost = attempt.chat.take();
        if let Some(lost) = lost {
            self.lose_chat(lost);
        }
        let attributes = vec![
            ("gen_ai.operation.name", text("chat")),
            ("gen_ai.provider.name", text(provider_word(provider))),
            ("gen_ai.request.model", text(model)),
            ("interlock.run", text(&self.label.run)),
            turn,
        ];
        let mut span = self.opened(path, format!("chat {model}"), parent, attributes);
        span.is_call_out = true;
        if let Some(attempt) = self.attempts.get_mut(path) {
            attempt.chat = Some(span);
        }
    }

    fn fail_chat(&mut self, path: &FramePath, code: &str, is_again: bool) {
        if !is_again {
            let more = vec![("error.type", text(code))];
            self.end_chat(path, more, Some(code.to_owned()));
            return;
        }
        let at_ms = self.at_ms;
        let attempt = self.attempts.get_mut(path);
        if let Some(chat) = attempt.and_then(|attempt| attempt.chat.as_mut()) {
            chat.moments.push(Moment {
                name: "interlock.model_failed",
                at_ms,
                attributes: vec![("error.type", text(code))],
            });
        }
    }

    fn end_chat(&mut self, path: &FramePath, more: Attributes, failure: Option<String>) {
        let attempt = self.attempts.get_mut(path);
        if let Some(mut chat) = attempt.and_then(|attempt| attempt.chat.take()) {
            chat.attributes.extend(more);
            self.close(chat, failure);
        }
    }

    fn lose_chat(&mut self, mut chat: Open) {
        chat.attributes.push(("interlock.outcome", text("unknown")));
        self.close(chat, None);
    }

    /// Begins the span of a call, or continues the one for which a person was asked.
    fn decided(&mut self, path: &FramePath, call: &CallRecord, verdict: &'static str) -> Open {
        match self.asked(&call.id) {
            Some(mut span) => {
                for (name, value) in &mut span.attributes {
                    if *name == "interlock.verdict" {
                        *value = text(verdict);
                    }
                }
                span.attributes
                    .retain(|(name, _)| *name != "interlock.code");
                span
            }
            None => self.call(path, call, verdict),
        }
    }

    fn asked(&mut self, call: &CallId) -> Option<Open> {
        let at = self.calls.iter().position(|open| open.id == *call)?;
        self.calls.remove(at).map(|open| open.span)
    }

    fn note_in_attempt(&mut self, path: &FramePath, name: &'static str, attributes: Attributes) {
        let at_ms = self.at_ms;
        if let Some(attempt) = self.attempts.get_mut(path) {
            attempt.span.moments.push(Moment {
                name,
                at_ms,
                attributes,
            });
        }
    }

    fn opened(
        &self,
        path: &FramePath,
        name: String,
        parent: Option<String>,
        attributes: Attributes,
    ) -> Open {
        Open {
            id: self.span_id(&format!("{path}/{name}")),
            parent,
            trace: None,
            link: None,
            name,
            is_call_out: false,
            began_ms: self.at_ms,
            attributes,
            moments: Vec::new(),
        }
    }
}

/// Returns what was used up; what is not known is left out.
fn costs(usage: &Usage) -> Attributes {
    let number = |count: u64| Value::Number(i64::try_from(count).unwrap_or(i64::MAX));
    let mut found = vec![
        ("gen_ai.usage.input_tokens", number(usage.input)),
        ("gen_ai.usage.output_tokens", number(usage.output)),
    ];
    if usage.cached > 0 {
        let cached = number(usage.cached);
        found.push(("gen_ai.usage.cache_read.input_tokens", cached));
    }
    if usage.reasoning > 0 {
        let reasoning = number(usage.reasoning);
        found.push(("gen_ai.usage.reasoning.output_tokens", reasoning));
    }
    if let Some(pico) = usage.pico_usd {
        found.push(("interlock.cost_usd", Value::Dollars { pico }));
    }
    found
}

/// Returns the name that the convention uses for a provider, if it has one of its own.
fn provider_word(provider: &str) -> &str {
    match provider {
        "gemini" | "google" => "gcp.gemini",
        other => other,
    }
}

fn finish_word(finish: FinishReason) -> Value {
    let word = match finish {
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::Refused => "content_filter",
        FinishReason::Error => "error",
    };
    Value::Texts(vec![word.to_owned()])
}
