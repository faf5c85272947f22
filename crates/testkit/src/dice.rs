//! Pseudo-random choices that are reproducible from a seed.

/// A small random number generator (SplitMix64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Returns a generator seeded with a text and a number.
    #[must_use]
    pub fn of(text: &str, number: u64) -> Self {
        // FNV-1a.
        let hashed = text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self(hashed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns a generator seeded with a number.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, or 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// Returns a number below `bound`; a bound of 0 counts as 1.
    pub fn number_below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Returns a number from 0 to 1.
    pub fn part(&mut self) -> f64 {
        let part = u32::try_from(self.next() >> 32).unwrap_or(u32::MAX);
        f64::from(part) / f64::from(u32::MAX)
    }

    /// Returns `true` once in `bound` times, on average.
    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    /// Picks an item; returns `None` if there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// Picks a word; the list must not be empty.
    pub fn word(&mut self, from: &[&str]) -> String {
        self.pick(from).copied().unwrap_or_default().to_owned()
    }

    /// Picks a number; the list must not be empty.
    pub fn number(&mut self, from: &[u64]) -> u64 {
        self.pick(from).copied().unwrap_or_default()
    }
}
