//! Lines of a fork that meet, and lines of items.

use std::collections::BTreeSet;

use super::{
    Work,
    transitions::{done, error, state_of},
};
use crate::{
    dialogue::items,
    event::{BranchOutcome, BranchStart, Cause, Event},
    machine::{Activity, Fork, Join, Machine, Object, OnItemError, Spread, State, Target},
    names::{FramePath, StateName},
    refusal::{Code, Refusal},
    run::{Child, Frame, RunningAt},
};

impl Work<'_> {
    /// Returns the state around the line at `path`, if it is one of lines that meet or of items.
    fn around(&self, path: &FramePath) -> Option<(FramePath, &State)> {
        let (parent, _) = path.split_last()?;
        let frame = self.run.frame(&parent)?;
        let machine = self.machine.called(frame.machine.as_ref())?;
        Some((parent, machine.states.get(&frame.at)?))
    }

    fn meets(&self, path: &FramePath) -> Option<FramePath> {
        let (parent, state) = self.around(path)?;
        matches!(&state.activity, Activity::Fork(fork) if fork.join == Join::Meet).then_some(parent)
    }

    pub(super) fn spread_around(&self, path: &FramePath) -> Option<(FramePath, &Spread)> {
        let (parent, state) = self.around(path)?;
        match &state.activity {
            Activity::Spread(spread) => Some((parent, spread)),
            _ => None,
        }
    }

    /// Tells whether the line at `path` has to wait for others before its state begins.
    pub(super) fn gathers(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let Some(parent) = self.meets(path) else {
            return Ok(false);
        };
        let (frame, machine) = self.stand(path)?;
        if frame.gathering {
            return Ok(true);
        }
        if frame.effect.is_some() || frame.held.is_some() || frame.let_in {
            return Ok(false);
        }
        let at = frame.at.clone();
        if matches!(state_of(machine, frame)?.activity, Activity::Final { .. }) {
            return Ok(false);
        }
        let (holder, _) = self.stand(&parent)?;
        let waits = may_come(machine, holder, &path_name(path), &at)
            || holder.children.iter().any(|child| {
                child.ended.is_none() && child.frame.gathering && child.frame.at == at
            });
        if waits {
            self.emit(Event::LineWaits { path: path.clone() });
            self.meet(&parent)?;
        }
        Ok(waits)
    }

    /// Lets the lines go on that wait below `path` and that nobody else can join any more.
    pub(super) fn meet(&mut self, path: &FramePath) -> Result<(), Refusal> {
        loop {
            let (holder, machine) = self.stand(path)?;
            let Some(arrived) = next_meeting(machine, holder) else {
                return Ok(());
            };
            let mut names = arrived.into_iter();
            let Some(first) = names.next() else {
                return Ok(());
            };
            let line = path.child(&first);
            let at = holder.children.iter().find(|child| child.name == first);
            let state = at.and_then(|child| machine.states.get(&child.frame.at));
            let may_part = state.is_some_and(|state| state.approval_before.is_some());
            self.emit(Event::LinesMet {
                path: line.clone(),
                others: names.collect(),
                may_part,
            });
            self.settle_met(&line)?;
        }
    }

    /// Opens the lines of a fork that meets; below another such fork they are more of its lines.
    pub(super) fn open_lines(&mut self, path: &FramePath, fork: &Fork) -> Result<(), Refusal> {
        let wanted = self.exits_of(path);
        let mut branches: Vec<BranchStart> = fork
            .branches
            .iter()
            .filter(|(_, branch)| wanted.is_empty() || wanted.contains(&branch.initial))
            .map(|(name, branch)| BranchStart {
                name: name.clone(),
                initial: branch.initial.clone(),
                context: Object::new(),
            })
            .collect();
        let Some(parent) = self.meets(path) else {
            let names: Vec<String> = branches.iter().map(|branch| branch.name.clone()).collect();
            self.emit(Event::ForkStarted {
                path: path.clone(),
                branches,
            });
            for name in names.iter().rev() {
                self.settle(&path.child(name))?;
            }
            return Ok(());
        };
        let (holder, _) = self.stand(&parent)?;
        let mut taken: BTreeSet<String> = holder
            .children
            .iter()
            .map(|child| child.name.clone())
            .collect();
        for branch in &mut branches {
            let plain = branch.name.clone();
            let mut number = 2_u32;
            while taken.contains(&branch.name) {
                branch.name = format!("{plain}~{number}");
                number += 1;
            }
            taken.insert(branch.name.clone());
        }
        let names: Vec<String> = branches.iter().map(|branch| branch.name.clone()).collect();
        self.emit(Event::LineSplit {
            path: path.clone(),
            branches,
        });
        for name in names.iter().rev() {
            self.settle(&parent.child(name))?;
        }
        self.meet(&parent)
    }

    /// Returns the states that the lines of a spread have ended towards; empty: the fork is entered as written.
    fn exits_of(&self, path: &FramePath) -> Vec<StateName> {
        let exits = self.run.frame(path).map(|frame| frame.exits.clone());
        exits.unwrap_or_default()
    }

    /// Opens one line for each item, or passes an item on.
    pub(super) fn spread(&mut self, path: &FramePath, spread: &Spread) -> Result<(), Refusal> {
        if !spread.nested && self.spread_around(path).is_some() {
            return self.pass_item(path, spread);
        }
        let (frame, _) = self.stand(path)?;
        let found = match items(&frame.output, &frame.context, &spread.items) {
            Ok(found) => found,
            Err(missing) => {
                let keys = missing.known.join(", ");
                let message = format!(
                    "there is no `{}` to iterate over; there are: {keys}",
                    spread.items
                );
                let cause = self.placed(path, Cause::new("iter_key_missing", message));
                return self.raise_own(path, &error(), Some(cause));
            }
        };
        let limit = self.machine.limits.branches_max;
        if found.len() > limit {
            let message = format!("{} items and {limit} is the limit", found.len());
            let cause = Cause::new(Code::LimitExceeded.as_str(), message);
            let cause = self.placed(path, cause);
            return self.raise_own(path, &error(), Some(cause));
        }
        if found.is_empty() && spread.wants_items {
            let message = format!("`{}` has no items", spread.items);
            let cause = self.placed(path, Cause::new("no_items", message));
            return self.raise_own(path, &error(), Some(cause));
        }
        let count = found.len();
        if count == 0 && self.machine.conversation.is_some() {
            let message = format!("`{}` has no items", spread.items);
            self.note(path, "no_items", message);
        }
        self.emit(Event::ItemsSpread {
            path: path.clone(),
            items: found,
            initial: spread.initial.clone(),
            keys: spread.keys.clone(),
        });
        if count == 0 {
            return self.join_spread(path);
        }
        for number in (1..=count).rev() {
            self.settle(&path.child(&number.to_string()))?;
        }
        Ok(())
    }

    fn pass_item(&mut self, path: &FramePath, spread: &Spread) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let value = spread.replaces_item.then(|| frame.output.as_ref().clone());
        self.emit(Event::ItemPassed {
            path: path.clone(),
            to: spread.initial.clone(),
            value,
            at_ms: self.at_ms,
        });
        self.settle(path)
    }

    /// Ends the line of an item where its state leads out of the chain; tells whether it did.
    pub(super) fn ends_item(&mut self, path: &FramePath, target: &Target) -> Result<bool, Refusal> {
        let parent = match (self.spread_around(path), self.meets(path)) {
            (Some((parent, _)), _) => parent,
            // Lines of a fork within an item end with it.
            (None, Some(fork)) if self.spread_around(&fork).is_some() => fork,
            _ => return Ok(false),
        };
        let (frame, machine) = self.stand(path)?;
        let Target::State(to) = target else {
            return Ok(false);
        };
        let keeps = state_of(machine, frame)?.keeps_item;
        let passes = machine
            .states
            .get(to)
            .is_some_and(|state| matches!(state.activity, Activity::Spread(_)));
        if keeps || passes {
            return Ok(false);
        }
        self.emit(Event::ItemDone {
            path: path.clone(),
            exit: to.clone(),
        });
        self.line_ended(&parent)?;
        Ok(true)
    }

    /// Goes on above lines of which one has ended.
    pub(super) fn line_ended(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (holder, machine) = self.stand(path)?;
        let open = holder.children.iter().any(|child| child.ended.is_none());
        let spread = match &state_of(machine, holder)?.activity {
            Activity::Spread(spread) => Some(spread.clone()),
            _ => None,
        };
        let failed = first_failure(holder, spread.as_ref());
        match (failed, spread) {
            (Some(cause), _) if !open => self.lines_failed(path, cause),
            (Some(_), _) => Ok(()),
            (None, Some(_)) if !open => self.join_spread(path),
            (None, None) if open => self.meet(path),
            (None, None) => self.join_lines(path),
            (None, Some(_)) => Ok(()),
        }
    }

    fn lines_failed(&mut self, path: &FramePath, cause: Cause) -> Result<(), Refusal> {
        if let Some(cause) = self.uncaught(path, &cause) {
            return self.end_uncaught(cause);
        }
        self.raise_own(path, &error(), Some(cause))
    }

    fn join_lines(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (holder, _) = self.stand(path)?;
        let exit = holder.children.iter().find_map(|child| child.exit.clone());
        self.emit(Event::Joined {
            path: path.clone(),
            outcome: crate::machine::Outcome::Success,
            merged: Object::new(),
            cause: None,
        });
        let around = self.spread_around(path).map(|(parent, _)| parent);
        if let (Some(exit), Some(parent)) = (exit, around) {
            self.emit(Event::ItemDone {
                path: path.clone(),
                exit,
            });
            return self.line_ended(&parent);
        }
        self.raise_own(path, &done(), None)
    }

    fn join_spread(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (holder, machine) = self.stand(path)?;
        let Activity::Spread(spread) = &state_of(machine, holder)?.activity else {
            return Ok(());
        };
        let spread = spread.clone();
        let mut exits: Vec<StateName> = Vec::new();
        for exit in holder
            .children
            .iter()
            .filter_map(|child| child.exit.clone())
        {
            if !exits.contains(&exit) {
                exits.push(exit);
            }
        }
        // The order written, not that of the items.
        exits.sort_by_key(|exit| machine.states.get_index_of(exit.as_str()));
        let at = holder.at.clone();
        self.emit(Event::SpreadJoined {
            path: path.clone(),
            collects: spread.on_item_error == OnItemError::Collect,
        });
        let (to, several) = match exits.as_slice() {
            [] => (spread.without_items.clone(), Vec::new()),
            [one] => (one.clone(), Vec::new()),
            _ => (
                spread
                    .exits
                    .clone()
                    .unwrap_or_else(|| spread.without_items.clone()),
                exits,
            ),
        };
        self.emit(Event::LinesLeft {
            path: path.clone(),
            from: at,
            to: to.clone(),
            exits: several,
            at_ms: self.at_ms,
        });
        // Lines of an outer spread may end here, too.
        self.moves += 1;
        if self.ends_item(path, &Target::State(to))? {
            return Ok(());
        }
        self.settle(path)
    }

    /// Tells whether a failure keeps further states from beginning.
    pub(super) fn is_failing(&self) -> bool {
        fails_below(self.machine, &self.run.root)
    }

    /// Begins states that have waited for room, in the order of the lines.
    pub(super) fn begin_due(&mut self) -> Result<(), Refusal> {
        if self.machine.limits.at_once.is_none() || self.run.is_over() || self.run.paused.is_some()
        {
            return Ok(());
        }
        for path in self.run.open_leaves() {
            if self.is_open(&path) && self.has_room() {
                let waits = self.run.frame(&path).is_some_and(|frame| {
                    frame.effect.is_none() && frame.parked.is_none() && !frame.gathering
                });
                if waits {
                    self.settle(&path)?;
                }
            }
        }
        self.end_failing()
    }

    /// Tells whether one more state may be at work.
    pub(super) fn has_room(&self) -> bool {
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
                    .and_then(|frame| frame.effect.as_ref())
                    .is_some_and(|effect| effect.at == RunningAt::Started)
            })
            .count();
        busy < limit.max(1) && !self.is_failing()
    }

    /// Ends a run in which a line failed, once nothing is at work any more.
    fn end_failing(&mut self) -> Result<(), Refusal> {
        if self.run.is_over() || !self.is_failing() {
            return Ok(());
        }
        let at_work = self.run.open_leaves().iter().any(|leaf| {
            self.run
                .frame(leaf)
                .is_some_and(|frame| frame.effect.is_some())
        });
        if at_work {
            return Ok(());
        }
        match failure_below(self.machine, &self.run.root) {
            Some(cause) => self.end_uncaught(cause),
            None => Ok(()),
        }
    }

    /// Fails a line that has entered more states than it may.
    pub(super) fn line_too_long(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let Some(limit) = self.machine.limits.line_states_max else {
            return Ok(false);
        };
        let (frame, machine) = self.stand(path)?;
        let counted = !is_generated(machine, &frame.at);
        if !counted || frame.effect.is_some() || frame.steps <= limit {
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

    /// Ends a line, or the run where there are none, by a failure that nothing handles.
    pub(super) fn fail_line(&mut self, path: &FramePath, cause: Cause) -> Result<(), Refusal> {
        if self.meets(path).is_none() && self.spread_around(path).is_none() {
            return self.end_uncaught(cause);
        }
        self.end_branch(path, BranchOutcome::Failed, Some(cause))
    }
}

fn is_generated(machine: &Machine, at: &StateName) -> bool {
    machine
        .states
        .get(at)
        .is_some_and(|state| state.shown_as.is_some())
}

fn path_name(path: &FramePath) -> String {
    path.names().last().cloned().unwrap_or_default()
}

/// Returns the first failure that counts, in the order of the lines.
fn first_failure(holder: &Frame, spread: Option<&Spread>) -> Option<Cause> {
    if spread.is_some_and(|spread| spread.on_item_error != OnItemError::Fail) {
        return None;
    }
    let failed = |child: &&Child| child.ended == Some(BranchOutcome::Failed);
    let first = holder.children.iter().find(failed)?;
    let cause = first.cause.clone().unwrap_or_default();
    Some(match spread {
        Some(_) => Cause {
            message: format!(
                "item {} of {}: {}",
                first.name,
                holder.children.len(),
                cause.message
            ),
            ..cause
        },
        None => cause,
    })
}

fn state_at<'m>(machine: &'m Machine, frame: &Frame) -> Option<&'m State> {
    machine
        .called(frame.machine.as_ref())?
        .states
        .get(&frame.at)
}

