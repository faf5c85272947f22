//! Regions of a fork that wait for each other at a state and continue as one.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{
    items::exits_below,
    reach::{Arrows, may_come, next_meeting},
    room::first_failure,
};
use crate::{
    decide::{
        Work,
        transitions::{done, error, state_of},
    },
    event::{BranchStart, Cause, Event, Merged, RegionsStart},
    machine::{Activity, Branch, Outcome, Over},
    merge,
    names::{FramePath, StateName},
    refusal::Refusal,
    run::{Entry, Progress},
};

impl Work<'_> {
    /// Returns whether the region at `path` has to wait for others before its state begins.
    pub(in crate::decide) fn waits_at_join(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let Some(parent) = self.meets(path) else {
            return Ok(false);
        };
        let (frame, machine) = self.stand(path)?;
        if frame.stay.waits_at_join() {
            return Ok(true);
        }
        if frame.stay.effect().is_some()
            || frame.stay.entry_request().is_some()
            || frame.stay.entry == Entry::Admitted
        {
            return Ok(false);
        }
        let at = frame.at.clone();
        if matches!(state_of(machine, frame)?.activity, Activity::Final { .. }) {
            return Ok(false);
        }
        let (holder, _) = self.stand(&parent)?;
        let arrows = self.arrows(&parent)?;
        let waits = may_come(
            &arrows,
            holder,
            path.names().last().map_or("", String::as_str),
            &at,
        ) || holder
            .open_regions()
            .any(|region| region.frame.stay.waits_at_join() && region.frame.at == at);
        if waits {
            self.emit(Event::RegionWaits { path: path.clone() });
            self.meet(&parent)?;
        }
        Ok(waits)
    }

    /// Returns the transitions that regions below `path` may take.
    fn arrows(&self, path: &FramePath) -> Result<Arrows<'_>, Refusal> {
        let (holder, machine) = self.stand(path)?;
        Ok(Arrows {
            machine,
            opener: &holder.at,
            of_item: self.items_around(path).is_some(),
        })
    }

    /// Continues the regions below `path` that wait and that no other region can join any more.
    pub(in crate::decide) fn meet(&mut self, path: &FramePath) -> Result<(), Refusal> {
        loop {
            if !self.is_open(path) {
                // The last that went on ended the line around them.
                return Ok(());
            }
            let (holder, machine) = self.stand(path)?;
            let Some(arrived) = next_meeting(&self.arrows(path)?, holder) else {
                return Ok(());
            };
            let Some(first) = arrived.first() else {
                return Ok(());
            };
            let line = path.child(first);
            let at = holder.region(first);
            let state = at.and_then(|region| machine.states.get(&region.frame.at));
            let may_part = state.is_some_and(|state| state.approval_before.is_some());
            let merged = if arrived.len() > 1 {
                let names: Vec<&str> = arrived.iter().map(String::as_str).collect();
                merge::converging(holder, &names)
            } else {
                Merged::default()
            };
            self.emit(Event::Joined {
                path: path.clone(),
                lines: arrived,
                outcome: Outcome::Success,
                merged,
                failed: 0,
                cause: None,
                next: None,
                may_part,
            });
            self.begin_state(&line)?;
        }
    }

    /// Starts the regions of a converging fork; below another such fork, they become regions of that one.
    pub(in crate::decide) fn open_lines(
        &mut self,
        path: &FramePath,
        branches: &IndexMap<String, Branch>,
    ) -> Result<(), Refusal> {
        let wanted = self.exits_of(path);
        let mut branches: Vec<BranchStart> = branches
            .iter()
            .filter(|(_, branch)| wanted.is_empty() || wanted.contains(&branch.initial))
            .map(|(name, branch)| BranchStart {
                name: name.clone(),
                initial: branch.initial.clone(),
            })
            .collect();
        let Some(parent) = self.meets(path) else {
            return self.start_regions(path, RegionsStart::Branches(branches));
        };
        let (holder, _) = self.stand(&parent)?;
        let mut taken: BTreeSet<String> = holder
            .regions
            .iter()
            .map(|region| region.name.clone())
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
        self.start_regions(path, RegionsStart::Split(branches))?;
        self.meet(&parent)
    }

    /// Returns the states that regions of items lead to; empty: the fork is entered as written.
    fn exits_of(&self, path: &FramePath) -> Vec<StateName> {
        let progress = self.run.frame(path).map(|frame| &frame.stay.progress);
        match progress {
            Some(Progress::Branches(exits)) => exits.clone(),
            _ => Vec::new(),
        }
    }

    /// Continues above the regions after one of them has ended.
    pub(in crate::decide) fn line_ended(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (holder, machine) = self.stand(path)?;
        let open = holder.open_regions().next().is_some();
        let Some(parallel) = state_of(machine, holder)?.activity.parallel() else {
            return Ok(());
        };
        let of_items = matches!(parallel.over, Over::Items(_));
        match first_failure(holder, parallel) {
            Some(cause) if !open => self.lines_failed(path, cause),
            Some(_) => Ok(()),
            None if of_items && open => Ok(()),
            None if of_items => self.join_items(path),
            None if open => self.meet(path),
            None => self.join_lines(path),
        }
    }

    fn lines_failed(&mut self, path: &FramePath, cause: Cause) -> Result<(), Refusal> {
        if self.fails_run(path, &cause)? {
            return Ok(());
        }
        self.raise_own(path, &error(), Some(cause))
    }

    fn join_lines(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (holder, machine) = self.stand(path)?;
        let exits = exits_below(machine, holder);
        self.emit(Event::Joined {
            path: path.clone(),
            lines: Vec::new(),
            outcome: Outcome::Success,
            merged: merge::fork(holder),
            failed: 0,
            cause: None,
            next: None,
            may_part: false,
        });
        let around = self.items_around(path).map(|(parent, _)| parent);
        if let Some(parent) = around
            && !exits.is_empty()
        {
            self.end_item_line(path, exits);
            return self.line_ended(&parent);
        }
        self.raise_own(path, &done(), None)
    }
}
