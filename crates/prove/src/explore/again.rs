//! Expansions of a part that are recorded once, and repeated in every state in which the part is at the same place.

use std::rc::Rc;

use super::{Explorer, Found, Here, Move, is_same};
use crate::{
    atlas::{State, copy},
    graph::Edge,
    hash::{Map, at, short},
    table::{Change, Kind, Slot},
};

/// The place of a part: its entry in the table, and the number of the words of the state.
pub(super) type Place = (u32, u32);

/// The steps of a part from one place, in the order of its candidates.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    pub(super) effects: Vec<Effect>,
    pub(super) steps: Vec<Taken>,
}

/// The effect of a step on the whole state.
#[derive(Debug)]
pub(super) struct Effect {
    change: Change,
    /// The words after it.
    words: Box<[u32]>,
    /// The part after it, if it changes nothing else of the state.
    pub(super) alone: Option<u32>,
    /// The first candidate with this effect.
    pub(super) candidate: u32,
}

#[derive(Debug)]
pub(super) struct Taken {
    candidate: u32,
    /// The number of its effect.
    pub(super) effect: u32,
    pub(super) template: u32,
    counts: bool,
}

/// The target of an effect from the current state.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    NotEntered,
    /// Not in the graph: the maximum number of states was reached.
    Beyond,
    Node {
        node: u32,
        /// Whether it is the current state.
        idle: bool,
    },
}

impl Explorer<'_> {
    /// Returns the place of a part; `None` if expansions are not recorded.
    ///
    /// A run without regions is all in its only part, so that no other state shares its place.
    pub(super) fn place(&mut self, here: &Here, part: usize) -> Option<Place> {
        if self.asking == super::Asking::Always || here.state.parts.len() < 2 {
            return None;
        }
        let [asked, _] = here.entries.get(part)?;
        Some((short(*asked), self.rows.add(&here.state.words)))
    }

    /// Repeats the expansion that is recorded for a place, and returns its number; `None` if there is none.
    pub(super) fn again(
        &mut self,
        here: &Here,
        part: usize,
        place: Place,
        done: &mut Vec<(usize, u32, bool)>,
    ) -> Option<usize> {
        let (number, _, known) = self.expansions.get_full(&place)?;
        let known = Rc::clone(known);
        let mut targets = std::mem::take(&mut self.targets);
        targets.clear();
        targets.resize(known.effects.len(), Target::NotEntered);
        for step in &known.steps {
            let by = Move {
                part: short(part),
                candidate: step.candidate,
                kind: Kind::Plain,
            };
            let Some((target, effect)) = targets
                .get_mut(at(step.effect))
                .zip(known.effects.get(at(step.effect)))
            else {
                continue;
            };
            if matches!(target, Target::NotEntered) {
                *target = self.enter_effect(&here.state, short(here.visit), by, effect);
            }
            let Target::Node { node, idle } = *target else {
                continue;
            };
            if self.limited {
                done.push((part, step.candidate, step.counts && idle));
            }
            let label = self.label(step.template, node);
            let edge = Edge { to: node, label };
            // Without limits a state is expanded once, and its recorded steps differ from each other.
            if !self.limited || self.edges.insert(edge) {
                self.graph.edges.push(edge);
            }
        }
        self.targets = targets;
        Some(number)
    }

    /// Enters the state that an effect leads to.
    pub(super) fn enter_effect(
        &mut self,
        state: &State,
        visit: u32,
        by: Move,
        effect: &Effect,
    ) -> Target {
        let mut to = std::mem::take(&mut self.to);
        to.rest = state.rest;
        copy(&state.parts, &mut to.parts);
        copy(&state.used, &mut to.used);
        copy(&effect.words, &mut to.words);
        // It was recorded where the part is at the same place, so that the part is there.
        effect.change.apply(&mut self.atlas, &mut to, at(by.part));
        let idle = is_same(&to, state);
        // Without limits a known state is not expanded again.
        let found = match idle && !self.limited {
            true => self.visits.get(at(visit)).map(|visit| visit.node),
            false => self.enter(&to, visit, by, None),
        };
        self.to = to;
        found.map_or(Target::Beyond, |node| Target::Node { node, idle })
    }

    /// Records the result of a candidate; returns `false` if it depends on more than the place.
    pub(super) fn record(
        &self,
        expansion: &mut Expansion,
        here: &Here,
        by: Move,
        found: Option<&Found>,
    ) -> bool {
        let slot = self.table.slot(self.entry(here, by), by.candidate, by.kind);
        match (slot, found) {
            (Some(Slot::Nothing { .. }), None) => true,
            (Some(Slot::Step(step)), Some(found)) => {
                let words = found.to.words.as_slice();
                let is_same =
                    |known: &Effect| known.change == step.change && *known.words == *words;
                let known = expansion.effects.iter().position(is_same);
                let number = known.unwrap_or(expansion.effects.len());
                if known.is_none() {
                    let alone = step.change.part().filter(|_| here.state.words == words);
                    expansion.effects.push(Effect {
                        change: step.change.clone(),
                        words: words.into(),
                        alone,
                        candidate: by.candidate,
                    });
                }
                let is_known =
                    |known: &Taken| at(known.effect) == number && known.template == step.template;
                if self.limited || !expansion.steps.iter().any(is_known) {
                    expansion.steps.push(Taken {
                        candidate: by.candidate,
                        effect: short(number),
                        template: step.template,
                        counts: step.counts,
                    });
                }
                true
            }
            _ => false,
        }
    }
}

/// Recorded expansions, by place.
pub(super) type Expansions = Map<Place, Rc<Expansion>>;
