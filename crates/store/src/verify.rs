//! Checks a whole log: the chain, each event, the pinned workflow, the snapshots.
//!
//! What no check of the files alone can see: events removed from the end together
//! with every snapshot beyond them (or with the write-ahead log that held both), and
//! a log whose hashes were all made anew. Whoever must know keeps the last hash elsewhere.

use interlock_core::names::RunId;

use crate::{
    error::StoreError,
    snapshot::{self, Snapshot},
    sqlite_run::SqliteRun,
};

/// The first event that is not as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} {broken}")]
pub struct FirstBroken {
    /// Its place in the log.
    pub seq: u64,
    /// What is wrong with it.
    pub broken: Broken,
}

/// What is wrong with an event of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It is not there, and later ones or a snapshot are.
    #[error("is missing")]
    Missing,
    /// Its hash is not that of its content after the one before it.
    #[error("is not what was recorded there")]
    Hash,
    /// Its content is not an event this version knows.
    #[error("does not parse, unless a newer Interlock wrote it: {0}")]
    Unreadable(String),
    /// It belongs to another run.
    #[error("is of run `{0}`")]
    OfRun(RunId),
    /// It began with another machine than the pinned one.
    #[error("names another workflow than the pinned one")]
    OtherMachine,
    /// It stands first and is no start.
    #[error("is `{0}` where the run should start")]
    NotAStart(&'static str),
    /// The snapshot that was made after it says otherwise.
    #[error("contradicts the snapshot made after it")]
    Snapshot,
}

/// Why a log could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// An event is not as it was recorded.
    #[error(transparent)]
    Broken(#[from] FirstBroken),
    /// The log could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SqliteRun {
    /// Checks the whole log and counts its events.
    ///
    /// # Errors
    /// The first event that is not as it was recorded, or the log cannot be read.
    pub(crate) fn verified(&self) -> Result<u64, VerifyError> {
        self.quick_check()?;
        let machine = self.pin()?.machine(&self.path)?;
        let snapshots = snapshot::whole(
            &self.connection,
            &self.path,
            (&self.run, self.marks()),
            usize::MAX,
        )?;
        let snapshots: Vec<_> = snapshots
            .into_iter()
            .map(|(snapshot, _)| snapshot)
            .collect();
        let mut folded = self.unfolded();
        loop {
            let rows = self.rows(folded.run.seq, 256)?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                let seq = folded.run.seq;
                let (event, head) = row
                    .read(seq, folded.head, self.marks())
                    .map_err(|found| broken(seq, found))?;
                if seq == 0 {
                    self.check_start(&event, &machine)
                        .map_err(|found| broken(seq, found))?;
                }
                folded = self.fold_event(folded, &event, head)?;
                check_snapshots(&snapshots, &folded)?;
            }
        }
        let count = folded.run.seq;
        match snapshots.iter().find(|snapshot| snapshot.run.seq > count) {
            Some(_) => Err(broken(count, Broken::Missing)),
            None => Ok(count),
        }
    }

    fn quick_check(&self) -> Result<(), StoreError> {
        let found: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(self.failed())?;
        if found == "ok" {
            Ok(())
        } else {
            Err(self.damaged(found))
        }
    }
}

fn check_snapshots(snapshots: &[Snapshot], folded: &Snapshot) -> Result<(), VerifyError> {
    let here = snapshots
        .iter()
        .find(|snapshot| snapshot.run.seq == folded.run.seq);
    match here {
        Some(snapshot) if snapshot != folded => {
            Err(broken(folded.run.seq.saturating_sub(1), Broken::Snapshot))
        }
        _ => Ok(()),
    }
}

fn broken(seq: u64, broken: Broken) -> VerifyError {
    VerifyError::Broken(FirstBroken { seq, broken })
}
