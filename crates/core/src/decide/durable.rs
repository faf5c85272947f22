//! What only a durable run is asked: files, lost effects, cancelling with a way on, going on after a failure.

use interlock_expr::text::Files;
use serde_json::Value;

use super::{
    Answered, Reply, Work,
    carry::nothing_lost,
    regions::of_item,
    transitions::{choose, done, error, rule_of, state_of},
};
use crate::{
    attempt::{CallStatus, PendingCall, StageAttempt},
    command::EffectFate,
    event::{Cause, Event},
    holds::Scope,
    machine::{Activity, Object, OnCrash, OnItemError, Outcome},
    names::FramePath,
    place::{shown_path, stage_of},
    refusal::{Code, Refusal},
    run::{Phase, RunningAt},
};

impl Work<'_> {
    /// Takes the files that the texts of a state name.
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

    /// Who carried out the effects is gone: each follows its state's rule.
    pub(super) fn lose_effects(&mut self) -> Answered {
        self.open()?;
        for path in self.run.open_leaves() {
            // One that failed may have ended the others, or the run.
            if !self.is_open(&path) {
                continue;
            }
            let (frame, machine) = self.stand(&path)?;
            let state = state_of(machine, frame)?;
            let started = frame
                .stay
                .effect
                .as_ref()
                .is_some_and(|effect| effect.at == RunningAt::Started);
            let by_a_person = matches!(state.activity, Activity::Ask(_) | Activity::Pause(_));
            if !started || by_a_person {
                continue;
            }
            let on_crash = match &frame.stay.acting {
                Some(acting) => stage_after_crash(acting),
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

    /// Starts the same try of an effect once more.
    pub(super) fn start_again(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let Some(effect) = frame.stay.effect.clone() else {
            return Ok(());
        };
        let attempt = match effect.at {
            RunningAt::Waiting(_) => effect.attempt.saturating_add(1),
            RunningAt::Started | RunningAt::Lost => effect.attempt,
        };
        self.emit(Event::EffectStarted {
            path: path.clone(),
            kind: effect.kind,
            attempt,
            input: Value::Null,
            file: effect.file,
            at_ms: self.at_ms,
        });
        Ok(())
    }

    /// A person says what became of an effect that was lost.
    pub(super) fn settle_effect(
        &mut self,
        wanted: Option<&str>,
        how: &EffectFate,
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
            EffectFate::Again => "again",
            EffectFate::Failed(_) => "failed",
            EffectFate::Done(_) => "done",
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
                .is_some_and(|frame| frame.stay.acting.is_some());
            match how {
                EffectFate::Again => self.start_again(&path)?,
                EffectFate::Failed(_) if in_stage => {
                    self.settle_call(&path, false, &format!("{by} said that it failed"))?;
                }
                EffectFate::Done(output) if in_stage => {
                    let text = output
                        .as_str()
                        .map_or_else(|| output.to_string(), str::to_owned);
                    self.settle_call(&path, true, &text)?;
                }
                EffectFate::Failed(code) => {
                    let message = format!("{by} said that it failed");
                    self.fail_for_good(&path, Cause::new(code.clone(), message))?;
                }
                EffectFate::Done(output) => self.finish(&path, output.clone(), "")?,
            }
        }
        Ok(Reply::Accepted)
    }

    fn is_lost(&self, path: &FramePath) -> bool {
        let effect = self
            .run
            .frame(path)
            .and_then(|frame| frame.stay.effect.as_ref());
        effect.is_some_and(|effect| effect.at == RunningAt::Lost)
    }

    fn is_named(&self, path: &FramePath, wanted: Option<&str>) -> bool {
        wanted.is_none_or(|wanted| {
            path.to_string() == wanted || shown_path(self.machine, &self.run, path) == wanted
        })
    }

    /// Tells whether a run of steps failed or was cancelled, so that it can go on.
    pub(super) fn is_resumable(&self) -> bool {
        let ended = match &self.run.phase {
            Phase::Cancelled => true,
            Phase::Ended { outcome, .. } => *outcome == Outcome::Failure,
            Phase::New | Phase::Open => false,
        };
        ended && self.run.is_durable()
    }

    /// A failed or cancelled run goes on at the states that failed or were cut off.
    pub(super) fn reopen(&mut self, by: &str) -> Answered {
        if matches!(self.run.phase, Phase::New | Phase::Open) {
            return Err(Refusal::new(Code::RunOpen, "the run has not ended"));
        }
        if !self.is_resumable() {
            return Err(Refusal::new(
                Code::RunOver,
                "the run is over and cannot go on: start a new one",
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

    /// A person sets variables.
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

    /// Cancels a durable run; a state that handles 130 itself goes on with its handler.
    pub(super) fn cancel_durable(&mut self, by: &str) -> Answered {
        let cause = Cause {
            cancelled: true,
            ..Cause::new(130, format!("cancelled by {by}"))
        };
        let leaves = self.run.open_leaves();
        let handled = leaves.first().is_some_and(|leaf| {
            !self.is_stage(leaf) && self.outcome_of(leaf, &cause, true).is_none()
        });
        self.cancel_stages(&FramePath::root())?;
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

    fn is_stage(&self, path: &FramePath) -> bool {
        let frame = self.run.frame(path);
        frame.is_some_and(|frame| stage_of(self.machine, frame).is_some())
    }

    /// Returns how the run fails by a failure at `path`; `None` where that leads on,
    /// by the state's own rule or by one around it.
    pub(super) fn uncaught(&self, path: &FramePath, cause: &Cause) -> Option<Cause> {
        if !self.run.is_durable() {
            return None;
        }
        self.outcome_of(path, cause, false)
    }

    /// Looks for what handles `cause`, from the frame at `path` outwards; else returns what it comes to.
    ///
    /// A branch ends by itself, whatever its fork makes of it: the search ends
    /// there, unless it is to go on `through_forks`.
    fn outcome_of(&self, path: &FramePath, cause: &Cause, through_forks: bool) -> Option<Cause> {
        let mut path = path.clone();
        let mut cause = cause.clone();
        loop {
            cause = self.counted(&path, cause);
            if self.has_handler(&path, &cause) {
                return None;
            }
            let Some((parent, name)) = path.split_last() else {
                return Some(cause);
            };
            let index = name.parse().unwrap_or_default();
            let Ok((frame, machine)) = self.stand(&parent) else {
                return Some(cause);
            };
            match machine.states.get(&frame.at).map(|state| &state.activity) {
                Some(activity) if activity.lines().is_some() => {
                    let goes_on = activity
                        .parallel()
                        .is_some_and(|lines| lines.on_error != OnItemError::Fail);
                    if goes_on && !cause.cancelled {
                        return None;
                    }
                    cause = of_item(index, cause);
                }
                Some(activity) if activity.forks() && !through_forks => return None,
                Some(_) => {}
                None => return Some(cause),
            }
            path = parent;
        }
    }

    /// Tells whether the state at `path` has a transition for a failure with `cause`.
    fn has_handler(&self, path: &FramePath, cause: &Cause) -> bool {
        let Ok((frame, machine)) = self.stand(path) else {
            return false;
        };
        let event = error();
        let state = machine.states.get(&frame.at);
        let Some(rule) = state.and_then(|state| rule_of(state, frame, &event)) else {
            return false;
        };
        let mut failed = frame.clone();
        failed.regions = Vec::new();
        failed.stay.failure = Some(cause.clone());
        let scope = Scope {
            machine,
            run: &self.run,
            frame: &failed,
        };
        choose(scope, &event, rule, &Object::new()).is_ok()
    }

    /// Ends the run by a failure that nothing handles; every frame stays where it is.
    pub(super) fn end_uncaught(&mut self, cause: Cause) -> Result<(), Refusal> {
        if !self.run.is_over() {
            self.cancel_stages(&FramePath::root())?;
            self.emit(Event::RunEnded {
                outcome: Outcome::Failure,
                cause: Some(cause),
            });
        }
        Ok(())
    }

    /// Tells whether the frame at `path` is there and no branch around it has ended.
    pub(super) fn is_open(&self, path: &FramePath) -> bool {
        let mut frame = &self.run.root;
        for name in path.names() {
            let Some(region) = frame.regions.iter().find(|region| region.name == *name) else {
                return false;
            };
            if region.ended.is_some() {
                return false;
            }
            frame = &region.frame;
        }
        !self.run.is_over()
    }

    /// Ends a run that entered as many states as it may.
    pub(super) fn stop_used_up(&mut self) -> Result<(), Refusal> {
        let limit = self.machine.limits.states_max.unwrap_or_default();
        let message = format!("the run entered {limit} states, which is its limit");
        self.end_uncaught(Cause::new(Code::LimitExceeded.as_str(), message))
    }

    /// Tells whether the run may enter no more states.
    pub(super) fn states_used_up(&self) -> bool {
        let limit = self.machine.limits.states_max;
        limit.is_some_and(|limit| self.run.entered >= limit)
    }

    /// Ends the state at `path`, whose branches or called machine succeeded.
    pub(super) fn finish_composite(
        &mut self,
        path: &FramePath,
        output: Value,
    ) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        if !self.run.is_durable() || state.capture.is_none() {
            return self.raise_own(path, &done(), None);
        }
        let file = self.output_file(path);
        match file {
            Ok(Some(file)) => {
                let text = output.as_str().unwrap_or_default().to_owned();
                self.write_output(path, text, file)
            }
            Ok(None) => self.finish(path, output, ""),
            Err(cause) => self.fail_for_good(path, *cause),
        }
    }

    /// Returns the file that the output of the state at `path` goes to.
    fn output_file(&self, path: &FramePath) -> Result<Option<String>, Box<Cause>> {
        let lost = || Box::new(Cause::new(1, "the state is not there"));
        let (frame, machine) = self.stand(path).map_err(|_| lost())?;
        let state = state_of(machine, frame).map_err(|_| lost())?;
        super::carry::output_file(state, frame, self.run.places())
    }
}

/// A stage goes on where it was, unless a call that may have written was cut off.
fn stage_after_crash(acting: &StageAttempt) -> OnCrash {
    let writes = |call: &PendingCall| call.fate == CallStatus::Running { reads: false };
    if acting.calls.iter().any(writes) {
        OnCrash::Ask
    } else {
        OnCrash::Retry
    }
}
