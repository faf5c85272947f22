//! Checks a whole log: the chain, each event, the pinned workflow, the snapshots.
//!
//! What no check of the files alone can see: events removed from the end together
//! with every snapshot beyond them (or with the write-ahead log that held both), and
//! a log whose hashes were all made anew. Whoever must know keeps the last hash elsewhere.

use crate::{
    broken::{Broken, FirstBroken, VerifyError},
    error::StoreError,
    snapshot::{self, Snapshot},
    sqlite_run::SqliteRun,
};

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
