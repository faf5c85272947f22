//! Branches of a frame: opened, ended, joined.

use serde_json::Value;

use super::{
    Work,
    durable::settles,
    transitions::{done, error, is_failed, state_of},
};
use crate::{
    event::{BranchOutcome, BranchStart, Cause, Event, Merged},
    evolve::UPSTREAM,
    machine::{Activity, Branch, Fork, Join, MapOver, Object, Outcome},
    merge,
    names::FramePath,
    refusal::{Code, Refusal},
    run::Frame,
};

impl Work<'_> {
    /// Returns how the branch at `path` has just ended, if it has.
    pub(super) fn branch_outcome(&self, path: &FramePath) -> Option<BranchOutcome> {
        let terminal = self.branch_of(path)?.terminal;
        let frame = self.run.frame(path)?;
        if frame.at == terminal {
            return Some(BranchOutcome::Succeeded);
        }
        let machine = self.machine.called(frame.machine.as_ref())?;
        let ends = matches!(
            machine.states.get(&frame.at)?.activity,
            Activity::Final { .. }
        );
        (ends || is_failed(&frame.at)).then_some(BranchOutcome::Failed)
    }

    /// Returns the branch that the frame at `path` is, if it is one.
    fn branch_of(&self, path: &FramePath) -> Option<Branch> {
        let (parent, name) = path.split_last()?;
        let frame = self.run.frame(&parent)?;
        let machine = self.machine.called(frame.machine.as_ref())?;
        match &machine.states.get(&frame.at)?.activity {
            // Lines that meet end where the machine does, whatever the name of the state.
            Activity::Fork(fork) if fork.join == Join::Meet => None,
            Activity::Fork(fork) => fork.branches.get(name).cloned(),
            Activity::Map(map) => Some(map.branch.clone()),
            _ => None,
        }
    }

    pub(super) fn open_fork(&mut self, path: &FramePath, fork: &Fork) -> Result<(), Refusal> {
        let branches = fork
            .branches
            .iter()
            .map(|(name, branch)| BranchStart {
                name: name.clone(),
                initial: branch.initial.clone(),
                context: Object::new(),
            })
            .collect();
        self.open_branches(path, branches, fork.at_once)
    }

    pub(super) fn open_map(&mut self, path: &FramePath, map: &MapOver) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let context = Value::Object(frame.context.as_ref().clone());
        let items = match context.pointer(&map.items) {
            Some(Value::Array(items)) => items.clone(),
            _ => {
                let message = format!("`{}` is not a list", map.items);
                return self.raise_own(
                    path,
                    &error(),
                    Some(Cause {
                        code: Value::from("not_a_list"),
                        message,
                        ..Cause::default()
                    }),
                );
            }
        };
        let branches = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| BranchStart {
                name: index.to_string(),
                initial: map.branch.initial.clone(),
                context: std::iter::once((map.item.clone(), item)).collect(),
            })
            .collect();
        self.open_branches(path, branches, None)
    }

    /// Opens the branches of a frame; those beyond `at_once` follow when others have ended.
    fn open_branches(
        &mut self,
        path: &FramePath,
        mut branches: Vec<BranchStart>,
        at_once: Option<usize>,
    ) -> Result<(), Refusal> {
        let limit = self.machine.limits.branches_max;
        if branches.len() > limit {
            let message = format!("{} branches and {limit} is the limit", branches.len());
            let cause = Cause {
                code: Value::from(Code::LimitExceeded.as_str()),
                message,
                ..Cause::default()
            };
            return self.raise_own(path, &error(), Some(cause));
        }
        branches.truncate(at_once.unwrap_or(usize::MAX).max(1));
        let names: Vec<String> = branches.iter().map(|branch| branch.name.clone()).collect();
        self.emit(Event::ForkStarted {
            path: path.clone(),
            branches,
        });
        if names.is_empty() {
            return self.join(path, Outcome::Success, None);
        }
        // The last is taken first: what is due is a stack.
        for name in names.iter().rev() {
            self.settle(&path.child(name))?;
        }
        Ok(())
    }

    /// Has branches below `path` that had failed go on, as far as their forks have room.
    pub(super) fn reopen_branches(&mut self, path: &FramePath) -> Result<(), Refusal> {
        while self.reopen_next(path)? {}
        let (frame, _) = self.stand(path)?;
        let below: Vec<FramePath> = frame
            .children
            .iter()
            .filter(|child| child.ended.is_none())
            .map(|child| path.child(&child.name))
            .collect();
        below
            .iter()
            .try_for_each(|branch| self.reopen_branches(branch))
    }

    /// Has the first branch that waits for its turn go on, if there is room; tells whether one did.
    fn reopen_next(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let (frame, machine) = self.stand(path)?;
        let at_once = match &state_of(machine, frame)?.activity {
            Activity::Fork(fork) => fork.at_once,
            _ => None,
        };
        let open = frame
            .children
            .iter()
            .filter(|child| child.ended.is_none())
            .count();
        let waiting = frame
            .children
            .iter()
            .find(|child| child.ended == Some(BranchOutcome::Waiting));
        let Some(child) = waiting.filter(|_| open < at_once.unwrap_or(usize::MAX).max(1)) else {
            return Ok(false);
        };
        let branch = path.child(&child.name);
        self.emit(Event::BranchReopened {
            path: branch,
            at_ms: self.at_ms,
        });
        Ok(true)
    }

    /// Opens the next branch of a fork that does not run all at once.
    fn open_next(&mut self, path: &FramePath) -> Result<(), Refusal> {
        if self.reopen_next(path)? {
            return self.go_on_below(path);
        }
        let (frame, machine) = self.stand(path)?;
        let Activity::Fork(fork) = &state_of(machine, frame)?.activity else {
            return Ok(());
        };
        if fork.join == Join::Meet {
            return Ok(());
        }
        let running = frame
            .children
            .iter()
            .filter(|child| child.ended.is_none())
            .count();
        if running >= fork.at_once.unwrap_or(usize::MAX).max(1) {
            return Ok(());
        }
        let Some((name, branch)) = fork.branches.get_index(frame.children.len()) else {
            return Ok(());
        };
        let name = name.clone();
        self.emit(Event::BranchOpened {
            path: path.clone(),
            branch: BranchStart {
                name: name.clone(),
                initial: branch.initial.clone(),
                context: Object::new(),
            },
        });
        self.settle(&path.child(&name))
    }

    /// Carries on from every state below `path` that was entered again.
    fn go_on_below(&mut self, path: &FramePath) -> Result<(), Refusal> {
        self.reopen_branches(path)?;
        let entered = |leaf: &FramePath| {
            let frame = self.run.frame(leaf);
            path.holds(leaf) && frame.is_some_and(|frame| frame.stay.effect.is_none())
        };
        let leaves: Vec<FramePath> = self.run.open_leaves().into_iter().filter(entered).collect();
        leaves.iter().try_for_each(|leaf| self.settle(leaf))
    }

    pub(super) fn end_branch(
        &mut self,
        path: &FramePath,
        outcome: BranchOutcome,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let cause = match outcome {
            BranchOutcome::Failed => Some(cause.unwrap_or_else(|| {
                let at = self
                    .run
                    .frame(path)
                    .map(|frame| frame.at.to_string())
                    .unwrap_or_default();
                Cause {
                    code: Value::from("branch_failed"),
                    message: format!("branch `{path}` ended in `{at}`"),
                    ..Cause::default()
                }
            })),
            BranchOutcome::Succeeded
            | BranchOutcome::Cancelled
            | BranchOutcome::Waiting
            | BranchOutcome::Merged => None,
        };
        self.emit(Event::BranchEnded {
            path: path.clone(),
            outcome,
            cause,
        });
        match path.split_last() {
            Some((parent, _)) => {
                self.try_join(&parent)?;
                if self.is_open(&parent) {
                    self.open_next(&parent)?;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Joins the branches of the frame at `path`, if it is time.
    fn try_join(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let join = match &state_of(machine, frame)?.activity {
            Activity::Fork(fork) if fork.join == Join::Meet => return self.line_ended(path),
            Activity::Fork(fork) => fork.join,
            Activity::Map(map) => map.join,
            Activity::Spread(_) => return self.line_ended(path),
            _ => return Ok(()),
        };
        let whole = match &state_of(machine, frame)?.activity {
            Activity::Fork(fork) => fork.branches.len(),
            _ => frame.children.len(),
        };
        let ended = |outcome| {
            frame
                .children
                .iter()
                .filter(move |child| child.ended == Some(outcome))
        };
        let all = |outcome| ended(outcome).count() == whole;
        let failed = ended(BranchOutcome::Failed).next();
        let verdict = match join {
            Join::All if failed.is_some() => Some(Outcome::Failure),
            Join::All => all(BranchOutcome::Succeeded).then_some(Outcome::Success),
            Join::Any if ended(BranchOutcome::Succeeded).next().is_some() => Some(Outcome::Success),
            Join::Any => all(BranchOutcome::Failed).then_some(Outcome::Failure),
            Join::FailFast if failed.is_some() => Some(Outcome::Failure),
            Join::Settle | Join::FailFast | Join::Meet => {
                let open = frame
                    .children
                    .iter()
                    .any(|child| matches!(child.ended, None | Some(BranchOutcome::Waiting)));
                let outcome = if failed.is_some() {
                    Outcome::Failure
                } else {
                    Outcome::Success
                };
                (!open && frame.children.len() == whole).then_some(outcome)
            }
        };
        let fails_as = match &state_of(machine, frame)?.activity {
            Activity::Fork(fork) => fork.fails_as.as_deref(),
            _ => None,
        };
        let cause = if settles(join) {
            all_failures(frame)
        } else {
            failed.and_then(|child| child.cause.clone())
        };
        let cause = cause.map(|cause| match fails_as {
            Some(code) => Cause {
                code: Value::from(code),
                ..cause
            },
            None => cause,
        });
        if let (Some(Outcome::Failure), Some(cause)) = (verdict, &cause)
            && settles(join)
            && let Some(cause) = self.uncaught(path, cause)
        {
            return self.end_uncaught(cause);
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
        let settles = match &state_of(machine, frame)?.activity {
            Activity::Fork(fork) => settles(fork.join),
            _ => false,
        };
        let mut context = match outcome {
            _ if settles => merge::captured(frame),
            Outcome::Success => merge::changed(frame),
            Outcome::Failure => Object::new(),
        };
        if context.shift_remove(UPSTREAM).is_some() && outcome == Outcome::Success {
            context.insert(UPSTREAM.to_owned(), merge::upstream(machine, frame));
        }
        let open: Vec<FramePath> = frame
            .children
            .iter()
            .filter(|child| child.ended.is_none())
            .map(|child| path.child(&child.name))
            .collect();
        for branch in open {
            self.cancel_stages(&branch)?;
            self.emit(Event::BranchEnded {
                path: branch,
                outcome: BranchOutcome::Cancelled,
                cause: None,
            });
        }
        self.emit(Event::Joined {
            path: path.clone(),
            outcome,
            merged: Merged {
                context,
                ..Merged::default()
            },
            cause: cause.clone().filter(|_| settles),
            may_part: false,
        });
        match outcome {
            Outcome::Success => self.raise_own(path, &done(), None),
            Outcome::Failure => self.raise_own(path, &error(), cause),
        }
    }
}

/// Makes one cause of all failures: the first in the order written, or in time where others were cancelled.
fn all_failures(frame: &Frame) -> Option<Cause> {
    let failed: Vec<(&str, &Cause)> = frame
        .children
        .iter()
        .filter(|child| child.ended == Some(BranchOutcome::Failed))
        .filter_map(|child| Some((child.name.as_str(), child.cause.as_ref()?)))
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
