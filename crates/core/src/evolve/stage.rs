//! Folds the events of model stages.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    CallOutcome, allow,
    attempts::{act, set_status},
    end_call, requests,
};
use crate::{
    attempt::{CallStatus, StageAttempt},
    event::{Cause, Event},
    machine::Object,
    run::{Frame, Run},
};

/// Context key of the results that stages submitted.
pub(crate) const UPSTREAM: &str = "upstream";
/// Context key of the failure that a transition handled.
const ERROR: &str = "error";

/// Folds an event of a stage.
pub(super) fn apply_stage(run: &mut Run, event: &Event) {
    match event {
        Event::StageEntered {
            path, tools, at_ms, ..
        } => {
            run.executions += 1;
            if let Some(frame) = run.frame_mut(path) {
                // Limits count anew in each attempt.
                frame.stay.used = Default::default();
                if let Some(effect) = frame.stay.effect_mut() {
                    effect.stage = Some(Box::new(StageAttempt::begun(tools.clone(), *at_ms)));
                }
            }
        }
        Event::ModelCalled { path, .. } => act(run, path, |progress| {
            progress.calling = true;
            progress.again_ms = None;
        }),
        Event::ModelFailed { path, again_ms, .. } => act(run, path, |progress| {
            progress.calling = false;
            progress.failed += 1;
            progress.again_ms = *again_ms;
        }),
        Event::ModelResponded {
            path,
            turn,
            calls,
            usage,
            ..
        } => {
            run.spent = run.spent.plus(*usage);
            act(run, path, |progress| {
                progress.calling = false;
                progress.failed = 0;
                progress.turns = *turn;
                progress.reminded = false;
                progress.calls.clone_from(calls);
                progress.usage = progress.usage.plus(*usage);
            });
        }
        Event::ToolAllowed {
            path,
            call,
            reads,
            marks,
            ..
        } => {
            run.calls.retain(|open| open.id != call.id);
            allow(run, path, call, marks);
            set_status(run, path, &call.id, CallStatus::Running { reads: *reads });
        }
        Event::ToolDenied { path, call, .. } => {
            run.calls.retain(|open| open.id != call.id);
            set_status(run, path, &call.id, CallStatus::Settled);
        }
        Event::ToolEnded {
            path,
            call,
            ok,
            exit,
            bytes,
            wrote,
            ..
        } => {
            let outcome = CallOutcome {
                checked: None,
                ok: *ok,
                exit: *exit,
                commands: &[],
                writes: false,
                assumed: false,
            };
            end_call(run, call, outcome, *bytes);
            if !wrote.is_empty() {
                run.last_write = run.last_write.max(Some(run.seq));
            }
            set_status(run, path, call, CallStatus::Settled);
        }
        Event::CompletionRejected { path, call, .. } => act(run, path, |progress| {
            progress.refused += u32::from(call.is_none());
        }),
        Event::TurnEnded { path, reminder, .. } => act(run, path, |progress| {
            progress.calls = Vec::new();
            progress.reminded = matches!(reminder.as_str(), "completion" | "cut" | "empty");
        }),
        Event::StageExited {
            path,
            stage,
            upstream,
            payload,
            error,
            again,
            ..
        } => {
            requests::void_stage(run, path);
            if let Some(frame) = run.frame_mut(path) {
                exit(frame, payload, error.as_ref(), *again);
                if let Some(at) = upstream {
                    keep(frame, stage.as_str(), *at, payload);
                }
            }
        }
        Event::StageFailed {
            path,
            stage,
            attempt,
            code,
            message,
        } => {
            // Where lines carry a conversation, the context holds what the workflow puts there, and nothing else.
            let frame = run
                .frame_mut(path)
                .filter(|frame| frame.line.dialogue.is_none());
            if let Some(frame) = frame {
                let error = json!({
                    "stage": stage, "attempt": attempt, "code": code, "message": message,
                });
                Arc::make_mut(&mut frame.line.context).insert(ERROR.to_owned(), error);
            }
        }
        _ => {}
    }
}

fn exit(frame: &mut Frame, payload: &Value, error: Option<&Cause>, again: bool) {
    frame.line.output = Arc::new(payload.clone());
    if again {
        if let Some(effect) = frame.stay.effect_mut() {
            effect.stage = None;
        }
        return;
    }
    frame.stay.take_effect();
    frame.stay.failure = error.cloned().map(Cause::shortened);
}

/// Inserts a payload among those of the other stages, in the order of the stages.
fn keep(frame: &mut Frame, stage: &str, at: usize, payload: &Value) {
    let context: &mut Object = Arc::make_mut(&mut frame.line.context);
    context.shift_remove(ERROR);
    let slot = context
        .entry(UPSTREAM)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(upstream) = slot {
        if let Some(known) = upstream.get_mut(stage) {
            *known = payload.clone();
        } else {
            upstream.shift_insert(at.min(upstream.len()), stage.to_owned(), payload.clone());
        }
    }
    frame.line.captured.insert(UPSTREAM.to_owned());
}
