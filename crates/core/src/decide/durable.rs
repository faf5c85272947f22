//! Commands for durable runs only: files, lost effects, cancelling with a handler, continuing after a failure.

use interlock_expr::text::Files;
use serde_json::Value;

use super::{Answered, Reply, Work, carry::nothing_lost};
use crate::{
    attempt::{CallStatus, PendingCall, StageAttempt},
    command::EffectSettlement,
    dialogue::Conversation,
    event::{Cause, Event},
    machine::{Activity, Object, OnCrash, Outcome},
    names::FramePath,
    place::{shown_path, stage_of},
    refusal::{Code, Refusal},
    run::{Phase, RunningAt},
};

impl Work<'_> {
    /// Handles the files that the texts of a state name.
    pub(super) fn supply(&mut self, path: &FramePath, files: &Files) -> Answered {
        self.open()?;
        self.path = path.clone();
        let before = self.events.len();
        self.begin(path, files)?;
        if self.events.len() == before {
            return Err(Refusal::new(
                Code::InvalidArguments,
                "the texts of this state need other files, or none",
            ));
        }
        Ok(Reply::Accepted)
    }

    /// Marks the effects in progress as lost, because their runner is gone; each follows its state's rule.
    pub(super) fn lose_effects(&mut self) -> Answered {
        self.open()?;
        for path in self.run.open_leaves() {
            // One that failed may have ended the others, or the run.
            if !self.is_open(&path) {
                continue;
            }
            let (frame, state) = self.at(&path)?;
            let started = frame
                .stay
                .effect()
                .is_some_and(|effect| effect.at == RunningAt::Started);
            let by_a_person = matches!(state.activity, Activity::Ask(_) | Activity::Pause(_));
            if !started || by_a_person {
                continue;
            }
            let on_crash = match frame.stay.stage_attempt() {
                Some(progress) => stage_after_crash(progress),
                None => state.on_crash,
            };
            self.emit(Event::EffectLost { path: path.clone() });
            match on_crash {
                OnCrash::Ask => {}
                OnCrash::Retry => self.start_again(&path)?,
                OnCrash::Fail => {
                    let message = "it was cut off: the runner ended while it ran";
                    self.fail_for_good(&path, Cause::new(1, message))?;
                }
            }
        }
        Ok(Reply::Accepted)
    }

    /// Starts the same attempt of an effect again.
    pub(super) fn start_again(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let Some(effect) = frame.stay.effect().cloned() else {
            return Ok(());
        };
        let attempt = match effect.at {
            RunningAt::Waiting(_) => effect.attempt.saturating_add(1),
            RunningAt::Started | RunningAt::Lost => effect.attempt,
        };
        self.start_effect(path, effect.kind, attempt, Value::Null, effect.file);
        Ok(())
    }

    /// Settles a lost effect as a person decides.
    pub(super) fn settle_effect(
        &mut self,
        wanted: Option<&str>,
        how: &EffectSettlement,
        by: &str,
    ) -> Answered {
        self.open()?;
        let lost: Vec<FramePath> = self
            .run
            .open_leaves()
            .into_iter()
            .filter(|path| self.is_lost(path) && self.is_named(path, wanted))
            .collect();
        if lost.is_empty() {
            return Err(nothing_lost(wanted));
        }
        let word = match how {
            EffectSettlement::Again => "again",
            EffectSettlement::Failed(_) => "failed",
            EffectSettlement::Done(_) => "done",
        };
        for path in lost {
            if !self.is_open(&path) {
                continue;
            }
            self.path = path.clone();
            self.emit(Event::EffectSettled {
                path: path.clone(),
                how: word.to_owned(),
                by: by.to_owned(),
            });
            let in_stage = self
                .run
                .frame(&path)
                .is_some_and(|frame| frame.stay.stage_attempt().is_some());
            match how {
                EffectSettlement::Again => self.start_again(&path)?,
                EffectSettlement::Failed(_) if in_stage => {
                    self.settle_call(&path, false, &format!("{by} marked it as failed"))?;
                }
                EffectSettlement::Done(output) if in_stage => {
                    let text = Conversation::text_of(output);
                    self.settle_call(&path, true, &text)?;
                }
                EffectSettlement::Failed(code) => {
                    let message = format!("{by} marked it as failed");
                    self.fail_for_good(&path, Cause::new(code.clone(), message))?;
                }
                EffectSettlement::Done(output) => self.finish(&path, output.clone(), "")?,
            }
        }
        Ok(Reply::Accepted)
    }

    fn is_lost(&self, path: &FramePath) -> bool {
        let effect = self.run.frame(path).and_then(|frame| frame.stay.effect());
        effect.is_some_and(|effect| effect.at == RunningAt::Lost)
    }

    /// Returns whether `wanted` names the frame at `path`, by its path or as shown; `None` names any frame.
    pub(super) fn is_named(&self, path: &FramePath, wanted: Option<&str>) -> bool {
        wanted.is_none_or(|wanted| {
            path.to_string() == wanted || shown_path(self.machine, &self.run, path) == wanted
        })
    }

    /// Returns whether a run of steps has failed or was cancelled, so that it can continue.
    pub(super) fn is_resumable(&self) -> bool {
        let ended = match &self.run.phase {
            Phase::Cancelled => true,
            Phase::Ended { outcome, .. } => *outcome == Outcome::Failure,
            Phase::New | Phase::Open => false,
        };
        ended && self.run.is_durable()
    }

    /// Reopens a failed or cancelled run at the states that failed or were interrupted.
    pub(super) fn reopen(&mut self, by: &str) -> Answered {
        if matches!(self.run.phase, Phase::New | Phase::Open) {
            return Err(Refusal::new(Code::RunOpen, "the run has not ended"));
        }
        if !self.is_resumable() {
            return Err(Refusal::new(
                Code::RunOver,
                "the run is over and cannot continue: start a new one",
            ));
        }
        self.emit(Event::RunReopened {
            by: by.to_owned(),
            at_ms: self.at_ms,
        });
        self.reopen_branches(&FramePath::root())?;
        for path in self.run.open_leaves() {
            self.settle(&path)?;
        }
        Ok(Reply::Accepted)
    }

    /// Sets variables for a person.
    pub(super) fn set_variables(&mut self, values: &Object, by: &str) -> Answered {
        if !self.is_resumable() {
            self.open()?;
        }
        if !values.is_empty() {
            self.check_context(&FramePath::root(), values)?;
            self.emit(Event::VariablesSet {
                values: values.clone(),
                by: by.to_owned(),
            });
        }
        Ok(Reply::Accepted)
    }

    /// Cancels a durable run; a state that handles code 130 itself continues with its handler.
    pub(super) fn cancel_durable(&mut self, by: &str) -> Answered {
        let cause = Cause {
            cancelled: true,
            ..Cause::new(130, format!("cancelled by {by}"))
        };
        let leaves = self.run.open_leaves();
        let handled = leaves.first().is_some_and(|leaf| {
            !self.is_stage(leaf) && self.unhandled(leaf, &cause, true).is_none()
        });
        self.on_leave(&FramePath::root())?;
        if !handled {
            self.emit(Event::RunCancelled { by: by.to_owned() });
            return Ok(Reply::Accepted);
        }
        for path in leaves {
            if self.is_open(&path) {
                self.fail_for_good(&path, cause.clone())?;
            }
        }
        Ok(Reply::Accepted)
    }

    pub(super) fn is_stage(&self, path: &FramePath) -> bool {
        let frame = self.run.frame(path);
        frame.is_some_and(|frame| stage_of(self.machine, frame).is_some())
    }
}

/// Returns the crash rule of a stage: it continues, unless a call that may have written was interrupted.
fn stage_after_crash(progress: &StageAttempt) -> OnCrash {
    let writes = |call: &PendingCall| call.status == CallStatus::Running { reads: false };
    if progress.calls.iter().any(writes) {
        OnCrash::Ask
    } else {
        OnCrash::Retry
    }
}
