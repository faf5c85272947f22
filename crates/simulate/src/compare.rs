//! Aligns two runs: common events and differences.
//!
//! Events are equal if they have the same meaning: times, ids, digests, sizes and the paths of the two projects are ignored.
//! Common events are found by Myers' algorithm with bounded work: in runs with little in common, fewer events may be paired than
//! possible, but none wrongly.

mod fingerprint;
mod myers;

use std::ops::Range;

use serde::Serialize;

pub use fingerprint::fingerprint;

/// A sequence of events that are equal in both runs, or different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// Events of the left run, by number.
    pub left: Range<u64>,
    /// Events of the right run.
    pub right: Range<u64>,
    /// Whether they are equal.
    pub same: bool,
}

impl Stretch {
    /// Counts the rows that it takes side by side.
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

/// The alignment of two runs' events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Stretches with their first rows, alternately equal and different.
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

    /// Returns the differences: each stretch with its first row.
    pub fn differences(&self) -> impl Iterator<Item = (u64, &Stretch)> {
        let all = self.stretches.iter().filter(|(_, stretch)| !stretch.same);
        all.map(|(row, stretch)| (*row, stretch))
    }

    /// Returns the row of an event of the left or the right run.
    #[must_use]
    pub fn row_of(&self, seq: u64, left: bool) -> Option<u64> {
        self.stretches.iter().find_map(|(first, stretch)| {
            let range = if left { &stretch.left } else { &stretch.right };
            let offset = range.contains(&seq).then(|| seq - range.start)?;
            Some(first + offset)
        })
    }

    /// Returns the rows from number `from` on: the events at the left and at the right, and whether they are equal.
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

/// Aligned events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Event at the left.
    pub left: Option<u64>,
    /// Event at the right.
    pub right: Option<u64>,
    /// Whether they are equal.
    pub same: bool,
    /// Number of events of each run up to and including this row.
    pub reached: (u64, u64),
}
