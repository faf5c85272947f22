//! How evidence ages: a guard may ask for evidence since the last edit, or since a state was entered.

use interlock_core::{guard::Since, names::FramePath, run::Run};

use crate::{
    hash::{NONE, at, short},
    key::stays,
};

/// The age of evidence after a step that does not record it again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Aging {
    /// Whether something was written.
    edited: bool,
    /// For each frame after the step its index before it; [`NONE`] for a frame that entered a state.
    frames: Vec<u32>,
    /// The number of frames before the step.
    before: usize,
}

impl Aging {
    /// Compares the runs before and after a step; `None` if a frame stands in a state that it entered earlier but had left.
    pub(crate) fn between(before: &Run, after: &Run) -> Option<Self> {
        let old = stays(before);
        let frame = |stay: &(FramePath, u64)| match old.iter().position(|known| known == stay) {
            Some(known) => Some(short(known)),
            None => (stay.1 >= before.seq).then_some(NONE),
        };
        Some(Self {
            edited: before.last_write != after.last_write,
            frames: stays(after).iter().map(frame).collect::<Option<_>>()?,
            before: old.len(),
        })
    }

    /// Returns whether all evidence counts as before.
    pub(crate) fn is_none(&self) -> bool {
        let same = |(index, frame): (usize, &u32)| at(*frame) == index;
        !self.edited && self.frames.len() == self.before && self.frames.iter().enumerate().all(same)
    }

    /// Returns what a word becomes; `asked` says how guards ask for its key.
    pub(crate) fn of(&self, word: &str, asked: &[Since]) -> String {
        let letters = word.as_bytes();
        let mut aged = String::with_capacity(word.len());
        let mut from = 0;
        let mut add = |is: bool| aged.push(if is { '1' } else { '0' });
        let is = |index: usize| letters.get(index) == Some(&b'1');
        for since in asked {
            match since {
                Since::RunStart => add(is(from)),
                Since::LastEdit => add(is(from) && !self.edited),
                Since::StateEntry => {
                    for frame in &self.frames {
                        add(at(*frame) < self.before && is(from + at(*frame)));
                    }
                }
            }
            from += match since {
                Since::StateEntry => self.before,
                Since::RunStart | Since::LastEdit => 1,
            };
        }
        if !aged.contains('1') {
            return String::new();
        }
        aged.push_str(word.get(from..).unwrap_or_default());
        aged
    }
}

/// The effect of a step on evidence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Words {
    /// The number of the [`Aging`] of evidence that the step does not record.
    pub(crate) aging: u32,
    /// For each key the word that the step records; empty if it records nothing.
    pub(crate) seen: Box<[Option<u32>]>,
}
