//! Snapshots: the run as it was after so many events, so that a load stays cheap.
//!
//! Never the truth: one that is damaged or of another engine is passed over,
//! and the log is folded instead.

use std::path::Path;

use interlock_core::{names::RunId, run::Run};

use crate::{chain::ChainHash, error::StoreError, marks::Marks};

/// Events between two snapshots at least.
pub const EVERY: u64 = 16;
/// The same where the log stays open from append to append.
pub const EVERY_KEPT: u64 = 256;
/// What a snapshot was folded by; another engine may fold otherwise.
///
/// Whoever changes what `evolve` makes of an event, or the shape of a run, raises the first number.
pub const ENGINE: &str = concat!("15/", env!("CARGO_PKG_VERSION"));

/// A run and the hash of the last event folded into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The run.
    pub run: Run,
    /// The hash of the last event in it; the pin's before the first.
    pub head: ChainHash,
}

/// A snapshot as it is written down, of [`ENGINE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// Events in it.
    pub seq: i64,
    /// The hash of the last of them.
    pub head: Vec<u8>,
    /// The run as JSON, with marks.
    pub body: Vec<u8>,
    /// What all of it hashes to.
    pub digest: Vec<u8>,
}

/// What has come since the newest snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// Events in the newest snapshot.
    pub seq: u64,
    /// Its bytes.
    pub size: u64,
    /// Bytes of the events after it.
    pub grown: u64,
}

impl Since {
    /// Tells whether a snapshot is due at `seq`, when there are to be `every` events between two.
    ///
    /// What is written for snapshots is so never more than what is written for events,
    /// and what is read after one never more than the run's own size and a few events.
    #[must_use]
    pub const fn is_due(&self, seq: u64, every: u64) -> bool {
        self.seq / every < seq / every && self.grown >= self.size
    }
}

fn digest(run: &RunId, seq: i64, head: &[u8], body: &[u8]) -> ChainHash {
    ChainHash::of_parts(&[
        b"interlock snapshot",
        run.as_str().as_bytes(),
        &seq.to_be_bytes(),
        ENGINE.as_bytes(),
        head,
        body,
    ])
}

impl StoredSnapshot {
    /// Writes a snapshot down; `place` names the store in errors.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn of(snapshot: &Snapshot, marks: &Marks, place: &Path) -> Result<Self, StoreError> {
        let unwritable = |what: String| StoreError::Unwritable {
            path: place.to_owned(),
            what,
        };
        let body =
            serde_json::to_vec(&snapshot.run).map_err(|error| unwritable(error.to_string()))?;
        let body = marks.encode(&body).into_owned();
        let seq = snapshot.run.seq;
        let seq = i64::try_from(seq).map_err(|_| unwritable(format!("the number {seq}")))?;
        let head = snapshot.head.as_bytes().to_vec();
        let digest = digest(&snapshot.run.id, seq, &head, &body);
        Ok(Self {
            seq,
            head,
            body,
            digest: digest.as_bytes().to_vec(),
        })
    }

    /// Reads it for `run`, with the number of its bytes; `None`: it is damaged, or of another run.
    #[must_use]
    pub fn whole(&self, run: &RunId, marks: &Marks) -> Option<(Snapshot, u64)> {
        let head = ChainHash::from_bytes(&self.head)?;
        if digest(run, self.seq, &self.head, &self.body).as_bytes()[..] != self.digest {
            return None;
        }
        let folded: Run = serde_json::from_slice(&marks.decode(&self.body).ok()?).ok()?;
        let fits = folded.id == *run && i64::try_from(folded.seq) == Ok(self.seq);
        let size = u64::try_from(self.body.len()).unwrap_or(u64::MAX);
        fits.then_some((Snapshot { run: folded, head }, size))
    }
}
