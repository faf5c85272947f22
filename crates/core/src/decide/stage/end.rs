//! The phases Assert, Exit and Next.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Work;
use crate::{
    decide::transitions::{done, error, reasons, state_of},
    event::{Cause, Event, VoidReason},
    evolve::UPSTREAM,
    holds::unmet,
    machine::{Machine, ModelStage, Otherwise},
    names::{Digest, EventName, FramePath},
    place::stage_of,
    refusal::Refusal,
    run::Frame,
};

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::decide) enum End {
    /// It submitted a payload that passed schema and assertions.
    Ok(Value),
    /// It was not needed.
    Skipped,
    /// It was cancelled, and nothing follows.
    Cancelled,
    /// It failed, with a stable code and one sentence.
    Failed {
        /// The code.
        code: String,
        /// The sentence.
        message: String,
        /// Whether an assertion asks for another attempt.
        asks_again: bool,
    },
}

impl End {
    pub(in crate::decide) fn failed(code: &str, message: &str) -> Self {
        Self::Failed {
            code: code.to_owned(),
            message: message.to_owned(),
            asks_again: false,
        }
    }

    fn word(&self) -> &str {
        match self {
            Self::Ok(_) => "ok",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Failed { code, .. } => code,
        }
    }
}

/// The events for the ends of a stage; `error` stands for all but the last.
fn event_of(code: &str) -> &'static str {
    match code {
        "cap_hit" | "turn_limit" => "CAP",
        "assert_failed" | "no_completion" | "rejected" => "FAIL",
        _ => "ERROR",
    }
}

/// Returns whether another attempt may succeed after a failure with `code`.
fn may_mend(code: &str) -> bool {
    matches!(
        code,
        "cap_hit" | "no_completion" | "model_error" | "timeout"
    )
}

