//! A set of rows of numbers.

use hashbrown::{HashTable, hash_table::Entry};

use crate::hash::{Fast, at, short};
use std::hash::Hasher;

/// A set of rows, which are numbered in the order of insertion.
///
/// All rows are in one list, padded to the longest, so that a lookup reads one place in memory.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The length that rows are padded to.
    room: usize,
    all: Vec<u32>,
    lengths: Lengths,
    numbers: HashTable<u32>,
    count: usize,
}

/// The lengths of the rows that are padded, by number.
type Lengths = std::collections::BTreeMap<u32, usize>;

impl Rows {
    /// Returns the number of a row.
    pub(crate) fn find(&self, row: &[u32]) -> Option<u32> {
        let is = |number: &u32| self.get(*number) == Some(row);
        self.numbers.find(hash(row), is).copied()
    }

    /// Adds a row, and returns its number.
    pub(crate) fn add(&mut self, row: &[u32]) -> u32 {
        if row.len() > self.room {
            self.widen(row.len());
        }
        let number = short(self.count);
        let Self {
            room,
            all,
            lengths,
            numbers,
            ..
        } = self;
        let of = |number: u32| stored(all, *room, lengths, number);
        let is = |known: &u32| of(*known) == Some(row);
        let again = |known: &u32| hash(of(*known).unwrap_or_default());
        match numbers.entry(hash(row), is, again) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(free) => free.insert(number),
        };
        self.all.extend(row);
        if row.len() < self.room {
            self.lengths.insert(number, row.len());
            self.all.resize((self.count + 1) * self.room, 0);
        }
        self.count += 1;
        number
    }

    /// Returns a row.
    pub(crate) fn get(&self, number: u32) -> Option<&[u32]> {
        stored(&self.all, self.room, &self.lengths, number)
    }

    /// Pads all rows to `room`.
    fn widen(&mut self, room: usize) {
        let rows = (0..self.count).map(|number| self.get(short(number)).unwrap_or_default());
        let mut all = Vec::with_capacity(self.count * room);
        let mut lengths = Lengths::new();
        for (number, row) in rows.enumerate() {
            lengths.insert(short(number), row.len());
            all.extend(row);
            all.resize((number + 1) * room, 0);
        }
        (self.all, self.lengths, self.room) = (all, lengths, room);
    }
}

fn stored<'a>(all: &'a [u32], room: usize, lengths: &Lengths, number: u32) -> Option<&'a [u32]> {
    let from = at(number) * room;
    let length = match lengths.is_empty() {
        true => room,
        false => lengths.get(&number).copied().unwrap_or(room),
    };
    all.get(from..from + length)
}

fn hash(row: &[u32]) -> u64 {
    let mut hasher = Fast::default();
    for pair in row.chunks(2) {
        let word = pair
            .iter()
            .fold(0, |word, half| word << 32 | u64::from(*half));
        hasher.write_u64(word);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn rows_of_any_length_are_found_again() {
        let mut rows = Rows::default();
        let all: [&[u32]; 8] = [
            &[1],
            &[1, 0],
            &[],
            &[0],
            &[0, 0, 0],
            &[1, 2, 3, 4, 5],
            &[1, 2],
            &[1, 0, 0],
        ];
        for (number, row) in (0..).zip(all) {
            assert_eq!(rows.find(row), None, "{row:?}");
            assert_eq!(rows.add(row), number, "{row:?}");
            assert_eq!(rows.add(row), number, "{row:?}");
        }
        for (number, row) in (0..).zip(all) {
            assert_eq!(rows.find(row), Some(number), "{row:?}");
            assert_eq!(rows.get(number), Some(row));
        }
        assert_eq!(rows.get(8), None);
    }
}
