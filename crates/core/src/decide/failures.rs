//! Failures: each is stored with its state; the run continues with its handler, or ends.

use serde_json::Value;

use super::{
    Work,
    regions::of_item,
    transitions::{choose, done, error, rule_of, state_of},
};
use crate::{
    event::{Cause, Event},
    machine::{Object, OnItemError, Outcome, State},
    names::{EventName, FramePath},
    place::shown_path,
    refusal::Refusal,
};

impl Work<'_> {
    /// Returns whether failures are stored in the run, for texts that name them and for reopening.
    ///
    /// In a guarded run, only the frame above learns of a failure.
    const fn reports_failures(&self) -> bool {
        self.run.is_durable()
    }

    /// Adds the state in which a failure happened, if failures are reported.
    pub(super) fn placed(&self, path: &FramePath, mut cause: Cause) -> Cause {
        if self.reports_failures() && cause.state.is_empty() {
            cause.state = shown_path(self.machine, &self.run, path);
        }
        cause
    }

    /// Gives a failure the code that the state at `path` has for all its failures.
    pub(super) fn counted(&self, path: &FramePath, cause: Cause) -> Cause {
        let state = self
            .stand(path)
            .and_then(|(frame, machine)| state_of(machine, frame));
        match state {
            Ok(state) => counted(state, cause),
            Err(_) => cause,
        }
    }

    /// Stores a failure of the state at `path` for the guards that read it; returns the stored failure.
    pub(super) fn on_failure(&mut self, path: &FramePath, cause: Cause) -> Cause {
        let cause = self.counted(path, self.placed(path, cause));
        let frame = self.run.frame(path);
        let known = frame.and_then(|frame| frame.stay.failure.as_ref());
        if self.reports_failures() && known != Some(&cause) {
            self.report_failed(path, &cause);
        }
        cause
    }

    /// Records that the activity at `path` has failed.
    pub(super) fn report_failed(&mut self, path: &FramePath, cause: &Cause) {
        self.emit(Event::ActivityEnded {
            path: path.clone(),
            output: Value::Null,
            error: Some(cause.clone()),
            key: None,
            stderr: String::new(),
        });
    }

    /// Continues after an event of the state itself that has no transition, for the reason `found`.
    pub(super) fn on_no_transition(
        &mut self,
        path: &FramePath,
        event: &EventName,
        cause: Option<Cause>,
        found: Cause,
    ) -> Result<(), Refusal> {
        let cause = cause.filter(|_| *event == error()).unwrap_or(found);
        let cause = self.placed(path, cause);
        // A success that leads nowhere is a failure like any other: its handlers come first.
        if self.reports_failures() && *event == done() {
            return self.raise_own(path, &error(), Some(cause));
        }
        if self.fails_run(path, &cause)? {
            return Ok(());
        }
        self.end_frame(path, Outcome::Failure, Some(cause))
    }

    /// Ends the run if neither the state at `path` nor one around it handles the failure; tells whether it did.
    ///
    /// If failures are not reported, the frame ends instead of the run.
    pub(super) fn fails_run(&mut self, path: &FramePath, cause: &Cause) -> Result<bool, Refusal> {
        if !self.reports_failures() {
            return Ok(false);
        }
        match self.unhandled(path, cause, false) {
            Some(cause) => self.end_uncaught(cause).map(|()| true),
            None => Ok(false),
        }
    }

    /// Searches for a handler of `cause`, from the frame at `path` outwards; `None`: there is one; otherwise the final cause.
    ///
    /// The search ends at a branch, because a fork decides itself what a failed branch means; `through_forks` continues the
    /// search.
    pub(super) fn unhandled(
        &self,
        path: &FramePath,
        cause: &Cause,
        through_forks: bool,
    ) -> Option<Cause> {
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

    /// Returns whether the state at `path` has a transition for a failure with `cause`.
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
        let scope = self.scope(machine, &failed);
        choose(scope, &event, rule, &Object::new()).is_ok()
    }

    /// Ends the run with a failure that nothing handles; every frame stays in its state.
    pub(super) fn end_uncaught(&mut self, cause: Cause) -> Result<(), Refusal> {
        if !self.run.is_over() {
            self.on_leave(&FramePath::root())?;
            self.emit(Event::RunEnded {
                outcome: Outcome::Failure,
                cause: Some(cause),
            });
        }
        Ok(())
    }
}

/// Gives a failure the code that the state has for all its failures.
fn counted(state: &State, cause: Cause) -> Cause {
    match state.fails_with {
        Some(code) if !cause.cancelled => Cause {
            code: Value::from(code),
            ..cause
        },
        _ => cause,
    }
}
