//! The table of steps: what the engine once said, for all states that it treats alike.
//!
//! A step of a region reads that region, what is around it, and whether guards hold there; of the other regions it reads
//! whether they go on. So what came of it counts wherever these are the same. Evidence that it does not record ages, by
//! what was written and which states were entered. A step that changes more than its region is kept for the whole state.

use crate::{
    aging::Words,
    atlas::{Atlas, State, copy},
    hash::{Map, Set, at, number},
};

/// How a candidate is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Plain,
    /// Again and again, until no call is left.
    Repeated,
    /// With a result that takes all the bytes that are left.
    Bytes,
    /// On one file after the other, until none is left.
    Files,
}

/// What came of a candidate.
#[derive(Debug, Clone)]
pub(crate) enum Slot {
    /// Nothing.
    Nothing {
        stop: bool,
    },
    Step(Step),
    /// It is kept for the whole state.
    Wide,
}

/// A step, as far as it is the same wherever it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) template: u32,
    /// Whether it used up a call.
    pub(crate) counts: bool,
    pub(crate) stop: bool,
    /// The number of its effect: equal steps from one state lead to one state.
    pub(crate) effect: u32,
    pub(crate) change: Change,
    words: Words,
}

/// What a step changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// The part itself, and what that has used then.
    Part { part: u32, used: u32 },
    /// The part itself, which goes on counting; how much more it has used.
    Counted { part: u32, more: Box<[u64]> },
    /// More than that.
    All {
        rest: u32,
        parts: Box<[u32]>,
        used: Box<[u32]>,
    },
}

impl Change {
    /// Compares two states; `own` is the part that the step was done in.
    pub(crate) fn between(before: &State, after: &State, own: usize) -> Self {
        let same = |one: &[u32], other: &[u32]| {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .enumerate()
                    .all(|(index, (one, other))| index == own || one == other)
        };
        let part = after.parts.get(own).zip(after.used.get(own));
        match part {
            Some((part, used))
                if before.rest == after.rest
                    && same(&before.parts, &after.parts)
                    && same(&before.used, &after.used) =>
            {
                Self::Part {
                    part: *part,
                    used: *used,
                }
            }
            _ => Self::All {
                rest: after.rest,
                parts: after.parts.clone().into_boxed_slice(),
                used: after.used.clone().into_boxed_slice(),
            },
        }
    }

    /// Returns the part after the step, if no other is changed.
    pub(crate) const fn part(&self) -> Option<u32> {
        match self {
            Self::Part { part, .. } | Self::Counted { part, .. } => Some(*part),
            Self::All { .. } => None,
        }
    }

    /// Changes a state that the step is done in; returns `false` if its part is not there.
    pub(crate) fn apply(&self, atlas: &mut Atlas, state: &mut State, own: usize) -> bool {
        let places = state.parts.get_mut(own).zip(state.used.get_mut(own));
        match (self, places) {
            (Self::Part { part, used }, Some((own, own_used))) => {
                (*own, *own_used) = (*part, *used)
            }
            (Self::Counted { part, more }, Some((own, own_used))) => {
                (*own, *own_used) = (*part, atlas.add_used(*own_used, more));
            }
            (Self::All { rest, parts, used }, _) => {
                state.rest = *rest;
                copy(parts, &mut state.parts);
                copy(used, &mut state.used);
            }
            (Self::Part { .. } | Self::Counted { .. }, None) => return false,
        }
        true
    }
}

impl Step {
    /// Does the step in another state, and writes the result over `to`; returns `false` if its part is not there.
    pub(crate) fn apply(
        &self,
        atlas: &mut Atlas,
        state: &State,
        own: usize,
        to: &mut State,
    ) -> bool {
        to.rest = state.rest;
        copy(&state.parts, &mut to.parts);
        copy(&state.used, &mut to.used);
        copy(&state.words, &mut to.words);
        atlas.age(&self.words, &mut to.words);
        self.change.apply(atlas, to, own)
    }
}

/// What is known of a part where it stands.
#[derive(Debug)]
pub(crate) struct Entry {
    plain: Vec<Option<Slot>>,
    more: Map<(u32, Kind), Slot>,
}

impl Entry {
    fn new(candidates: usize) -> Self {
        Self {
            plain: vec![None; candidates],
            more: Map::default(),
        }
    }

    pub(crate) fn slot(&self, candidate: u32, kind: Kind) -> Option<&Slot> {
        match kind {
            Kind::Plain => self.plain.get(at(candidate))?.as_ref(),
            _ => self.more.get(&(candidate, kind)),
        }
    }

    pub(crate) fn put(&mut self, candidate: u32, kind: Kind, slot: Slot) {
        match kind {
            Kind::Plain => {
                if let Some(known) = self.plain.get_mut(at(candidate)) {
                    *known = Some(slot);
                }
            }
            _ => {
                self.more.insert((candidate, kind), slot);
            }
        }
    }
}

/// All that the engine has said.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Map<Box<[u32]>, Entry>,
    pub(crate) wide: Map<Box<[u32]>, Slot>,
    effects: Set<(Change, Words)>,
}

impl Table {
    /// Makes a step of what came of a candidate.
    pub(crate) fn step(
        &mut self,
        template: u32,
        (counts, stop): (bool, bool),
        (change, words): (Change, Words),
    ) -> Step {
        Step {
            template,
            counts,
            stop,
            effect: number(&mut self.effects, (change.clone(), words.clone())),
            change,
            words,
        }
    }

    /// Finds the entry of a part where it stands, with as many candidates.
    pub(crate) fn entry(&mut self, key: &[u32], candidates: usize) -> usize {
        if let Some(known) = self.entries.get_index_of(key) {
            return known;
        }
        let entry = Entry::new(candidates);
        self.entries.insert_full(key.into(), entry).0
    }

    /// Returns what is known of a candidate.
    pub(crate) fn slot(&self, entry: usize, candidate: u32, kind: Kind) -> Option<&Slot> {
        self.entries.get_index(entry)?.1.slot(candidate, kind)
    }

    pub(crate) fn get_mut(&mut self, entry: usize) -> Option<&mut Entry> {
        self.entries.get_index_mut(entry).map(|(_, entry)| entry)
    }
}
