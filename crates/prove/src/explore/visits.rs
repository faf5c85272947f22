//! Visits: a state as it was come to, with what was used up of limits, and the run that stands for it.

use interlock_core::run::Run;

use super::{Explorer, Move, Visit};
use crate::{
    atlas::{Leaf, State},
    hash::{at, number, short},
    moves::{LastProposed, Tried},
    perform::perform,
};

impl Explorer<'_> {
    /// Finds the state, and keeps it to be expanded where it permits more than what is known of it.
    pub(super) fn enter(
        &mut self,
        state: &State,
        from: u32,
        by: Move,
        run: Option<Box<Run>>,
    ) -> Option<u32> {
        let mut packed = std::mem::take(&mut self.packed);
        state.pack(&mut packed);
        let node = self.enter_packed(&packed, &state.used, from, by, run);
        self.packed = packed;
        node
    }

    fn enter_packed(
        &mut self,
        packed: &[u32],
        used: &[u32],
        from: u32,
        by: Move,
        run: Option<Box<Run>>,
    ) -> Option<u32> {
        let (node, is_new) = if self.graph.nodes.len() < self.max {
            self.graph.keys.add(packed)
        } else if let Some(known) = self.graph.keys.find(packed) {
            (known, false)
        } else {
            self.graph.whole = false;
            return None;
        };
        if is_new {
            self.add_node(packed);
        } else if !self.limited {
            return Some(node);
        }
        let used = match self.used.get_index_of(used) {
            Some(known) => short(known),
            None => number(&mut self.used, used.into()),
        };
        if let Some(visit) = self.admit(node, used, from, by) {
            if let Some(run) = run {
                self.runs.insert(visit, run);
            }
            self.waiting.push_back(visit);
            if is_new {
                self.look(node, visit);
            }
        }
        Some(node)
    }

    /// Adds the node of a state that is new.
    fn add_node(&mut self, packed: &[u32]) {
        let rest = packed.first().and_then(|rest| self.atlas.rest(*rest));
        let ended = rest.and_then(|rest| rest.ended);
        let parts = State::parts_of(packed).iter();
        let mut parts = parts.filter_map(|part| self.atlas.part(*part));
        let exhausted = parts.any(|part| part.exhausted);
        self.graph.add_node(ended, exhausted);
    }

    /// Keeps a visit where none of its state permits all that it does; those that permit less are given up.
    fn admit(&mut self, node: u32, used: u32, from: u32, by: Move) -> Option<u32> {
        let first = self.graph.nodes.get(at(node))?.visit;
        let mut other = first;
        while let Some(visit) = self.visits.get(at(other)) {
            if visit.live && self.permits(visit.used, used) {
                return None;
            }
            other = visit.next;
        }
        other = first;
        while let Some(visit) = self.visits.get(at(other)).copied() {
            if visit.live && self.permits(used, visit.used) {
                self.visits.get_mut(at(other))?.live = false;
            }
            other = visit.next;
        }
        let number = short(self.visits.len());
        self.visits.push(Visit {
            node,
            used,
            from,
            by,
            next: first,
            live: true,
        });
        self.graph.nodes.get_mut(at(node))?.visit = number;
        Some(number)
    }

    /// Returns whether a run that has used `one` may do all that one with `other` may.
    fn permits(&self, one: u32, other: u32) -> bool {
        if one == other {
            return true;
        }
        let of = |id: u32| {
            let parts = self.used.get_index(at(id)).into_iter().flatten();
            parts.flat_map(|part| self.atlas.used(*part))
        };
        of(one).count() == of(other).count()
            && of(one).zip(of(other)).all(|(one, other)| one <= other)
    }

    pub(super) fn state_of(&self, visit: usize) -> Option<State> {
        let mut state = State::default();
        let known = self.read(visit, &mut Vec::new(), &mut state);
        known.map(|_| state)
    }

    /// Decodes the state of a visit into buffers, and returns its number.
    pub(super) fn read(
        &self,
        visit: usize,
        packed: &mut Vec<u32>,
        state: &mut State,
    ) -> Option<u32> {
        let visit = self.visits.get(visit)?;
        let used = self.used.get_index(at(visit.used))?;
        let known = self.graph.keys.read(visit.node, packed);
        known.then(|| {
            state.unpack(packed, used);
            visit.node
        })
    }

    /// Makes the run of a visit, by doing again what led to it.
    pub(super) fn materialise(&mut self, visit: usize) {
        let mut missing = Vec::new();
        let mut number = short(visit);
        while !self.runs.contains_key(&number)
            && let Some(one) = self.visits.get(at(number))
        {
            missing.push((number, *one));
            number = one.from;
        }
        for (number, one) in missing.into_iter().rev() {
            let Some((state, run)) = self.state_of(at(one.from)).zip(self.runs.get(&one.from))
            else {
                return;
            };
            let done = self.done(&state, run, one.by, &mut LastProposed::default());
            self.graph.asked += 1;
            let Some(mut done) = done.and_then(|(done, _)| done.done) else {
                return;
            };
            let after = self.state_of(at(number)).unwrap_or_default();
            self.atlas
                .order_run(self.model, &after.parts, &mut done.run);
            self.runs.insert(number, Box::new(done.run));
        }
    }

    /// Has a candidate done by the engine.
    pub(super) fn done(
        &self,
        state: &State,
        run: &Run,
        by: Move,
        last: &mut LastProposed,
    ) -> Option<(Tried, Leaf)> {
        let part = *state.parts.get(at(by.part))?;
        let candidate = self.tries.get(&part)?.get(at(by.candidate))?;
        let leaf = self.leaf(part, candidate.leaf)?;
        let tried = perform(self.model, run, leaf, &candidate.what, by.kind, last);
        Some((tried, leaf.clone()))
    }
}
