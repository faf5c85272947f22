//! Reads and writes the rows of a run: one statement each, of its own tenant only.

use interlock_core::names::RunId;
use interlock_store::{
    ChainHash, Durability, SourceFile,
    record::{ENGINE, Pin, Row, StoredSnapshot},
};
use tokio_postgres::types::FromSql;

use crate::{
    database::{Database, Value},
    error::SharedError,
};

/// The content of a run's row, without what is pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) digest: ChainHash,
    pub(crate) durability: Durability,
    pub(crate) seq: u64,
    pub(crate) last_ms: u64,
    pub(crate) project_root: String,
    pub(crate) person_home: String,
}

/// A snapshot with the hash of its last event, if the log has that event.
pub(crate) type WithLast = (StoredSnapshot, Option<Vec<u8>>);

/// A row, with the name of the database for errors.
pub(crate) struct Found<'a> {
    database: &'a Database,
    row: tokio_postgres::Row,
}

impl<'a> Found<'a> {
    pub(crate) fn new(database: &'a Database, row: tokio_postgres::Row) -> Self {
        Self { database, row }
    }

    pub(crate) fn get<'r, T: FromSql<'r>>(&'r self, at: usize) -> Result<T, SharedError> {
        let found = self.row.try_get(at);
        found.map_err(|_| self.wrong("a value of another type"))
    }

    pub(crate) fn number(&self, at: usize) -> Result<u64, SharedError> {
        let found: i64 = self.get(at)?;
        u64::try_from(found).map_err(|_| self.wrong(&format!("{found} where a count should be")))
    }

    pub(crate) fn hash(&self, at: usize) -> Result<ChainHash, SharedError> {
        let bytes: Vec<u8> = self.get(at)?;
        ChainHash::from_bytes(&bytes).ok_or_else(|| self.wrong("a hash of another length"))
    }

    fn text(&self, at: usize) -> Result<String, SharedError> {
        let bytes: Vec<u8> = self.get(at)?;
        String::from_utf8(bytes).map_err(|_| self.wrong("text that is none"))
    }

    pub(crate) fn wrong(&self, what: &str) -> SharedError {
        SharedError::Foreign {
            place: self.database.place().to_owned(),
            what: format!("a row has {what}"),
        }
    }
}

impl Database {
    /// Runs a statement about one run; `$1` and `$2` are tenant and run.
    pub(crate) fn of_run(
        &self,
        run: &RunId,
        statement: &'static str,
        more: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Found<'_>>, SharedError> {
        let mut values = vec![self.tenant().as_str().into(), run.as_str().into()];
        values.extend(more);
        let rows = self.select(statement, values)?;
        let found = |row| Found::new(self, row);
        Ok(rows.into_iter().map(found).collect())
    }

    /// Returns the only value of the only row; `None` if there is no row.
    fn one<T: for<'r> FromSql<'r>>(
        &self,
        run: &RunId,
        statement: &'static str,
        more: impl IntoIterator<Item = Value>,
    ) -> Result<Option<T>, SharedError> {
        let found = self.of_run(run, statement, more)?;
        found.first().map(|found| found.get(0)).transpose()
    }

