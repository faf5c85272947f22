//! Two runs beside each other: which events they have in common, and where they differ.
//!
//! Events are the same where they say the same: times, ids, digests, sizes and the paths of the two projects do not
//! count. What they have in common is found by Myers' algorithm, whose work is bounded: of runs that have little in
//! common, fewer events may be paired than could be, and none wrongly.

mod fingerprint;
mod myers;

use std::ops::Range;

use serde::Serialize;

pub use fingerprint::fingerprint;

/// Events that follow each other, in both runs alike or differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// Those of the left run, by number.
    pub left: Range<u64>,
    /// Those of the right run.
    pub right: Range<u64>,
    /// Whether they are the same.
    pub same: bool,
}

impl Stretch {
    /// Counts the rows that it takes where events stand beside each other.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        length(&self.left).max(length(&self.right))
    }

    /// Returns the events of one of its rows.
    #[must_use]
    pub fn row(&self, row: u64) -> (Option<u64>, Option<u64>) {
        let of = |range: &Range<u64>| {
            let seq = range.start.saturating_add(row);
            range.contains(&seq).then_some(seq)
        };
        (of(&self.left), of(&self.right))
    }
}

/// How the events of two runs stand beside each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alignment {
    /// All stretches with their first row; those that are the same and those that differ take turns.
    stretches: Vec<(u64, Stretch)>,
    rows: u64,
}

impl Alignment {
    /// Aligns two runs by the [`fingerprint`]s of their events.
    #[must_use]
    pub fn of(left: &[u64], right: &[u64]) -> Self {
        let mut all = Self::default();
        for stretch in myers::stretches(left, right) {
            let first = all.rows;
            all.rows = all.rows.saturating_add(stretch.rows());
            all.stretches.push((first, stretch));
        }
        all
    }

    /// Counts the rows.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns where the runs differ: each stretch with its first row.
    pub fn differences(&self) -> impl Iterator<Item = (u64, &Stretch)> {
        let all = self.stretches.iter().filter(|(_, stretch)| !stretch.same);
        all.map(|(row, stretch)| (*row, stretch))
    }

    /// Returns the row of an event of the left run, or of the right one.
    #[must_use]
    pub fn row_of(&self, seq: u64, left: bool) -> Option<u64> {
        self.stretches.iter().find_map(|(first, stretch)| {
            let range = if left { &stretch.left } else { &stretch.right };
            let offset = range.contains(&seq).then(|| seq - range.start)?;
            Some(first + offset)
        })
    }

    /// Returns the rows from number `from` on: the events at the left and at the right, and whether they are the same.
    pub fn rows_from(&self, from: u64) -> impl Iterator<Item = Row> {
        let start = self
            .stretches
            .partition_point(|(first, stretch)| first.saturating_add(stretch.rows()) <= from);
        let stretches = self.stretches.get(start..).unwrap_or_default().iter();
        stretches.flat_map(move |(first, stretch)| {
            (from.saturating_sub(*first)..stretch.rows()).map(move |row| {
                let (left, right) = stretch.row(row);
                let reached =
                    |range: &Range<u64>| range.start.saturating_add(row + 1).min(range.end);
                Row {
                    left,
                    right,
                    same: stretch.same,
                    reached: (reached(&stretch.left), reached(&stretch.right)),
                }
            })
        })
    }
}

/// Events that stand beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The one at the left.
    pub left: Option<u64>,
    /// The one at the right.
    pub right: Option<u64>,
    /// Whether they are the same.
    pub same: bool,
    /// How many events each run has up to this row, with it.
    pub reached: (u64, u64),
}
