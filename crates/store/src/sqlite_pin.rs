//! The pin of a run in its SQLite file.

use std::path::Path;

use interlock_core::names::RunId;
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::{
    chain::ChainHash,
    durability::Durability,
    error::StoreError,
    pin::{Pin, SourceFile},
    sqlite,
};

/// The part of a pin that every call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinHead {
    /// Hash of the pin.
    pub(crate) digest: ChainHash,
    pub(crate) durability: Durability,
    pub(crate) project_root: String,
    pub(crate) person_home: String,
}

impl PinHead {
    /// Reads it from the database, which must be that of `run`.
    pub(crate) fn read(
        connection: &Connection,
        path: &Path,
        run: &RunId,
    ) -> Result<Self, StoreError> {
        let row: Option<(String, String, Vec<u8>, String, String)> = connection
            .query_row(
                "SELECT run, durability, digest, project_root, person_home FROM pin WHERE id = 0",
                [],
                |row| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                    ))
                },
            )
            .optional()
            .map_err(sqlite::failed(path))?;
        let (found, durability, digest, project_root, person_home) =
            row.ok_or_else(|| StoreError::damaged(path, "its pinned workflow is missing"))?;
        if found != run.as_str() {
            return Err(StoreError::damaged(path, format!("it is of run `{found}`")));
        }
        Durability::from_word(&durability)
            .zip(ChainHash::from_bytes(&digest))
            .map(|(durability, digest)| Self {
                digest,
                durability,
                project_root,
                person_home,
            })
            .ok_or_else(|| StoreError::damaged(path, "its settings were changed"))
    }
}

impl Pin {
    /// Writes the pin into a new file.
    pub(crate) fn insert(
        &self,
        connection: &Connection,
        durability: Durability,
        path: &Path,
    ) -> Result<(), StoreError> {
        connection
            .execute(
                "INSERT INTO pin (id, run, created_ms, project_root, name, workflow, durability, \
                 digest, source_name, machine, source, person_home) \
                 VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                rusqlite::params![
                    self.run.as_str(),
                    sqlite::to_integer(self.created_ms, path)?,
                    self.project_root,
                    self.name,
                    self.workflow,
                    durability.word(),
                    self.digest().as_bytes(),
                    self.source.name,
                    self.machine,
                    self.source.text,
                    self.person_home,
                ],
            )
            .map_err(sqlite::failed(path))?;
        Ok(())
    }

    /// Reads the pin and checks it against its own hash.
    pub(crate) fn read(connection: &Connection, path: &Path) -> Result<Self, StoreError> {
        let read = connection
            .query_row(
                "SELECT run, created_ms, project_root, name, workflow, source_name, machine, \
                 source, digest, person_home FROM pin WHERE id = 0",
                [],
                |row| Ok((Self::from_row(row)?, row.get::<_, Vec<u8>>(8)?)),
            )
            .optional()
            .map_err(sqlite::failed(path))?;
        let (pin, digest) =
            read.ok_or_else(|| StoreError::damaged(path, "its pinned workflow is missing"))?;
        if pin.digest().as_bytes().as_slice() == digest {
            Ok(pin)
        } else {
            Err(StoreError::damaged(path, "its pinned workflow was changed"))
        }
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            run: RunId::new(row.get::<_, String>(0)?),
            created_ms: u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default(),
            project_root: row.get(2)?,
            person_home: row.get(9)?,
            name: row.get(3)?,
            workflow: row.get(4)?,
            source: SourceFile {
                name: row.get(5)?,
                text: row.get(7)?,
            },
            machine: row.get(6)?,
        })
    }
}
