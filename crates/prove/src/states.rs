//! The encoded states of the graph, which are numbered in the order of insertion.
//!
//! A state is stored as the numbers of its two halves: where regions run side by side, many states have a half in common,
//! and a step of one region changes one half only.

use std::hash::Hasher;

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    atlas::State,
    hash::{Fast, at, short},
    rows::Rows,
};

/// The numbers of the halves of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halves {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

/// A set of encoded states.
#[derive(Debug, Default)]
pub(crate) struct States {
    heads: Rows,
    tails: Rows,
    all: Vec<Halves>,
    /// The halves of each state, once more, with its number: so a lookup reads one place in memory.
    numbers: HashTable<(Halves, u32)>,
}

impl States {
    /// Returns the number of an encoded state.
    pub(crate) fn find(&self, packed: &[u32]) -> Option<u32> {
        let (head, tail) = cut(packed);
        let (head, tail) = (self.heads.find(head)?, self.tails.find(tail)?);
        self.find_halves(Halves { head, tail })
    }

    /// Returns the number of the state with these halves.
    pub(crate) fn find_halves(&self, halves: Halves) -> Option<u32> {
        let is = |(known, _): &(Halves, u32)| *known == halves;
        let found = self.numbers.find(hash(halves), is);
        found.map(|(_, number)| *number)
    }

    /// Returns the number of a half that some state has, in place of the same half of another state.
    pub(crate) fn find_half(&self, half: &[u32], is_head: bool) -> Option<u32> {
        match is_head {
            true => self.heads.find(half),
            false => self.tails.find(half),
        }
    }

    /// Adds an encoded state, and returns its number and whether it is new.
    pub(crate) fn add(&mut self, packed: &[u32]) -> (u32, bool) {
        let (head, tail) = cut(packed);
        let (head, tail) = (self.heads.add(head), self.tails.add(tail));
        let halves = Halves { head, tail };
        let is = |(known, _): &(Halves, u32)| *known == halves;
        let again = |(known, _): &(Halves, u32)| hash(*known);
        match self.numbers.entry(hash(halves), is, again) {
            Entry::Occupied(known) => (known.get().1, false),
            Entry::Vacant(free) => {
                let number = short(self.all.len());
                free.insert((halves, number));
                self.all.push(halves);
                (number, true)
            }
        }
    }

    /// Returns the halves of a state.
    pub(crate) fn halves(&self, number: u32) -> Option<Halves> {
        self.all.get(at(number)).copied()
    }

    /// Writes an encoded state into a buffer, in place of what is there; returns `false` if there is none of this number.
    pub(crate) fn read(&self, number: u32, packed: &mut Vec<u32>) -> bool {
        packed.clear();
        let Some(halves) = self.halves(number) else {
            return false;
        };
        packed.extend(self.heads.get(halves.head).into_iter().flatten());
        packed.extend(self.tails.get(halves.tail).into_iter().flatten());
        true
    }
}

/// Cuts an encoded state in the middle of its parts.
fn cut(packed: &[u32]) -> (&[u32], &[u32]) {
    let half = State::middle(packed);
    packed.split_at_checked(half).unwrap_or((packed, &[]))
}

fn hash(halves: Halves) -> u64 {
    let mut hasher = Fast::default();
    hasher.write_u64(u64::from(halves.head) << 32 | u64::from(halves.tail));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::States;
    use crate::atlas::State;

    fn packed(rest: u32, parts: &[u32], words: &[u32]) -> Box<[u32]> {
        let state = State {
            rest,
            parts: parts.to_vec(),
            used: Vec::new(),
            words: words.to_vec(),
        };
        state.packed()
    }

    #[test]
    fn states_with_any_number_of_parts_and_words_are_told_apart() {
        let mut all = Vec::new();
        for rest in 0..2 {
            for parts in [
                &[][..],
                &[1],
                &[2],
                &[1, 2],
                &[2, 1],
                &[1, 1, 2],
                &[1, 2, 1],
            ] {
                for words in [&[][..], &[1], &[2], &[1, 2], &[0, 0]] {
                    all.push(packed(rest, parts, words));
                }
            }
        }
        let mut states = States::default();
        for (number, state) in (0..).zip(&all) {
            assert_eq!(states.find(state), None, "{state:?}");
            assert_eq!(states.add(state), (number, true), "{state:?}");
            assert_eq!(states.add(state), (number, false), "{state:?}");
        }
        let mut read = Vec::new();
        for (number, state) in (0..).zip(&all) {
            assert_eq!(states.find(state), Some(number), "{state:?}");
            assert!(states.read(number, &mut read));
            assert_eq!(read, state.to_vec());
        }
        assert!(!states.read(u32::MAX, &mut read));
    }
}
