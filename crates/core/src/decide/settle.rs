//! Consequences of entering a state: its activity begins, and the ends of frames propagate upwards.

use interlock_expr::text::Files;

use super::{
    Work,
    transitions::{Taken, choose, done, error, reasons, rule_of, state_of},
};
use crate::{
    event::{Cause, Event, PendingTransition, RegionOutcome},
    holds::unmet,
    machine::{Activity, Object, Outcome, Over, Parallel, Target},
    names::{EventName, FramePath},
    refusal::{Code, Refusal},
};

impl Work<'_> {
    /// Continues from the state that the frame at `path` has just entered.
    ///
    /// The consequences are handled here in a loop, so that the stack does not grow with the number of steps.
    pub(super) fn settle(&mut self, path: &FramePath) -> Result<(), Refusal> {
        self.due.push(path.clone());
        if self.settling {
            return Ok(());
        }
        self.settling = true;
        let mut settled = Ok(());
        while let Some(path) = self.due.pop() {
            settled = self.settle_one(&path);
            if settled.is_err() {
                self.due.clear();
            }
        }
        self.settling = false;
        settled
    }

    fn settle_one(&mut self, path: &FramePath) -> Result<(), Refusal> {
        if self.moves > self.machine.limits.steps_max {
            return self.stop_endless();
        }
        let began = self
            .run
            .frame(path)
            .is_some_and(|frame| !frame.regions.is_empty());
        if began || !self.is_open(path) {
            return Ok(());
        }
        if let Some(outcome) = self.branch_outcome(path) {
            return self.end_branch(path, outcome, None);
        }
        let (_, state) = self.at(path)?;
        if state.ends_lines && self.is_line(path) {
            return self.ends_here(path);
        }
        if self.waits_at_join(path)? {
            return Ok(());
        }
        self.begin_state(path)
    }

    /// Begins the state that the frame at `path` has entered, if nothing prevents it.
    pub(super) fn begin_state(&mut self, path: &FramePath) -> Result<(), Refusal> {
        if self.on_enter(path)? {
            return Ok(());
        }
        let (frame, machine) = self.stand(path)?;
        match &state_of(machine, frame)?.activity {
            Activity::Final { .. } if self.items_around(path).is_some() => self.ends_here(path),
            Activity::Final { outcome } => self.end_frame(path, *outcome, None),
            Activity::Choice => self.raise_own(path, &done(), None),
            Activity::Parallel(parallel) => match &parallel.over {
                Over::Branches(branches) if parallel.meets() => {
                    self.open_lines(path, &branches.clone())
                }
                Over::Branches(branches) => self.open_branches(path, branches, parallel.at_once()),
                Over::Items(items) => self.start_items(path, &items.clone()),
                Over::Lines(lines) => self.list_items(path, lines),
            },
            Activity::Call(call) => self.call_machine(path, machine, call),
            Activity::Task(_)
            | Activity::Stage(_)
            | Activity::Ask(_)
            | Activity::Test(_)
            | Activity::Pause(_) => self.begin(path, &Files::new()),
            Activity::Await | Activity::Wait { .. } => Ok(()),
        }
    }

    /// Ends a run that takes transitions without end and performs no effect.
    fn stop_endless(&mut self) -> Result<(), Refusal> {
        if !self.run.is_over() {
            let limit = self.machine.limits.steps_max;
            let message = format!("the run took {limit} steps without anything to do in between");
            self.emit(Event::RunEnded {
                outcome: Outcome::Failure,
                cause: Some(Cause::new(Code::LimitExceeded.as_str(), message)),
            });
        }
        Ok(())
    }

    /// Ends the frame at `path`: the run, a branch or a called machine.
    pub(super) fn end_frame(
        &mut self,
        path: &FramePath,
        outcome: Outcome,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let Some((parent, _)) = path.split_last() else {
            self.emit(Event::RunEnded { outcome, cause });
            return Ok(());
        };
        let (_, state) = self.at(&parent)?;
        match &state.activity {
            Activity::Call(call) => {
                self.machine_returned(&parent, path, &call.clone(), outcome, cause)
            }
            Activity::Parallel(Parallel {
                over: Over::Lines(_),
                on_error,
                ..
            }) => {
                let cause = match outcome {
                    Outcome::Success => None,
                    Outcome::Failure => Some(
                        cause
                            .unwrap_or_else(|| self.placed(path, Cause::new(1, "the item failed"))),
                    ),
                };
                self.end_item(&parent, *on_error, cause)
            }
            _ => {
                let outcome = match outcome {
                    Outcome::Success => RegionOutcome::Succeeded,
                    Outcome::Failure => RegionOutcome::Failed,
                };
                self.end_branch(path, outcome, cause)
            }
        }
    }

    /// Raises an event of the state's own activity. Without a matching transition, its frame fails.
    pub(super) fn raise_own(
        &mut self,
        path: &FramePath,
        event: &EventName,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        if self.moves > self.machine.limits.steps_max {
            return self.stop_endless();
        }
        let cause = cause.map(|cause| self.on_failure(path, cause));
        if *event == done()
            && let Some(unreadable) = self.note_unreadable(path, event)?
        {
            return self.raise_own(path, &error(), Some(unreadable));
        }
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        let scope = self.scope(machine, frame);
        let chosen = match rule_of(state, frame, event) {
            Some(rule) => choose(scope, event, rule, &Object::new())
                .map_err(|refusal| Cause::new(refusal.code.as_str(), refusal.message)),
            None => Err(Cause::new(
                Code::NoBranchMatched.as_str(),
                format!(
                    "`{}` says nothing about `{event}`",
                    machine.shown(&frame.at)
                ),
            )),
        };
        if let Ok((index, transition)) = &chosen {
            self.note_conditions(path, event, *index, &transition.target)?;
        }
        match chosen {
            Ok((index, transition)) => match &transition.approval {
                Some(approval) => {
                    let message = approval
                        .message
                        .clone()
                        .unwrap_or_else(|| format!("may `{event}` be taken?"));
                    let asked = PendingTransition {
                        event: event.clone(),
                        index,
                        data: Object::new(),
                        message,
                        by: "interlock".to_owned(),
                    };
                    let question = self.question(path, &asked, &transition)?;
                    self.park(path, asked, question, approval.kind);
                    Ok(())
                }
                None => self.take_own(path, &transition.target, event),
            },
            Err(found) => self.on_no_transition(path, event, cause, found),
        }
    }

    fn take_own(
        &mut self,
        path: &FramePath,
        target: &Target,
        event: &EventName,
    ) -> Result<(), Refusal> {
        let taken = Taken {
            event: event.clone(),
            data: Object::new(),
            by: "interlock".to_owned(),
        };
        self.moves += 1;
        // Leaving a machine enters none of its states.
        let enters = !matches!(target, Target::End(_));
        if enters && self.before_entry()? {
            return Ok(());
        }
        if *event != error() && self.ends_item(path, target)? {
            return Ok(());
        }
        self.take(path, target, taken)
    }

    /// Checks again the guards of the transition that waits at `path`.
    pub(super) fn recheck(
        &self,
        path: &FramePath,
        pending: &PendingTransition,
    ) -> Result<Target, Refusal> {
        let (frame, machine) = self.stand(path)?;
        let rule = state_of(machine, frame)?.on.get(&pending.event);
        let transition = rule
            .and_then(|rule| rule.transitions.get(pending.index))
            .ok_or_else(|| {
                Refusal::new(
                    Code::UnknownEvent,
                    format!("`{}` no longer has `{}`", frame.at, pending.event),
                )
            })?;
        let failed = unmet(self.scope(machine, frame), &transition.guards);
        if failed.is_empty() {
            return Ok(transition.target.clone());
        }
        Err(Refusal::new(
            Code::GuardFailed,
            format!(
                "`{}` needs guards that no longer hold: {}",
                pending.event,
                reasons(&failed)
            ),
        ))
    }
}
