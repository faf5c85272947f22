//! Snapshots: the run as it was after so many events, so that a load stays cheap.
//!
//! Never the truth: one that is damaged or of another engine is passed over,
//! and the log is folded instead.

use std::path::Path;

use interlock_core::{names::RunId, run::Run};
use rusqlite::{Connection, OptionalExtension as _};

use crate::{chain::ChainHash, error::StoreError, marks::Marks, sqlite};

/// Events between two snapshots at least.
pub(crate) const EVERY: u64 = 16;
/// The same where the log stays open from append to append.
pub(crate) const EVERY_KEPT: u64 = 256;
/// What a snapshot was folded by; another engine may fold otherwise.
///
/// Whoever changes what `evolve` makes of an event, or the shape of a run, raises the first number.
const ENGINE: &str = concat!("14/", env!("CARGO_PKG_VERSION"));

/// A run and the hash of the last event folded into it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) run: Run,
    pub(crate) head: ChainHash,
}

struct Stored {
    seq: i64,
    head: Vec<u8>,
    body: Vec<u8>,
    digest: Vec<u8>,
}

/// What has come since the newest snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Since {
    /// Events in the newest snapshot.
    pub(crate) seq: u64,
    /// Its bytes.
    pub(crate) size: u64,
    /// Bytes of the events after it.
    pub(crate) grown: u64,
}

impl Since {
    /// Tells whether a snapshot is due at `seq`, when there are to be `every` events between two.
    ///
    /// What is written for snapshots is so never more than what is written for events,
    /// and what is read after one never more than the run's own size and a few events.
    pub(crate) const fn is_due(&self, seq: u64, every: u64) -> bool {
        self.seq / every < seq / every && self.grown >= self.size
    }

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

/// Writes a snapshot and drops all but the one before it; returns that nothing came since.
pub(crate) fn write(
    connection: &Connection,
    path: &Path,
    snapshot: &Snapshot,
    marks: &Marks,
) -> Result<Since, StoreError> {
    let body = serde_json::to_vec(&snapshot.run).map_err(|error| StoreError::Unwritable {
        path: path.to_owned(),
        what: error.to_string(),
    })?;
    let body = marks.encode(&body);
    let seq = sqlite::to_integer(snapshot.run.seq, path)?;
    let head = snapshot.head.as_bytes();
    let digest = digest(&snapshot.run.id, seq, head, &body);
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO snapshots (seq, engine, head, body, digest) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .and_then(|mut insert| {
            insert.execute(rusqlite::params![
                seq,
                ENGINE,
                head,
                body,
                digest.as_bytes()
            ])
        })
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

/// Reads the newest snapshot that can be used for `run`, with the number of its bytes.
///
/// # Errors
/// A whole snapshot contradicts the log: events were removed or replaced.
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

/// Reads up to `most` undamaged snapshots of this engine, newest first, with their bytes.
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
        let stored = Stored {
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

impl Stored {
    fn whole(&self, run: &RunId, marks: &Marks) -> Option<(Snapshot, u64)> {
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
