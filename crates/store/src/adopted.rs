//! Machines that a run moved to after it began, stored by their content hash.
//!
//! The event that moves a run contains the hash, so that the hash chain covers the machine.

use interlock_core::machine::Machine;
use rusqlite::OptionalExtension as _;

use crate::{error::StoreError, log::EventLog as _, pin, sqlite_run::SqliteRun};

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS machines (
    hash TEXT PRIMARY KEY,
    machine BLOB NOT NULL
) STRICT;
";

impl SqliteRun {
    /// Stores `machine`, sealed, for a run that is about to move to it.
    pub(crate) fn adopt(&self, machine: &Machine) -> Result<(), StoreError> {
        let bytes = pin::machine_bytes(machine, &self.path)?;
        self.connection
            .execute_batch(TABLE)
            .and_then(|()| {
                self.connection.execute(
                    "INSERT OR REPLACE INTO machines (hash, machine) VALUES (?1, ?2)",
                    rusqlite::params![machine.hash, bytes],
                )
            })
            .map_err(self.failed())?;
        Ok(())
    }

    /// Returns the bytes of every stored machine, by hash.
    pub(crate) fn kept_machines(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        if !self.has_machines()? {
            return Ok(Vec::new());
        }
        let failed = self.failed();
        let mut select = self
            .connection
            .prepare("SELECT machine FROM machines ORDER BY hash")
            .map_err(&failed)?;
        let machines = select.query_map([], |row| row.get(0)).map_err(&failed)?;
        machines.collect::<Result<_, _>>().map_err(&failed)
    }

    fn has_machines(&self) -> Result<bool, StoreError> {
        let has_any: Option<i64> = self
            .connection
            .query_row(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'machines'",
                [],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.failed())?;
        Ok(has_any.is_some())
    }

    /// Returns the machine that the run moved to last; `None`: it follows its original machine.
    pub(crate) fn adopted(&self) -> Result<Option<Machine>, StoreError> {
        if !self.has_machines()? {
            return Ok(None);
        }
        let adopted = self.load()?.adopted;
        adopted.map(|hash| self.adopted_as(&hash)).transpose()
    }

    /// Returns the machine with this hash that the run has moved to.
    pub(crate) fn adopted_as(&self, hash: &str) -> Result<Machine, StoreError> {
        let bytes: Option<Vec<u8>> = self
            .connection
            .query_row(
                "SELECT machine FROM machines WHERE hash = ?1",
                [hash],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.failed())?;
        let machine = bytes.and_then(|bytes| pin::parse_machine(&bytes).ok());
        machine
            .filter(|machine| machine.hash == hash)
            .ok_or_else(|| self.damaged("the workflow that it moved to is missing or was changed"))
    }
}
