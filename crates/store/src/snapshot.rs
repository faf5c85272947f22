//! Snapshots: the state of a run after some events, which makes loading cheap.
//!
//! A snapshot is only a cache: if it is damaged or from another engine, it is ignored and the log is folded instead.

use std::path::Path;

use interlock_core::{names::RunId, run::Run};

use crate::{chain::ChainHash, error::StoreError, marks::Marks};

/// Minimum number of events between two snapshots.
pub const EVERY: u64 = 16;
/// The same for a log that stays open between appends.
pub const EVERY_KEPT: u64 = 256;
/// Version of the engine that folded a snapshot; another version may fold differently.
///
/// Increment the first number whenever `evolve` handles an event differently or the shape of a run changes.
pub const ENGINE: &str = concat!("15/", env!("CARGO_PKG_VERSION"));

/// A run and the hash of the last event folded into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The run.
    pub run: Run,
    /// Hash of the last event in it; before the first event, that of the pin.
    pub head: ChainHash,
}

/// A snapshot in its recorded form, made by [`ENGINE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// Number of events in it.
    pub seq: i64,
    /// Hash of the last of them.
    pub head: Vec<u8>,
    /// The run as JSON, with marks.
    pub body: Vec<u8>,
    /// Digest of all of it.
    pub digest: Vec<u8>,
}

/// What was recorded since the newest snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// Number of events in the newest snapshot.
    pub seq: u64,
    /// Size of that snapshot in bytes.
    pub size: u64,
    /// Size in bytes of the events after it.
    pub grown: u64,
}

impl Since {
    /// Returns whether a snapshot is due at `seq`, with at least `every` events between two snapshots.
    ///
    /// This bounds the bytes written for snapshots by those written for events. It also bounds what a load reads after a
    /// snapshot by the size of the run and a few events.
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
    /// Records a snapshot; errors name the store as `place`.
    ///
    /// # Errors
    /// The snapshot cannot be written as JSON.
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

    /// Reads the snapshot for `run`, with its size in bytes; `None`: it is damaged, or of another run.
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
