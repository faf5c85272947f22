//! A set of rows of numbers.

use std::hash::Hasher;

use hashbrown::{HashTable, hash_table::Entry};

use crate::hash::{Fast, at, short};

/// A set of rows, which are numbered in the order of insertion.
///
/// All rows are in one list, padded to the longest, so that a lookup reads one place in memory.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The length of each row in `all`: its own length, and then as many numbers as the longest row has.
    room: usize,
    all: Vec<u32>,
    numbers: HashTable<u32>,
    count: usize,
}

impl Rows {
    /// Returns the number of a row.
    pub(crate) fn find(&self, row: &[u32]) -> Option<u32> {
        let is = |number: &u32| self.get(*number) == Some(row);
        self.numbers.find(hash(row), is).copied()
    }

    /// Adds a row, and returns its number.
    pub(crate) fn add(&mut self, row: &[u32]) -> u32 {
        if row.len() + 1 > self.room {
            self.widen(row.len() + 1);
        }
        let number = short(self.count);
        let (all, room) = (&self.all, self.room);
        let is = |known: &u32| stored(all, room, *known) == Some(row);
        let again = |known: &u32| hash(stored(all, room, *known).unwrap_or_default());
        match self.numbers.entry(hash(row), is, again) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(free) => free.insert(number),
        };
        self.count += 1;
        put(&mut self.all, row, self.count * self.room);
        number
    }

    /// Returns a row.
    pub(crate) fn get(&self, number: u32) -> Option<&[u32]> {
        stored(&self.all, self.room, number)
    }

    /// Pads all rows to `room`.
    fn widen(&mut self, room: usize) {
        let mut all = Vec::with_capacity(self.count * room);
        for number in 0..self.count {
            let row = self.get(short(number)).unwrap_or_default();
            put(&mut all, row, (number + 1) * room);
        }
        (self.all, self.room) = (all, room);
    }
}

/// Appends a row, padded so that `all` has `end` numbers.
fn put(all: &mut Vec<u32>, row: &[u32], end: usize) {
    all.push(short(row.len()));
    all.extend(row);
    all.resize(end, 0);
}

fn stored(all: &[u32], room: usize, number: u32) -> Option<&[u32]> {
    let (length, row) = all.get(at(number) * room..)?.split_first()?;
    row.get(..at(*length))
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
