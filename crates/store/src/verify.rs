//! Checks a whole log: the chain, each event, the pinned workflow, the snapshots.
//!
//! What no check of the files alone can see: events removed from the end together
//! with every snapshot beyond them (or with the write-ahead log that held both), and
//! a log whose hashes were all made anew. Whoever must know keeps the last hash elsewhere.

use crate::{broken::VerifyError, error::StoreError, rows, sqlite_run::SqliteRun, sqlite_snapshot};

impl SqliteRun {
    /// Checks the whole log and counts its events.
    ///
    /// # Errors
    /// The first event that is not as it was recorded, or the log cannot be read.
    pub(crate) fn verified(&self) -> Result<u64, VerifyError> {
        self.quick_check()?;
        let machine = self.pin()?.machine(&self.path)?;
        let snapshots = sqlite_snapshot::whole(
            &self.connection,
            &self.path,
            (&self.run, self.marks()),
            usize::MAX,
        )?;
        let snapshots: Vec<_> = snapshots
            .into_iter()
            .map(|(snapshot, _)| snapshot)
            .collect();
        rows::verify(self, &machine, &snapshots)
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
