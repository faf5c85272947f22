//! What a step does to what limits have counted, wherever it is done in a place.

use interlock_core::names::FramePath;
use interlock_prove::{Abstraction, Count, Counted};

/// Where a step leads from every run of a place.
#[derive(Debug)]
pub(crate) struct Step {
    /// The place.
    pub(crate) to: u32,
    counts: Box<[Becomes]>,
}

/// What is counted after a step.
#[derive(Debug, Clone, Copy)]
enum Becomes {
    /// Nothing yet; of files the number of the empty set.
    Is(u64),
    /// What was counted there before, and more.
    More { from: usize, by: u64, limit: u64 },
    /// The files that were counted there before, and these.
    Files { from: usize, with: u32, limit: u64 },
}

/// The files that a call counts, and the frame that it counts in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    pub(crate) path: Option<FramePath>,
    pub(crate) files: Vec<String>,
}

impl Step {
    /// Compares what is counted before and after; `None`: elsewhere in the place it may be otherwise.
    ///
    /// A limit that is used up changes what the run may do, so a step that uses one up is none of the whole place.
    pub(crate) fn between(
        abstraction: &mut Abstraction,
        before: &[Count],
        (to, after): (u32, &[Count]),
        written: &Written,
    ) -> Option<Self> {
        let none = abstraction.files([]);
        let all = abstraction.files(&written.files);
        let one = |count: &Count| {
            let same = |other: &&Count| {
                other.path == count.path
                    && other.entered_seq == count.entered_seq
                    && other.of == count.of
            };
            let limit = count.limit;
            let Some(from) = before.iter().position(|other| same(&other)) else {
                let begins = match count.of {
                    Counted::Calls | Counted::Bytes => 0,
                    Counted::Files => u64::from(none),
                };
                return (count.now == begins).then_some(Becomes::Is(begins));
            };
            let becomes = match count.of {
                Counted::Calls | Counted::Bytes => {
                    let by = count.now.checked_sub(before.get(from)?.now)?;
                    Becomes::More { from, by, limit }
                }
                Counted::Files => {
                    let is_own = written.path.as_ref() == Some(&count.path);
                    let with = if is_own { all } else { none };
                    Becomes::Files { from, with, limit }
                }
            };
            // What was counted here is to follow from the step.
            (becomes.after(abstraction, before.get(from)?.now)? == count.now).then_some(becomes)
        };
        let counts: Option<Box<[Becomes]>> = after.iter().map(one).collect();
        Some(Self {
            to,
            counts: counts?,
        })
    }

    /// Returns what is counted after the step; `None`: a limit would be used up.
    pub(crate) fn counts(
        &self,
        abstraction: &mut Abstraction,
        before: &[u64],
    ) -> Option<Box<[u64]>> {
        let each = self.counts.iter().map(|becomes| {
            let before = match becomes {
                Becomes::Is(_) => 0,
                Becomes::More { from, .. } | Becomes::Files { from, .. } => *before.get(*from)?,
            };
            becomes.after(abstraction, before)
        });
        each.collect()
    }
}

impl Becomes {
    fn after(self, abstraction: &mut Abstraction, before: u64) -> Option<u64> {
        match self {
            Self::Is(begins) => Some(begins),
            Self::More { by: 0, .. } => Some(before),
            Self::More { by, limit, .. } => before.checked_add(by).filter(|now| *now < limit),
            Self::Files { with, limit, .. } => {
                let before = u32::try_from(before).ok()?;
                let all = abstraction.all_files(before, with);
                let is_fine = all == before || abstraction.count_of_files(all) < limit;
                is_fine.then_some(u64::from(all))
            }
        }
    }
}
