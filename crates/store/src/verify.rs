//! Checks a whole log: the chain, each event, the pinned workflow, the snapshots.
//!
//! Two changes cannot be detected from the files alone: removing the last events together with every later snapshot (or
//! with the write-ahead log that contained both), and replacing the whole log by one with new hashes. To detect these, store the
//! last hash elsewhere.

use crate::{broken::VerifyError, error::StoreError, rows, sqlite_run::SqliteRun, sqlite_snapshot};

impl SqliteRun {
    /// Checks the whole log and counts its events.
    ///
    /// # Errors
    /// The first event that differs from what was recorded, or the log cannot be read.
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