impl Work<'_> {
    /// Evaluates the assertions over the submitted result, and ends the attempt.
    pub(super) fn assert_and_exit(
        &mut self,
        path: &FramePath,
        payload: &Value,
    ) -> Result<(), Refusal> {
        let (.., stage, progress) = self.progress(path)?;
        let turns = progress.turns;
        self.emit(Event::StageActed {
            path: path.clone(),
            outcome: "ok".to_owned(),
            turns,
        });
        let failed = self.unmet_assertion(path, stage, payload)?;
        self.emit(Event::StageAsserted {
            path: path.clone(),
            ok: failed.is_none(),
            message: failed
                .as_ref()
                .map(|(_, message)| message.clone())
                .unwrap_or_default(),
        });
        let end = match failed {
            None => End::Ok(payload.clone()),
            Some((Otherwise::Skip, _)) => End::Skipped,
            Some((otherwise, message)) => End::Failed {
                code: "assert_failed".to_owned(),
                message,
                asks_again: otherwise == Otherwise::Retry,
            },
        };
        self.exit_with(path, end, true)
    }

    /// Returns the first assertion that does not hold, and why.
    fn unmet_assertion(
        &self,
        path: &FramePath,
        stage: &ModelStage,
        payload: &Value,
    ) -> Result<Option<(Otherwise, String)>, Refusal> {
        let (frame, machine) = self.stand(path)?;
        let mut judged = frame.clone();
        judged.line.output = Arc::new(payload.clone());
        let scope = self.scope(machine, &judged);
        Ok(stage.assert.iter().find_map(|assertion| {
            let unmet = unmet(scope, std::slice::from_ref(&assertion.guard));
            if unmet.is_empty() {
                return None;
            }
            let message = if assertion.message.is_empty() {
                reasons(&unmet)
            } else {
                assertion.message.clone()
            };
            Some((assertion.otherwise, message))
        }))
    }

    /// Ends the attempt at `path` without an accepted result.
    pub(in crate::decide) fn exit(&mut self, path: &FramePath, end: End) -> Result<(), Refusal> {
        self.exit_with(path, end, false)
    }

    /// Accepts a payload as if the model had submitted it.
    pub(in crate::decide) fn hand_in(
        &mut self,
        path: &FramePath,
        payload: &Value,
    ) -> Result<(), Refusal> {
        self.emit(Event::CompletionAccepted {
            path: path.clone(),
            call: None,
            digest: Digest::of(payload.to_string()),
        });
        self.assert_and_exit(path, payload)
    }

    fn exit_with(&mut self, path: &FramePath, end: End, acted: bool) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        let attempt = frame.stay.attempt();
        let (turns, usage, began) = frame
            .stay
            .stage_attempt()
            .map_or((0, Default::default(), false), |progress| {
                (progress.turns, progress.usage, true)
            });
        let stage = frame.at.clone();
        let cause = match &end {
            End::Failed { code, message, .. } => {
                Some(self.placed(path, Cause::new(code.as_str(), message.as_str())))
            }
            _ => None,
        };
        let wait = match &end {
            End::Failed {
                code, asks_again, ..
            } if (*asks_again || may_mend(code)) && state.repeats_attempts() => {
                let retry = state.retry.as_ref().zip(cause.as_ref());
                retry.and_then(|(retry, cause)| retry.next_wait(attempt, cause))
            }
            _ => None,
        };
        let upstream = match &end {
            End::Ok(_) if state.hands_upstream() => Some(place_of(machine, frame)),
            _ => None,
        };
        if began && !acted {
            self.emit(Event::StageActed {
                path: path.clone(),
                outcome: end.word().to_owned(),
                turns,
            });
        }
        self.emit(Event::StageExited {
            path: path.clone(),
            stage: stage.clone(),
            attempt,
            outcome: end.word().to_owned(),
            turns,
            cap_hit: end.word() == "cap_hit",
            usage,
            upstream,
            payload: match &end {
                End::Ok(payload) => payload.clone(),
                End::Skipped => Value::Object(Map::new()),
                End::Cancelled | End::Failed { .. } => Value::Null,
            },
            error: cause.clone(),
            again: wait.is_some(),
        });
        if let (Some(wait_ms), Some(cause)) = (wait, cause.clone()) {
            self.emit(Event::AttemptFailed {
                path: path.clone(),
                attempt,
                error: cause,
                again_ms: self.at_ms.saturating_add(wait_ms),
            });
            return Ok(());
        }
        match (end, cause) {
            (End::Failed { code, .. }, Some(cause)) => {
                self.raise_failure(path, event_of(&code), attempt, cause)
            }
            (End::Skipped, _) => {
                let skip = EventName::new("SKIP");
                let (frame, machine) = self.stand(path)?;
                let own = state_of(machine, frame)?.on.contains_key(&skip);
                self.raise_own(path, &if own { skip } else { done() }, None)
            }
            (End::Cancelled, _) => Ok(()),
            _ => self.on_output(path),
        }
    }

    /// Continues after a failure: with its own event, otherwise with `error`; otherwise the frame fails.
    pub(in crate::decide) fn raise_failure(
        &mut self,
        path: &FramePath,
        event: &str,
        attempt: u32,
        cause: Cause,
    ) -> Result<(), Refusal> {
        let (frame, state) = self.at(path)?;
        let own = EventName::new(event);
        let event = if state.on.contains_key(&own) {
            own
        } else {
            error()
        };
        if state.on.contains_key(&event) {
            let code = cause.code_text();
            let stage = frame.at.clone();
            self.emit(Event::StageFailed {
                path: path.clone(),
                stage,
                attempt,
                code,
                message: cause.message.clone(),
            });
        }
        self.raise_own(path, &event, Some(cause))
    }

    /// Cancels the stage attempts in progress at or below `path`.
    pub(in crate::decide) fn cancel_attempts(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let under_way: Vec<FramePath> = self
            .run
            .open_leaves()
            .into_iter()
            .filter(|leaf| path.holds(leaf))
            .filter(|leaf| {
                self.run.frame(leaf).is_some_and(|frame| {
                    frame.stay.stage_attempt().is_some() && stage_of(self.machine, frame).is_some()
                })
            })
            .collect();
        under_way
            .iter()
            .try_for_each(|leaf| self.exit(leaf, End::Cancelled))
    }

    /// Voids the requests about the entry of states at or below `path`.
    pub(in crate::decide) fn void_entry_requests(&mut self, path: &FramePath) {
        for leaf in self.run.open_leaves() {
            let frame = self.run.frame(&leaf).filter(|_| path.holds(&leaf));
            let asked = frame.and_then(|frame| frame.stay.entry_request());
            if let Some(asked) = asked.cloned() {
                self.void(&asked, VoidReason::Cancelled);
            }
        }
    }
}

/// Returns the position of the stage's output among those of the others, in the order of the stages.
fn place_of(machine: &Machine, frame: &Frame) -> usize {
    let known = frame.line.context.get(UPSTREAM).and_then(Value::as_object);
    machine
        .states
        .keys()
        .take_while(|state| **state != frame.at)
        .filter(|state| known.is_some_and(|known| known.contains_key(state.as_str())))
        .count()
}
