//! Branches of a fork: how they start, end and join.

use indexmap::IndexMap;
use serde_json::Value;

use crate::{
    decide::{
        Work,
        transitions::{done, error, state_of},
    },
    event::{BranchStart, Cause, Event, Merged, RegionKind, RegionOutcome, RegionsStart},
    machine::{Activity, Branch, Join, Merge, Outcome, Over, Parallel},
    merge,
    names::FramePath,
    refusal::{Code, Refusal},
    run::Frame,
};

/// Name of the state whose entry fails a branch.
const FAILED: &str = "failed";

impl Work<'_> {
    /// Returns how the branch at `path` has just ended, if it has.
    pub(in crate::decide) fn branch_outcome(&self, path: &FramePath) -> Option<RegionOutcome> {
        let terminal = self.branch_of(path)?.terminal;
        let frame = self.run.frame(path)?;
        if frame.at == terminal {
            return Some(RegionOutcome::Succeeded);
        }
        let ends = matches!(frame.state(self.machine)?.activity, Activity::Final { .. });
        (ends || frame.at.as_str() == FAILED).then_some(RegionOutcome::Failed)
    }

    /// Returns the branch that the frame at `path` belongs to, if it is one.
    fn branch_of(&self, path: &FramePath) -> Option<Branch> {
        let (parent, name) = path.split_last()?;
        let frame = self.run.frame(&parent)?;
        let parallel = frame.state(self.machine)?.activity.parallel()?;
        match &parallel.over {
            // Lines that meet end where the machine does, whatever the name of the state.
            Over::Branches(branches) if !parallel.meets() => branches.get(name).cloned(),
            _ => None,
        }
    }

    /// Starts the branches of a frame; those beyond `at_once` start when others have ended.
    pub(in crate::decide) fn open_branches(
        &mut self,
        path: &FramePath,
        branches: &IndexMap<String, Branch>,
        at_once: usize,
    ) -> Result<(), Refusal> {
        let limit = self.machine.limits.branches_max;
        if branches.len() > limit {
            let message = format!("{} branches and {limit} is the limit", branches.len());
            let cause = Cause::new(Code::LimitExceeded.as_str(), message);
            return self.raise_own(path, &error(), Some(cause));
        }
        let branches: Vec<BranchStart> = branches.iter().map(start).take(at_once).collect();
        let is_empty = branches.is_empty();
        self.start_regions(path, RegionsStart::Branches(branches))?;
        if is_empty {
            return self.join(path, Outcome::Success, None);
        }
        Ok(())
    }

    /// Restarts failed branches below `path`, as far as their forks have room.
    pub(in crate::decide) fn reopen_branches(&mut self, path: &FramePath) -> Result<(), Refusal> {
        while self.reopen_next(path)? {}
        let (frame, _) = self.stand(path)?;
        let below = open_below(frame, path);
        below
            .iter()
            .try_for_each(|branch| self.reopen_branches(branch))
    }

    /// Restarts the first branch that waits for its turn, if there is room; tells whether one did.
    fn reopen_next(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let (frame, state) = self.at(path)?;
        let parallel = state.activity.parallel();
        let at_once = parallel.map_or(usize::MAX, Parallel::at_once);
        let open = frame.open_regions().count();
        let waiting = frame
            .regions
            .iter()
            .find(|region| region.ended_as(RegionOutcome::Waiting));
        let Some(region) = waiting.filter(|_| open < at_once) else {
            return Ok(false);
        };
        let branch = path.child(&region.name);
        self.emit(Event::RegionReopened {
            path: branch,
            at_ms: self.at_ms,
        });
        Ok(true)
    }

    /// Starts the next branch of a fork with a limit on concurrency.
    fn open_next(&mut self, path: &FramePath) -> Result<(), Refusal> {
        if self.reopen_next(path)? {
            return self.go_on_below(path);
        }
        let (frame, state) = self.at(path)?;
        let Some(parallel) = state.activity.parallel() else {
            return Ok(());
        };
        let Over::Branches(branches) = &parallel.over else {
            return Ok(());
        };
        if parallel.meets() {
            return Ok(());
        }
        if frame.open_regions().count() >= parallel.at_once() {
            return Ok(());
        }
        let Some(branch) = branches.get_index(frame.regions.len()).map(start) else {
            return Ok(());
        };
        self.start_regions(path, RegionsStart::Next(branch))
    }

    /// Continues from every state below `path` that was re-entered.
    fn go_on_below(&mut self, path: &FramePath) -> Result<(), Refusal> {
        self.reopen_branches(path)?;
        let entered = |leaf: &FramePath| {
            let frame = self.run.frame(leaf);
            path.holds(leaf) && frame.is_some_and(|frame| frame.stay.effect().is_none())
        };
        let leaves: Vec<FramePath> = self.run.open_leaves().into_iter().filter(entered).collect();
        leaves.iter().try_for_each(|leaf| self.settle(leaf))
    }

    pub(in crate::decide) fn end_branch(
        &mut self,
        path: &FramePath,
        outcome: RegionOutcome,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let cause = match outcome {
            RegionOutcome::Failed => Some(cause.unwrap_or_else(|| {
                let at = self
                    .run
                    .frame(path)
                    .map(|frame| frame.at.to_string())
                    .unwrap_or_default();
                let message = format!("branch `{path}` ended in `{at}`");
                self.placed(path, Cause::new("branch_failed", message))
            })),
            RegionOutcome::Succeeded
            | RegionOutcome::Cancelled
            | RegionOutcome::Waiting
            | RegionOutcome::Merged => None,
        };
        let kind = match self.items_around(path) {
            Some(_) => RegionKind::Item,
            None => RegionKind::Branch,
        };
        self.emit(Event::RegionEnded {
            path: path.clone(),
            kind,
            outcome,
            exits: Vec::new(),
            cause,
        });
        match path.split_last() {
            Some((parent, name)) => {
                self.try_join(&parent)?;
                // Where the fork has joined, no further branch of it begins: what stands there now is another
                // state, or waits for a person.
                let above = self.run.frame(&parent);
                let region = above.and_then(|frame| frame.region(name));
                let is_there = region.is_some_and(|region| !region.is_open());
                if is_there && self.is_open(&parent) {
                    self.open_next(&parent)?;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Joins the branches of the frame at `path`, if the condition of the join is met.
    fn try_join(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (frame, state) = self.at(path)?;
        let Some(parallel) = state.activity.parallel() else {
            return Ok(());
        };
        let branches = match &parallel.over {
            Over::Branches(branches) if !parallel.meets() => branches,
            Over::Branches(_) | Over::Items(_) => return self.line_ended(path),
            Over::Lines(_) => return Ok(()),
        };
        let whole = branches.len();
        let ended = |outcome| {
            frame
                .regions
                .iter()
                .filter(move |region| region.ended_as(outcome))
        };
        let all = |outcome| ended(outcome).count() == whole;
        let failed = frame.regions.iter().find_map(|region| region.failure());
        let verdict = match parallel.join {
            Join::All if failed.is_some() => Some(Outcome::Failure),
            Join::All => all(RegionOutcome::Succeeded).then_some(Outcome::Success),
            Join::Any if ended(RegionOutcome::Succeeded).next().is_some() => Some(Outcome::Success),
            Join::Any => all(RegionOutcome::Failed).then_some(Outcome::Failure),
            Join::FailFast if failed.is_some() => Some(Outcome::Failure),
            Join::Settled | Join::FailFast | Join::Converge => {
                let open = frame
                    .regions
                    .iter()
                    .any(|region| region.is_open() || region.ended_as(RegionOutcome::Waiting));
                let outcome = if failed.is_some() {
                    Outcome::Failure
                } else {
                    Outcome::Success
                };
                (!open && frame.regions.len() == whole).then_some(outcome)
            }
        };
        let waits = matches!(parallel.join, Join::Settled | Join::FailFast);
        let cause = if waits {
            all_failures(frame)
        } else {
            failed.cloned()
        };
        let cause = cause.map(|cause| match &parallel.fails_as {
            Some(code) => Cause {
                code: Value::from(code.as_str()),
                ..cause
            },
            None => cause,
        });
        if let (Some(Outcome::Failure), Some(cause)) = (verdict, &cause)
            && waits
            && self.fails_run(path, cause)?
        {
            return Ok(());
        }
        match verdict {
            Some(outcome) => self.join(path, outcome, cause),
            None => Ok(()),
        }
    }

    fn join(
        &mut self,
        path: &FramePath,
        outcome: Outcome,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let parallel = state_of(machine, frame)?.activity.parallel();
        let rule = parallel.map_or_else(Merge::default, |parallel| parallel.merge);
        let context = merge::branches(machine, frame, rule, outcome);
        for branch in open_below(frame, path) {
            self.on_leave(&branch)?;
            self.emit(Event::RegionEnded {
                path: branch,
                kind: RegionKind::Branch,
                outcome: RegionOutcome::Cancelled,
                exits: Vec::new(),
                cause: None,
            });
        }
        self.emit(Event::Joined {
            path: path.clone(),
            lines: Vec::new(),
            outcome,
            merged: Merged {
                context,
                ..Merged::default()
            },
            failed: 0,
            cause: cause.clone().filter(|_| rule == Merge::Captured),
            next: None,
            may_part: false,
        });
        match outcome {
            Outcome::Success => self.raise_own(path, &done(), None),
            Outcome::Failure => self.raise_own(path, &error(), cause),
        }
    }
}

/// Returns the paths of the open branches of `frame`, whose path is `path`.
fn open_below(frame: &Frame, path: &FramePath) -> Vec<FramePath> {
    let open = frame.open_regions();
    open.map(|region| path.child(&region.name)).collect()
}

fn start((name, branch): (&String, &Branch)) -> BranchStart {
    BranchStart {
        name: name.clone(),
        initial: branch.initial.clone(),
    }
}

/// Combines all failures into one cause: the first in the order written, or in time if others were cancelled.
fn all_failures(frame: &Frame) -> Option<Cause> {
    let failed: Vec<(&str, &Cause)> = frame
        .regions
        .iter()
        .filter_map(|region| Some((region.name.as_str(), region.failure()?)))
        .collect();
    let (_, first) = failed.first()?;
    let told: Vec<String> = failed
        .iter()
        .map(|(name, cause)| format!("`{name}`: {}", cause.message))
        .collect();
    Some(Cause {
        message: told.join("; "),
        ..(*first).clone()
    })
}
