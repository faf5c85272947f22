//! Choices from a seed or from a script; each is recorded, so that a schedule can be replayed and shrunk.

use interlock_testkit::dice::Dice;

/// The source of choices. The choice 0 is always the calm one: nothing goes wrong, the oldest comes first.
pub(crate) struct Choices {
    source: Source,
    taken: Vec<u64>,
}

enum Source {
    Dice(Dice),
    /// After its end, every choice is 0.
    Script(Vec<u64>),
}

impl Choices {
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self::from(Source::Dice(Dice::of_seed(seed)))
    }

    pub(crate) fn of_script(script: Vec<u64>) -> Self {
        Self::from(Source::Script(script))
    }

    fn from(source: Source) -> Self {
        Self {
            source,
            taken: Vec::new(),
        }
    }

    /// Chooses a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let value = match &mut self.source {
            Source::Dice(dice) => dice.number_below(bound),
            Source::Script(script) => script.get(self.taken.len()).copied().unwrap_or(0) % bound,
        };
        self.taken.push(value);
        value
    }

    /// Chooses an index into a list of `len` items, which must not be empty.
    pub(crate) fn place(&mut self, len: usize) -> usize {
        usize::try_from(self.below(u64::try_from(len).unwrap())).unwrap()
    }

    /// Returns every choice so far.
    pub(crate) fn taken(&self) -> &[u64] {
        &self.taken
    }
}

/// Maximum number of scripts tried while shrinking.
const TRIES_MAX: u32 = 1_000;

/// Shrinks a failing script: as short and as calm as possible while it still fails.
pub(crate) fn shrink(script: &[u64], fails: impl Fn(&[u64]) -> bool) -> Vec<u64> {
    let mut tries = 0;
    let mut best = script.to_vec();
    let mut size = best.len();
    while size > 0 {
        let mut from = 0;
        while from < best.len() {
            let to = (from + size).min(best.len());
            let calm = best[from..to].iter().all(|choice| *choice == 0);
            let mut calmer = best.clone();
            calmer[from..to].fill(0);
            from = to;
            if calm || tries == TRIES_MAX {
                continue;
            }
            tries += 1;
            if fails(&calmer) {
                best = calmer;
            }
        }
        size /= 2;
    }
    let last = best.iter().rposition(|choice| *choice != 0);
    best.truncate(last.map_or(0, |last| last + 1));
    best
}
