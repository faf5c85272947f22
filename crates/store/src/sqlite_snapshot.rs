//! Snapshots of a run in its SQLite file.

use std::path::Path;

use interlock_core::names::RunId;
use rusqlite::{Connection, OptionalExtension as _};

use crate::{
    error::StoreError,
    marks::Marks,
    snapshot::{ENGINE, Since, Snapshot, StoredSnapshot},
    sqlite,
};

impl Since {
    /// Reads it from the database.
    pub(crate) fn read(connection: &Connection, path: &Path) -> Result<Self, StoreError> {
        let failed = sqlite::failed(path);
        let newest: Option<(i64, i64)> = connection
            .prepare_cached("SELECT seq, length(body) FROM snapshots ORDER BY seq DESC LIMIT 1")
            .and_then(|mut select| {
                select
                    .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(&failed)?;
        let (seq, size) = newest.unwrap_or_default();
        let grown: i64 = connection
            .prepare_cached("SELECT coalesce(sum(length(body)), 0) FROM events WHERE seq >= ?1")
            .and_then(|mut select| select.query_row([seq], |row| row.get(0)))
            .map_err(&failed)?;
        Ok(Self {
            seq: sqlite::from_integer(seq, path)?,
            size: sqlite::from_integer(size, path)?,
            grown: sqlite::from_integer(grown, path)?,
        })
    }
}

/// Writes a snapshot and removes all but the previous one; nothing was recorded since.
pub(crate) fn write(
    connection: &Connection,
    path: &Path,
    snapshot: &Snapshot,
    marks: &Marks,
) -> Result<Since, StoreError> {
    let StoredSnapshot {
        seq,
        head,
        body,
        digest,
    } = StoredSnapshot::of(snapshot, marks, path)?;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO snapshots (seq, engine, head, body, digest) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .and_then(|mut insert| insert.execute(rusqlite::params![seq, ENGINE, head, body, digest]))
        .and_then(|_| {
            connection.execute(
                "DELETE FROM snapshots WHERE seq NOT IN \
                 (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)",
                [],
            )
        })
        .map_err(sqlite::failed(path))?;
    Ok(Since {
        seq: snapshot.run.seq,
        size: u64::try_from(body.len()).unwrap_or(u64::MAX),
        grown: 0,
    })
}

/// Reads the newest usable snapshot for `run`, with its size in bytes.
///
/// # Errors
/// An undamaged snapshot contradicts the log: events were removed or replaced.
pub(crate) fn newest(
    connection: &Connection,
    path: &Path,
    run: &RunId,
    marks: &Marks,
) -> Result<Option<(Snapshot, u64)>, StoreError> {
    let found = whole(connection, path, (run, marks), 1)?.pop();
    if let Some((snapshot, _)) = &found {
        check_head(connection, path, snapshot)?;
    }
    Ok(found)
}

/// Reads up to `most` undamaged snapshots of this engine, newest first, with their sizes in bytes.
pub(crate) fn whole(
    connection: &Connection,
    path: &Path,
    (run, marks): (&RunId, &Marks),
    most: usize,
) -> Result<Vec<(Snapshot, u64)>, StoreError> {
    let failed = sqlite::failed(path);
    let mut select = connection
        .prepare_cached(
            "SELECT seq, head, body, digest FROM snapshots WHERE engine = ?1 ORDER BY seq DESC",
        )
        .map_err(&failed)?;
    let mut rows = select.query([ENGINE]).map_err(&failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(&failed)? {
        let stored = StoredSnapshot {
            seq: row.get(0).map_err(&failed)?,
            head: row.get(1).map_err(&failed)?,
            body: row.get(2).map_err(&failed)?,
            digest: row.get(3).map_err(&failed)?,
        };
        found.extend(stored.whole(run, marks));
        if found.len() >= most {
            break;
        }
    }
    Ok(found)
}

fn check_head(connection: &Connection, path: &Path, snapshot: &Snapshot) -> Result<(), StoreError> {
    let Some(last) = snapshot.run.seq.checked_sub(1) else {
        return Ok(());
    };
    let hash: Option<Vec<u8>> = connection
        .prepare_cached("SELECT hash FROM events WHERE seq = ?1")
        .and_then(|mut select| {
            select
                .query_row(
                    [sqlite::to_integer(last, path).unwrap_or(i64::MAX)],
                    |row| row.get(0),
                )
                .optional()
        })
        .map_err(sqlite::failed(path))?;
    match hash {
        Some(hash) if hash == snapshot.head.as_bytes() => Ok(()),
        Some(_) => Err(StoreError::damaged(
            path,
            format!("event {last} is not the one that was recorded"),
        )),
        None => Err(StoreError::damaged(
            path,
            format!("event {last} was recorded and is missing"),
        )),
    }
}
