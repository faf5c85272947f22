//! What follows from entering a state: branches open, machines are called, ends are passed up.

use super::{
    Work, carry,
    durable::settles,
    question::Subject,
    transitions::{Taking, choose, done, error, is_failed, reasons, state_of},
};
use crate::{
    event::{BranchOutcome, BranchStart, Cause, Event},
    holds::{Scope, unmet},
    machine::{Activity, Branch, Call, Fork, Join, Machine, MapOver, Object, Outcome, Target},
    names::{EventName, FramePath},
    number::deep_equal,
    refusal::{Code, Refusal},
    run::Frame,
    text::{Files, Places, Sources},
};
use serde_json::Value;

impl Work<'_> {
    /// Carries on from the state that the frame at `path` has just entered.
    ///
    /// What follows from that is carried on with here too, one after the other:
    /// however long the way, the stack does not grow.
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
            .is_some_and(|frame| !frame.children.is_empty());
        if began || !self.is_open(path) {
            return Ok(());
        }
        if let Some(outcome) = self.branch_outcome(path) {
            return self.end_branch(path, outcome, None);
        }
        let (frame, machine) = self.stand(path)?;
        match &state_of(machine, frame)?.activity {
            Activity::Final { outcome } => self.end_frame(path, *outcome, None),
            Activity::Choice => self.raise_own(path, &done(), None),
            Activity::Fork(fork) => self.open_fork(path, fork),
            Activity::Map(map) => self.open_map(path, map),
            Activity::Call(call) => self.call_machine(path, machine, call),
            Activity::Each(each) => self.list_items(path, each),
            Activity::Task(_)
            | Activity::Stage(_)
            | Activity::Ask(_)
            | Activity::Test(_)
            | Activity::Pause(_) => self.begin(path, &Files::new()),
            Activity::Await | Activity::Wait { .. } => Ok(()),
        }
    }

    /// Ends a run that moved on and on without anything to do.
    fn stop_endless(&mut self) -> Result<(), Refusal> {
        if !self.run.is_over() {
            let limit = self.machine.limits.steps_max;
            let message = format!("the run took {limit} steps without anything to do in between");
            let cause = Cause {
                code: Value::from(Code::LimitExceeded.as_str()),
                message,
                ..Cause::default()
            };
            self.emit(Event::RunEnded {
                outcome: Outcome::Failure,
                cause: Some(cause),
            });
        }
        Ok(())
    }

    /// Returns how the branch at `path` has just ended, if it has.
    fn branch_outcome(&self, path: &FramePath) -> Option<BranchOutcome> {
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
            Activity::Fork(fork) => fork.branches.get(name).cloned(),
            Activity::Map(map) => Some(map.branch.clone()),
            _ => None,
        }
    }

    fn open_fork(&mut self, path: &FramePath, fork: &Fork) -> Result<(), Refusal> {
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

    fn open_map(&mut self, path: &FramePath, map: &MapOver) -> Result<(), Refusal> {
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
        self.emit(Event::ForkOpened {
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

    /// Opens the next branch of a fork that does not run all at once.
    fn open_next(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let Activity::Fork(fork) = &state_of(machine, frame)?.activity else {
            return Ok(());
        };
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

    fn call_machine(
        &mut self,
        path: &FramePath,
        caller: &Machine,
        call: &Call,
    ) -> Result<(), Refusal> {
        let limit = self.machine.limits.call_depth_max;
        let cause = |code: &str, message: String| {
            Some(Cause {
                code: Value::from(code),
                message,
                ..Cause::default()
            })
        };
        if self.call_depth(path) >= limit {
            let message = format!("calls are nested {limit} deep, which is the limit");
            return self.raise_own(path, &error(), cause(Code::LimitExceeded.as_str(), message));
        }
        let Some(called) = self.machine.machines.get(&call.machine) else {
            let message = format!(
                "`{}` calls `{}`, which is not known",
                caller.id, call.machine
            );
            return self.raise_own(path, &error(), cause("unknown_machine", message));
        };
        if self.is_durable() && self.states_used_up() {
            return self.stop_used_up();
        }
        let passed = match self.passed(path, call) {
            Ok(passed) => passed,
            Err(failed) => return self.raise_own(path, &error(), Some(*failed)),
        };
        let mut context = called.context.clone();
        context.extend(call.input.clone());
        context.extend(passed);
        self.emit(Event::MachineCalled {
            path: path.clone(),
            machine: call.machine.clone(),
            shown: called.id.to_string(),
            initial: called.initial.clone(),
            context,
        });
        self.settle(&path.child(called.id.as_str()))
    }

    /// Fills the texts that a call passes.
    fn passed(&self, path: &FramePath, call: &Call) -> Result<Object, Box<Cause>> {
        let mut passed = Object::new();
        let Some(frame) = self.run.frame(path) else {
            return Ok(passed);
        };
        let (none, files) = (Places::default(), Files::new());
        let sources = Sources {
            context: &frame.context,
            caught: frame.caught.as_deref(),
            places: self.run.places.as_deref().unwrap_or(&none),
            files: &files,
        };
        for (key, text) in &call.passed {
            let filled = text.fill(&sources).map_err(|lack| lack.below(key));
            match filled {
                Ok(value) => drop(passed.insert(key.clone(), Value::String(value))),
                Err(lack) => return Err(Box::new(self.placed(path, carry::lack_cause(lack)))),
            }
        }
        Ok(passed)
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
        let (frame, machine) = self.stand(&parent)?;
        match &state_of(machine, frame)?.activity {
            Activity::Call(call) => {
                self.machine_returned(&parent, path, &call.clone(), outcome, cause)
            }
            Activity::Each(each) => {
                let cause = match outcome {
                    Outcome::Success => None,
                    Outcome::Failure => {
                        Some(cause.unwrap_or_else(|| Cause::new(1, "the item failed")))
                    }
                };
                self.end_item(&parent, &each.clone(), cause)
            }
            _ => {
                let outcome = match outcome {
                    Outcome::Success => BranchOutcome::Succeeded,
                    Outcome::Failure => BranchOutcome::Failed,
                };
                self.end_branch(path, outcome, cause)
            }
        }
    }

    fn machine_returned(
        &mut self,
        parent: &FramePath,
        path: &FramePath,
        call: &Call,
        outcome: Outcome,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let name = path
            .split_last()
            .map(|(_, name)| name.to_owned())
            .unwrap_or_default();
        let at = frame.at.clone();
        let output = frame.output.as_ref().clone();
        let merged: Object = frame
            .context
            .iter()
            .filter(|(key, _)| match &call.output {
                Some(keys) => keys.contains(key),
                None => !call.input.contains_key(*key),
            })
            .map(|(key, value)| match &call.namespace {
                Some(namespace) => (format!("{namespace}::{key}"), value.clone()),
                None => (key.clone(), value.clone()),
            })
            .collect();
        let durable = self.is_durable();
        let cause = (outcome == Outcome::Failure).then(|| {
            cause.unwrap_or_else(|| Cause {
                code: Value::from("machine_failed"),
                message: format!("`{name}` ended in `{at}`"),
                ..Cause::default()
            })
        });
        self.emit(Event::MachineReturned {
            path: parent.clone(),
            outcome,
            merged,
            output: if durable && cause.is_none() {
                output.clone()
            } else {
                Value::Null
            },
            cause: cause.clone().filter(|_| durable),
        });
        match cause {
            None => self.finish_composite(parent, output),
            Some(cause) => self.raise_own(parent, &error(), Some(cause)),
        }
    }

    fn end_branch(
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
            BranchOutcome::Succeeded | BranchOutcome::Cancelled => None,
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
            Activity::Fork(fork) => fork.join,
            Activity::Map(map) => map.join,
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
            Join::Settle | Join::FailFast => {
                let open = frame.children.iter().any(|child| child.ended.is_none());
                let outcome = if failed.is_some() {
                    Outcome::Failure
                } else {
                    Outcome::Success
                };
                (!open && frame.children.len() == whole).then_some(outcome)
            }
        };
        let cause = if settles(join) {
            all_failures(frame)
        } else {
            failed.and_then(|child| child.cause.clone())
        };
        if let (Some(Outcome::Failure), Some(cause)) = (verdict, &cause)
            && settles(join)
            && !self.is_caught(path, cause)
        {
            return self.end_uncaught(cause.clone());
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
        let merged = match outcome {
            _ if settles => merge_captured(frame),
            Outcome::Success => merge(frame),
            Outcome::Failure => Object::new(),
        };
        let open: Vec<FramePath> = frame
            .children
            .iter()
            .filter(|child| child.ended.is_none())
            .map(|child| path.child(&child.name))
            .collect();
        for branch in open {
            self.emit(Event::BranchEnded {
                path: branch,
                outcome: BranchOutcome::Cancelled,
                cause: None,
            });
        }
        self.emit(Event::ForkJoined {
            path: path.clone(),
            outcome,
            merged,
            cause: cause.clone().filter(|_| settles),
        });
        match outcome {
            Outcome::Success => self.raise_own(path, &done(), None),
            Outcome::Failure => self.raise_own(path, &error(), cause),
        }
    }

    /// Raises an event of the state's own activity. Without a way on, its frame fails.
    pub(super) fn raise_own(
        &mut self,
        path: &FramePath,
        event: &EventName,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        if self.moves > self.machine.limits.steps_max {
            return self.stop_endless();
        }
        self.note_failure(path, cause.as_ref());
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        let scope = Scope {
            machine,
            run: &self.run,
            frame,
        };
        let chosen = match state.on.get(event) {
            Some(rule) => choose(scope, event, rule, &Object::new()).map_err(|refusal| Cause {
                code: Value::from(refusal.code.as_str()),
                message: refusal.message,
                ..Cause::default()
            }),
            None => Err(cause.clone().unwrap_or_else(|| Cause {
                code: Value::from(Code::NoBranchMatched.as_str()),
                message: format!(
                    "`{}` says nothing about `{event}`",
                    machine.shown(&frame.at)
                ),
                ..Cause::default()
            })),
        };
        match chosen {
            Ok((index, transition)) => match &transition.approval {
                Some(approval) => {
                    let message = approval
                        .message
                        .clone()
                        .unwrap_or_else(|| format!("may `{event}` be taken?"));
                    let data = Object::new();
                    let subject = Subject {
                        event,
                        index,
                        transition: &transition,
                        data: &data,
                    };
                    let question = self.question(path, subject)?;
                    self.emit(Event::ApprovalRequested {
                        path: path.clone(),
                        event: event.clone(),
                        index,
                        data: Object::new(),
                        message,
                        by: "interlock".to_owned(),
                        question: Some(question),
                        at_ms: Some(self.at_ms),
                    });
                    Ok(())
                }
                None => self.take_own(path, &transition.target, event),
            },
            Err(first) => {
                let cause = if *event == error() {
                    cause.unwrap_or(first)
                } else {
                    self.placed(path, first)
                };
                if !self.is_caught(path, &cause) {
                    return self.end_uncaught(cause);
                }
                self.end_frame(path, Outcome::Failure, Some(cause))
            }
        }
    }

    /// Puts a failure of a composite state where its guards look for it.
    fn note_failure(&mut self, path: &FramePath, cause: Option<&Cause>) {
        let Some(cause) = cause.filter(|_| self.is_durable()) else {
            return;
        };
        let known = self
            .run
            .frame(path)
            .and_then(|frame| frame.failure.as_ref());
        if known != Some(cause) {
            self.emit(Event::ActivityEnded {
                path: path.clone(),
                output: Value::Null,
                error: Some(cause.clone()),
                key: None,
            });
        }
    }

    fn take_own(
        &mut self,
        path: &FramePath,
        target: &Target,
        event: &EventName,
    ) -> Result<(), Refusal> {
        let taking = Taking {
            event: event.clone(),
            data: Object::new(),
            by: "interlock".to_owned(),
        };
        self.moves += 1;
        if self.is_durable() && self.states_used_up() {
            return self.stop_used_up();
        }
        self.take(path, target, taking)
    }

    /// Checks again the guards of the transition that waits at `path`.
    pub(super) fn recheck(&self, path: &FramePath) -> Result<Target, Refusal> {
        let (frame, machine) = self.stand(path)?;
        let parked = frame
            .parked
            .as_ref()
            .ok_or_else(|| Refusal::new(Code::NothingPending, "nothing waits here"))?;
        let rule = state_of(machine, frame)?.on.get(&parked.event);
        let transition = rule
            .and_then(|rule| rule.transitions.get(parked.index))
            .ok_or_else(|| {
                Refusal::new(
                    Code::UnknownEvent,
                    format!("`{}` no longer has `{}`", frame.at, parked.event),
                )
            })?;
        let failed = unmet(
            Scope {
                machine,
                run: &self.run,
                frame,
            },
            &transition.guards,
        );
        if failed.is_empty() {
            return Ok(transition.target.clone());
        }
        Err(Refusal::new(
            Code::GuardFailed,
            format!(
                "`{}` needs guards that no longer hold: {}",
                parked.event,
                reasons(&failed)
            ),
        ))
    }
}

/// Merges what branches captured, in the order written; failed ones too.
fn merge_captured(frame: &Frame) -> Object {
    let mut merged = Object::new();
    for child in &frame.children {
        for key in &child.frame.captured {
            if let Some(value) = child.frame.context.get(key) {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    merged
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

/// Merges what succeeded branches changed, in the order written.
fn merge(frame: &Frame) -> Object {
    let mut merged = Object::new();
    for child in frame
        .children
        .iter()
        .filter(|child| child.ended == Some(BranchOutcome::Succeeded))
    {
        for (key, value) in child.frame.context.iter() {
            let unchanged = frame
                .context
                .get(key)
                .is_some_and(|before| deep_equal(before, value));
            if !unchanged {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    merged
}
