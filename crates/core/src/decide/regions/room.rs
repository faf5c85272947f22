//! Limits on active states and on the states of one region, and the effect of a failed region on others.

use crate::{
    decide::{Work, transitions::state_of},
    event::{Cause, RegionOutcome},
    machine::{Join, Machine, OnItemError, Over, Parallel},
    names::FramePath,
    refusal::{Code, Refusal},
    run::{Frame, RunningAt},
};

impl Work<'_> {
    /// Returns whether a failure prevents further states from beginning.
    pub(in crate::decide) fn is_failing(&self) -> bool {
        failure_below(self.machine, &self.run.root).is_some()
    }

    /// Begins states that waited for room, in the order of the regions.
    pub(in crate::decide) fn begin_due(&mut self) -> Result<(), Refusal> {
        if self.machine.limits.at_once.is_none() || self.run.is_over() || self.run.paused.is_some()
        {
            return Ok(());
        }
        for path in self.run.open_leaves() {
            if self.is_open(&path) && self.has_room() {
                let waits = self.run.frame(&path).is_some_and(|frame| {
                    frame.stay.effect().is_none()
                        && frame.stay.pending_transition().is_none()
                        && !frame.stay.waits_at_join()
                });
                if waits {
                    self.settle(&path)?;
                }
            }
        }
        self.end_failing()
    }

    /// Returns whether one more state may be active.
    pub(in crate::decide) fn has_room(&self) -> bool {
        let Some(limit) = self.machine.limits.at_once else {
            return true;
        };
        let busy = self
            .run
            .open_leaves()
            .iter()
            .filter(|leaf| {
                self.run
                    .frame(leaf)
                    .and_then(|frame| frame.stay.effect())
                    .is_some_and(|effect| effect.at == RunningAt::Started)
            })
            .count();
        busy < limit.max(1) && !self.is_failing()
    }

    /// Ends a run in which a region failed, once no state is active any more.
    fn end_failing(&mut self) -> Result<(), Refusal> {
        if self.run.is_over() || !self.is_failing() {
            return Ok(());
        }
        let at_work = self.run.open_leaves().iter().any(|leaf| {
            self.run
                .frame(leaf)
                .is_some_and(|frame| frame.stay.effect().is_some())
        });
        if at_work {
            return Ok(());
        }
        match failure_below(self.machine, &self.run.root) {
            Some(cause) => self.end_uncaught(cause),
            None => Ok(()),
        }
    }

    /// Fails a region that has entered too many states.
    pub(in crate::decide) fn line_too_long(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let Some(limit) = self.machine.limits.line_states_max else {
            return Ok(false);
        };
        let (frame, machine) = self.stand(path)?;
        // What is made for the workflow is none of its states.
        let state = state_of(machine, frame)?;
        let counted = state.shown_as.is_none() && !state.ends_lines;
        if !counted || frame.stay.effect().is_some() || frame.line.steps <= limit {
            return Ok(false);
        }
        let at = machine.shown(&frame.at).to_string();
        let message = format!(
            "one line has entered {limit} states, which is its limit; it would enter `{at}` next"
        );
        let cause = self.placed(path, Cause::new(Code::LimitExceeded.as_str(), message));
        self.fail_line(path, cause)?;
        Ok(true)
    }

    /// Ends a region, or the run if it has none, with a failure that nothing handles.
    pub(in crate::decide) fn fail_line(
        &mut self,
        path: &FramePath,
        cause: Cause,
    ) -> Result<(), Refusal> {
        if !self.is_line(path) {
            return self.end_uncaught(cause);
        }
        self.end_branch(path, RegionOutcome::Failed, Some(cause))
    }
}

/// Returns the first failure that counts, in the order of the regions.
pub(super) fn first_failure(holder: &Frame, parallel: &Parallel) -> Option<Cause> {
    if parallel.on_error != OnItemError::Fail {
        return None;
    }
    let mut regions = holder.regions.iter();
    let (first, cause) = regions.find_map(|region| Some((region, region.failure()?)))?;
    let cause = cause.clone();
    Some(match parallel.over {
        Over::Items(_) => Cause {
            message: format!(
                "item {} of {}: {}",
                first.name,
                holder.regions.len(),
                cause.message
            ),
            ..cause
        },
        Over::Branches(_) | Over::Lines(_) => cause,
    })
}

fn failure_below(machine: &Machine, frame: &Frame) -> Option<Cause> {
    let parallel = frame
        .state(machine)
        .and_then(|state| state.activity.parallel());
    let own = parallel
        .filter(|parallel| parallel.join == Join::Converge)
        .and_then(|parallel| first_failure(frame, parallel));
    own.or_else(|| {
        let mut open = frame.open_regions();
        open.find_map(|region| failure_below(machine, &region.frame))
    })
}