    /// Returns the content of a run's row; `None` if the tenant does not have the run.
    pub(crate) fn head(&self, run: &RunId) -> Result<Option<Head>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT digest, durability, seq, last_ms, project_root, person_home \
             FROM interlock.runs WHERE tenant = $1 AND run = $2",
            [],
        )?;
        let Some(found) = found.first() else {
            return Ok(None);
        };
        let durability: String = found.get(1)?;
        Ok(Some(Head {
            digest: found.hash(0)?,
            durability: Durability::from_word(&durability)
                .ok_or_else(|| found.wrong("no durability"))?,
            seq: found.number(2)?,
            last_ms: found.number(3)?,
            project_root: found.get(4)?,
            person_home: found.get(5)?,
        }))
    }

    /// Returns the current epoch of a run's carrier.
    ///
    /// # Errors
    /// There is no such run, or the database cannot be read.
    pub fn epoch(&self, run: &RunId) -> Result<u64, SharedError> {
        let found = self.of_run(
            run,
            "SELECT epoch FROM interlock.runs WHERE tenant = $1 AND run = $2",
            [],
        )?;
        let found = found.first().ok_or_else(|| self.no_run(run))?;
        found.number(0)
    }

    /// Returns the error for a run that the tenant does not have.
    pub(crate) fn no_run(&self, run: &RunId) -> SharedError {
        SharedError::NoRun {
            tenant: self.tenant().clone(),
            run: run.clone(),
        }
    }

    /// Returns the number of events.
    pub(crate) fn count(&self, run: &RunId) -> Result<u64, SharedError> {
        let head = self.head(run)?;
        head.map(|head| head.seq).ok_or_else(|| self.no_run(run))
    }

    /// Returns the number of events and the hash of the last; `None` if the tenant does not have the run.
    pub(crate) fn tip_of(&self, run: &RunId) -> Result<Option<(u64, ChainHash)>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT seq, tip_hash FROM interlock.runs WHERE tenant = $1 AND run = $2",
            [],
        )?;
        let tip = |found: &Found<'_>| Ok((found.number(0)?, found.hash(1)?));
        found.first().map(tip).transpose()
    }

    /// Returns what is pinned.
    pub(crate) fn pin(&self, run: &RunId) -> Result<Pin, SharedError> {
        let found = self.of_run(
            run,
            "SELECT created_ms, project_root, person_home, name, workflow, source_name, source, \
             machine FROM interlock.runs WHERE tenant = $1 AND run = $2",
            [],
        )?;
        let found = found.first().ok_or_else(|| self.no_run(run))?;
        Ok(Pin {
            run: run.clone(),
            created_ms: found.number(0)?,
            project_root: found.get(1)?,
            person_home: found.get(2)?,
            name: found.get(3)?,
            workflow: found.get(4)?,
            source: SourceFile {
                name: found.text(5)?,
                text: found.text(6)?,
            },
            machine: found.get(7)?,
        })
    }

    /// Reads up to `limit` events from number `from` on.
    pub(crate) fn rows(
        &self,
        run: &RunId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Row>, SharedError> {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let found = self.of_run(
            run,
            "SELECT seq, at_ms, body, hash FROM interlock.events \
             WHERE tenant = $1 AND run = $2 AND seq >= $3 ORDER BY seq LIMIT $4",
            [from.into(), limit.into()],
        )?;
        let row = |found: &Found<'_>| {
            Ok(Row {
                seq: found.number(0)?,
                at_ms: found.number(1)?,
                body: found.get(2)?,
                hash: found.get(3)?,
            })
        };
        found.iter().map(row).collect()
    }

    /// Reads the newest snapshot of this engine, with the hash of its last event if that exists.
    pub(crate) fn newest_snapshot(&self, run: &RunId) -> Result<Option<WithLast>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT snapshot.seq, snapshot.head, snapshot.body, snapshot.digest, event.hash \
             FROM interlock.snapshots AS snapshot LEFT JOIN interlock.events AS event \
             ON event.tenant = snapshot.tenant AND event.run = snapshot.run \
             AND event.seq = snapshot.seq - 1 \
             WHERE snapshot.tenant = $1 AND snapshot.run = $2 AND snapshot.engine = $3 \
             ORDER BY snapshot.seq DESC LIMIT 1",
            [ENGINE.into()],
        )?;
        let with_hash = |found: &Found<'_>| Ok((stored(found)?, found.get(4)?));
        found.first().map(with_hash).transpose()
    }

    /// Reads every snapshot of this engine.
    pub(crate) fn snapshots(&self, run: &RunId) -> Result<Vec<StoredSnapshot>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT seq, head, body, digest FROM interlock.snapshots \
             WHERE tenant = $1 AND run = $2 AND engine = $3 ORDER BY seq DESC",
            [ENGINE.into()],
        )?;
        found.iter().map(stored).collect()
    }

    /// Stores a snapshot and drops all but the previous one.
    pub(crate) fn keep_snapshot(
        &self,
        run: &RunId,
        stored: StoredSnapshot,
    ) -> Result<(), SharedError> {
        self.of_run(
            run,
            "WITH old AS (DELETE FROM interlock.snapshots WHERE tenant = $1 AND run = $2 \
             AND seq NOT IN (SELECT seq FROM interlock.snapshots \
             WHERE tenant = $1 AND run = $2 ORDER BY seq DESC LIMIT 1)) \
             INSERT INTO interlock.snapshots (tenant, run, seq, engine, head, body, digest) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            [
                Value::Integer(stored.seq),
                ENGINE.into(),
                stored.head.into(),
                stored.body.into(),
                stored.digest.into(),
            ],
        )
        .map(drop)
    }

    /// Stores the bytes of a machine.
    pub(crate) fn keep_machine(
        &self,
        run: &RunId,
        hash: &str,
        bytes: Vec<u8>,
    ) -> Result<(), SharedError> {
        self.of_run(
            run,
            "INSERT INTO interlock.machines (tenant, run, hash, machine) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (tenant, run, hash) \
             DO UPDATE SET machine = excluded.machine",
            [hash.into(), bytes.into()],
        )
        .map(drop)
    }

    /// Returns the bytes of a machine.
    pub(crate) fn machine(&self, run: &RunId, hash: &str) -> Result<Option<Vec<u8>>, SharedError> {
        self.one(
            run,
            "SELECT machine FROM interlock.machines \
             WHERE tenant = $1 AND run = $2 AND hash = $3",
            [hash.into()],
        )
    }

    /// Returns the bytes of all machines, by their hashes.
    pub(crate) fn machines(&self, run: &RunId) -> Result<Vec<Vec<u8>>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT machine FROM interlock.machines WHERE tenant = $1 AND run = $2 \
             ORDER BY hash COLLATE \"C\"",
            [],
        )?;
        found.iter().map(|found| found.get(0)).collect()
    }

    /// Stores a message under its digest.
    pub(crate) fn keep_message(
        &self,
        run: &RunId,
        digest: &str,
        bytes: Vec<u8>,
    ) -> Result<(), SharedError> {
        self.of_run(
            run,
            "INSERT INTO interlock.messages (tenant, run, digest, body) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (tenant, run, digest) \
             DO UPDATE SET body = excluded.body WHERE messages.body <> excluded.body",
            [digest.into(), bytes.into()],
        )
        .map(drop)
    }

    /// Returns the bytes of a message.
    pub(crate) fn message(
        &self,
        run: &RunId,
        digest: &str,
    ) -> Result<Option<Vec<u8>>, SharedError> {
        self.one(
            run,
            "SELECT body FROM interlock.messages \
             WHERE tenant = $1 AND run = $2 AND digest = $3",
            [digest.into()],
        )
    }

    /// Lists the digests of a run's messages.
    pub(crate) fn message_digests(&self, run: &RunId) -> Result<Vec<String>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT digest FROM interlock.messages WHERE tenant = $1 AND run = $2 \
             ORDER BY digest COLLATE \"C\"",
            [],
        )?;
        found.iter().map(|found| found.get(0)).collect()
    }

    /// Stores the text that a call returned.
    pub(crate) fn keep_output(
        &self,
        run: &RunId,
        call: String,
        text: &str,
    ) -> Result<(), SharedError> {
        self.of_run(
            run,
            "INSERT INTO interlock.outputs (tenant, run, call, body) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (tenant, run, call) DO UPDATE SET body = excluded.body",
            [Value::Text(call), text.as_bytes().to_vec().into()],
        )
        .map(drop)
    }

    /// Returns the text that a call returned, as bytes.
    pub(crate) fn output(&self, run: &RunId, call: String) -> Result<Option<Vec<u8>>, SharedError> {
        self.one(
            run,
            "SELECT body FROM interlock.outputs \
             WHERE tenant = $1 AND run = $2 AND call = $3",
            [Value::Text(call)],
        )
    }

    /// Returns the texts that calls returned, by the SHA-256 of the call's id.
    pub(crate) fn outputs(&self, run: &RunId) -> Result<Vec<(String, Vec<u8>)>, SharedError> {
        let found = self.of_run(
            run,
            "SELECT call, body FROM interlock.outputs WHERE tenant = $1 AND run = $2 \
             ORDER BY call COLLATE \"C\"",
            [],
        )?;
        let output = |found: &Found<'_>| Ok((found.get(0)?, found.get(1)?));
        found.iter().map(output).collect()
    }
}

fn stored(found: &Found<'_>) -> Result<StoredSnapshot, SharedError> {
    Ok(StoredSnapshot {
        seq: found.get(0)?,
        head: found.get(1)?,
        body: found.get(2)?,
        digest: found.get(3)?,
    })
}