fn failure_below(machine: &Machine, frame: &Frame) -> Option<Cause> {
    let own = match state_at(machine, frame).map(|state| &state.activity) {
        Some(Activity::Spread(spread)) => first_failure(frame, Some(spread)),
        Some(Activity::Fork(fork)) if fork.join == Join::Meet => first_failure(frame, None),
        _ => None,
    };
    own.or_else(|| {
        let open = frame.children.iter().filter(|child| child.ended.is_none());
        open.into_iter()
            .find_map(|child| failure_below(machine, &child.frame))
    })
}

fn fails_below(machine: &Machine, frame: &Frame) -> bool {
    failure_below(machine, frame).is_some()
}

/// Tells whether a line at work can still come to `at`, by the arrows written.
fn may_come(machine: &Machine, holder: &Frame, but: &str, at: &StateName) -> bool {
    holder
        .children
        .iter()
        .filter(|child| child.ended.is_none() && !child.frame.gathering && child.name != but)
        .any(|child| leads_to(machine, &holder.at, &child.frame.at, at))
}

/// Tells whether `from` leads to `to`, other than by way of the fork `opener`, whose lines are still going.
fn leads_to(machine: &Machine, opener: &StateName, from: &StateName, to: &StateName) -> bool {
    let mut seen: BTreeSet<&StateName> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for next in next_states(machine, at) {
            if next == to {
                return true;
            }
            if next != opener && seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

fn next_states<'m>(machine: &'m Machine, at: &StateName) -> Vec<&'m StateName> {
    let Some(state) = machine.states.get(at) else {
        return Vec::new();
    };
    let mut next: Vec<&StateName> = state
        .on
        .values()
        .flat_map(|rule| &rule.transitions)
        .filter_map(|transition| match &transition.target {
            Target::State(to) => Some(to),
            Target::Return | Target::End(_) => None,
        })
        .collect();
    match &state.activity {
        Activity::Fork(fork) => next.extend(fork.branches.values().map(|branch| &branch.initial)),
        Activity::Spread(spread) => {
            next.push(&spread.initial);
            next.push(&spread.without_items);
            next.extend(spread.exits.iter());
        }
        _ => {}
    }
    next
}

/// Finds the lines that wait at one state and may go on, in the order of the lines.
fn next_meeting(machine: &Machine, holder: &Frame) -> Option<Vec<String>> {
    let waiting = |child: &&Child| child.ended.is_none() && child.frame.gathering;
    let mut places: Vec<&StateName> = Vec::new();
    for child in holder.children.iter().filter(waiting) {
        if !places.contains(&&child.frame.at) {
            places.push(&child.frame.at);
        }
    }
    places.sort_by_key(|at| machine.states.get_index_of(at.as_str()));
    let free: Vec<&StateName> = places
        .iter()
        .copied()
        .filter(|at| !may_come(machine, holder, "", at))
        .collect();
    let leads = |from: &StateName, to: &StateName| leads_to(machine, &holder.at, from, to);
    // One that another waiting one leads to comes later, unless they go in a circle.
    let first = free
        .iter()
        .find(|at| {
            places
                .iter()
                .all(|other| other == *at || !leads(other, at) || leads(at, other))
        })
        .or(free.first())?;
    let names = holder
        .children
        .iter()
        .filter(waiting)
        .filter(|child| child.frame.at == **first)
        .map(|child| child.name.clone())
        .collect();
    Some(names)
}
