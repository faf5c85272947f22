//! What is known of a state without its run: its guards, what is around each part, and what may be tried there.

use std::rc::Rc;

use super::Explorer;
use crate::{
    atlas::{Leaf, State},
    hash::{NONE, at, number, short},
    moves::{Candidate, candidates},
    views::{View, pairs_of},
};

impl Explorer<'_> {
    /// Notes what properties about where a run stands say of a state.
    pub(super) fn look(&mut self, node: u32, visit: u32) {
        if !self.looks {
            return;
        }
        let Some(state) = &self.state_of(at(visit)) else {
            return;
        };
        let truths = self.truths(at(visit), state);
        let mut standing = vec![false; self.model.slots.len()];
        let mut below = Vec::new();
        let open = self.atlas.rest(state.rest).is_some_and(|rest| rest.open);
        let parts = if open { state.parts.len() } else { 1 };
        for part in 0..parts {
            let key = self.view_key(state, part, truths.get(part), open);
            let view = match self.views.get(key.as_slice()) {
                Some(known) => *known,
                None => {
                    self.materialise(at(visit));
                    let run = self.runs.get(&visit);
                    let view = run.map(|run| View::of(self.model, self.pairs, run, part));
                    let view = number(&mut self.seen, view.unwrap_or_default());
                    self.views.insert(key.into_boxed_slice(), view);
                    view
                }
            };
            if let Some(view) = self.seen.get_index(at(view)) {
                for (all, one) in standing.iter_mut().zip(&view.stands) {
                    *all |= one;
                }
                below.extend(view.below.iter().cloned());
            }
        }
        let below: Vec<&Vec<bool>> = below.iter().collect();
        let together = pairs_of(self.pairs, &below);
        let stands = number(&mut self.standing, standing);
        let together = number(&mut self.graph.together, together);
        if let Some(node) = self.graph.nodes.get_mut(at(node)) {
            (node.stands, node.together) = (stands, together);
        }
    }

    /// Writes what properties about where a run stands read of a part.
    fn view_key(
        &mut self,
        state: &State,
        part: usize,
        truths: Option<&Vec<u32>>,
        open: bool,
    ) -> Vec<u32> {
        let own = state.parts.get(part).copied().unwrap_or(NONE);
        let info = self.atlas.part(own);
        let outer = self.atlas.rest(state.rest).and_then(|rest| rest.frame);
        let truths = truths.into_iter().flatten();
        let mut key = Vec::new();
        if self.plain_guards && open {
            key.push(0);
            key.extend(outer.map_or([NONE; 2], <[u32; 2]>::from));
            key.extend(info.map(|info| info.shape));
            key.extend(truths);
        } else if self.plain_guards {
            // A run that has ended stands in its outermost frame.
            let first = info.and_then(|info| info.frames.first()).copied();
            key.push(1);
            key.extend(outer.or(first).map(<[u32; 2]>::from).into_iter().flatten());
            key.extend(truths.take(1));
        } else {
            key.extend([2, self.surroundings(state, part).0, own]);
            key.extend(truths);
            if !open {
                key.extend(&state.parts);
                key.extend(&state.words);
            }
        }
        key.extend(self.salt());
        key
    }

    /// Returns which guards hold in each part; a run is evaluated only if that is not known.
    pub(super) fn truths(&mut self, visit: usize, state: &State) -> Vec<Vec<u32>> {
        let salt = self.salt();
        if let Some(known) = self.truths.of(self.model, &self.atlas, state, salt, None) {
            return known;
        }
        self.materialise(visit);
        let run = self.runs.get(&short(visit)).map(Box::as_ref);
        let said = self.truths.of(self.model, &self.atlas, state, salt, run);
        said.unwrap_or_default()
    }

    /// Names what is around a part, and says whether that is told in full.
    pub(super) fn surroundings(&mut self, state: &State, part: usize) -> (u32, bool) {
        let mut key = Vec::with_capacity(2 + 2 * state.parts.len());
        key.extend([state.rest, short(part)]);
        let mut full = true;
        let others = state.parts.iter().zip(&state.used).enumerate();
        for (_, (other, used)) in others.filter(|(index, _)| *index != part) {
            let told = self.is_told(*other);
            full &= told;
            key.extend(if told { [*other, *used] } else { [NONE, NONE] });
        }
        let around = match self.around.get_index_of(key.as_slice()) {
            Some(known) => short(known),
            None => number(&mut self.around, key.into_boxed_slice()),
        };
        (around, full)
    }

    /// Returns whether the steps of other parts read more of a part than that it goes on.
    pub(super) fn is_told(&self, part: u32) -> bool {
        let info = self.atlas.part(part);
        self.meets || info.is_some_and(|info| info.ended || info.asks)
    }

    /// Returns what may be tried in a part.
    pub(super) fn tries(&mut self, part: u32) -> Rc<Vec<Candidate>> {
        if let Some(known) = self.tries.get(&part) {
            return Rc::clone(known);
        }
        let leaves = self.atlas.part(part).map(|info| info.leaves.as_slice());
        let all = Rc::new(candidates(self.model, leaves.unwrap_or_default()));
        self.tries.insert(part, Rc::clone(&all));
        all
    }

    pub(super) fn leaf(&self, part: u32, leaf: usize) -> Option<&Leaf> {
        self.atlas.part(part)?.leaves.get(leaf)
    }
}
