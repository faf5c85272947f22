//! Regions of items: how they start, pass items on, end and join.

use crate::{
    decide::{
        Work,
        transitions::{error, state_of},
    },
    dialogue::items,
    event::{Cause, Event, JoinedNext, RegionKind, RegionOutcome, RegionsStart},
    machine::{Activity, Machine, OnItemError, Outcome, OverItems, Target},
    merge,
    names::{FramePath, StateName},
    refusal::{Code, Refusal},
    run::Frame,
};

impl Work<'_> {
    /// Starts one region for each item, or passes an item on.
    pub(in crate::decide) fn start_items(
        &mut self,
        path: &FramePath,
        over: &OverItems,
    ) -> Result<(), Refusal> {
        if !over.nested && self.items_around(path).is_some() {
            return self.pass_item(path, over);
        }
        let (frame, _) = self.stand(path)?;
        let found = match items(&frame.line.output, &frame.line.context, &over.items) {
            Ok(found) => found,
            Err(missing) => {
                let keys = missing.known.join(", ");
                let message = format!(
                    "there is no `{}` to iterate over; there are: {keys}",
                    over.items
                );
                let cause = Cause::new("iter_key_missing", message);
                return self.raise_own(path, &error(), Some(cause));
            }
        };
        let limit = self.machine.limits.branches_max;
        if found.len() > limit {
            let message = format!("{} items and {limit} is the limit", found.len());
            let cause = Cause::new(Code::LimitExceeded.as_str(), message);
            return self.raise_own(path, &error(), Some(cause));
        }
        if found.is_empty() && over.wants_items {
            let message = format!("`{}` has no items", over.items);
            let cause = Cause::new("no_items", message);
            return self.raise_own(path, &error(), Some(cause));
        }
        let count = found.len();
        if count == 0 {
            let message = format!("`{}` has no items", over.items);
            self.note(path, "no_items", message);
        }
        let start = RegionsStart::Items {
            items: found,
            initial: over.initial.clone(),
            keys: over.keys.clone(),
        };
        self.start_regions(path, start)?;
        if count == 0 {
            return self.join_items(path);
        }
        Ok(())
    }

    fn pass_item(&mut self, path: &FramePath, over: &OverItems) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let value = over
            .replaces_item
            .then(|| frame.line.output.as_ref().clone());
        self.emit(Event::RegionPassed {
            path: path.clone(),
            to: over.initial.clone(),
            value,
            at_ms: self.at_ms,
        });
        self.settle(path)
    }

    /// Ends the region of an item if its state leads out of the chain; tells whether it did.
    pub(in crate::decide) fn ends_item(
        &mut self,
        path: &FramePath,
        target: &Target,
    ) -> Result<bool, Refusal> {
        let parent = match (self.items_around(path), self.meets(path)) {
            (Some((parent, _)), _) => parent,
            // Lines of a fork within an item end with it.
            (None, Some(fork)) if self.items_around(&fork).is_some() => fork,
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
            .is_some_and(|state| state.activity.items().is_some());
        if keeps || passes {
            return Ok(false);
        }
        self.end_item_line(path, vec![to.clone()]);
        self.line_ended(&parent)?;
        Ok(true)
    }

    /// Ends a region in a state that ends regions: the region of an item leads there, any other is over.
    pub(in crate::decide) fn ends_here(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let exit = frame.at.clone();
        let Some((parent, _)) = self.items_around(path) else {
            return self.end_branch(path, RegionOutcome::Succeeded, None);
        };
        self.end_item_line(path, vec![exit]);
        self.line_ended(&parent)
    }

    /// Ends a region that leads to `exits`.
    pub(super) fn end_item_line(&mut self, path: &FramePath, exits: Vec<StateName>) {
        self.emit(Event::RegionEnded {
            path: path.clone(),
            kind: RegionKind::Item,
            outcome: RegionOutcome::Succeeded,
            exits,
            cause: None,
        });
    }

    pub(super) fn join_items(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (holder, machine) = self.stand(path)?;
        let activity = &state_of(machine, holder)?.activity;
        let Some((parallel, over)) = activity.parallel().zip(activity.items().cloned()) else {
            return Ok(());
        };
        let collects = parallel.on_error == OnItemError::Collect;
        let exits = exits_below(machine, holder);
        let (to, several) = match (exits.as_slice(), &over.exits) {
            ([], _) => (over.without_items.clone(), Vec::new()),
            ([one], _) => (one.clone(), Vec::new()),
            (_, Some(fork)) => (fork.clone(), exits),
            // What an error has led to the end does not keep the others from their join.
            (_, None) => {
                let goes_on = exits.into_iter().find(|exit| !is_end(machine, exit));
                let join = over.without_items.clone();
                (goes_on.unwrap_or(join), Vec::new())
            }
        };
        let state = machine.states.get(&to);
        self.emit(Event::Joined {
            path: path.clone(),
            lines: Vec::new(),
            outcome: Outcome::Success,
            merged: merge::items(holder, collects),
            failed: 0,
            cause: None,
            next: Some(JoinedNext {
                to: to.clone(),
                exits: several,
                at_ms: self.at_ms,
            }),
            may_part: state.is_some_and(|state| state.approval_before.is_some()),
        });
        // Regions of items around this may end here, too.
        self.moves += 1;
        if !over.inside && self.ends_item(path, &Target::State(to))? {
            return Ok(());
        }
        self.settle(path)
    }
}

/// Returns the distinct states that the regions below `holder` lead to, in the order of the states in the file.
pub(super) fn exits_below(machine: &Machine, holder: &Frame) -> Vec<StateName> {
    let mut exits: Vec<StateName> = Vec::new();
    for region in &holder.regions {
        for exit in region.exits() {
            if !exits.contains(exit) {
                exits.push(exit.clone());
            }
        }
    }
    exits.sort_by_key(|exit| machine.states.get_index_of(exit.as_str()));
    exits
}

fn is_end(machine: &Machine, state: &StateName) -> bool {
    machine
        .states
        .get(state)
        .is_some_and(|state| state.ends_lines || matches!(state.activity, Activity::Final { .. }))
}
