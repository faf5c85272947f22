//! Tables that are found by a fast hash; what is in them keeps the order in which it came.

use std::hash::{BuildHasherDefault, Hasher};

/// A table with the order of insertion, so that the same workflow always gives the same graph.
pub type Map<K, V> = indexmap::IndexMap<K, V, BuildHasherDefault<Fast>>;
/// A set with the order of insertion; the place of an item is its number.
pub type Set<T> = indexmap::IndexSet<T, BuildHasherDefault<Fast>>;

/// Multiplies and rotates: the same on every machine, and not meant for what an adversary chooses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fast(u64);

const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;

impl Fast {
    const fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0_u8; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        if !rest.is_empty() {
            self.add(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.add(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.add(u64::try_from(number).unwrap_or(u64::MAX));
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

/// No number.
pub(crate) const NONE: u32 = u32::MAX;

/// Returns the number of an item, which it is given where it is new.
pub(crate) fn number<T: std::hash::Hash + Eq>(set: &mut Set<T>, item: T) -> u32 {
    short(set.insert_full(item).0)
}

/// Shortens a number; a table of more than four thousand million items fits no memory.
pub(crate) fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Makes a number an index.
pub(crate) const fn at(number: u32) -> usize {
    number as usize
}
