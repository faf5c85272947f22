//! What the engine that places durable runs has yet to be told: written with what it tells of, deleted once delivered.

use interlock_core::names::RunId;
use tokio_postgres::types::{ToSql, Type};

use crate::{
    append::integer,
    database::{Database, Leased},
    error::{SharedError, failed},
    rows::Found,
};

/// Maximum number of rows that are read at once.
const ROWS_MAX: u64 = 100;

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// The run that it is about.
    pub run: RunId,
    /// What is to be told.
    pub message: OutboxMessage,
    kind: String,
    epoch: u64,
    seq: u64,
    body: String,
}

/// What the engine is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxMessage {
    /// Something has happened to a run that nobody may carry.
    Wake {
        /// What has happened.
        reason: String,
    },
    /// A carrier has ended.
    Carried {
        /// Who waits for it.
        awakeable: String,
        /// What follows, as JSON.
        next: String,
    },
}

impl OutboxRow {
    /// Returns the key under which it is delivered once: the run, the number of events or the epoch, and the reason.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}:{}:{}:{}", self.run, self.seq, self.epoch, self.body)
    }
}

/// Has a run woken, in the transaction that makes it due; `seq` and the reason tell one waking from another.
pub(crate) async fn wake(
    leased: &Leased,
    tenant: &str,
    run: &RunId,
    (seq, reason): (u64, &str),
) -> Result<(), SharedError> {
    let (run, seq) = (run.as_str(), integer(seq));
    let values: [(&(dyn ToSql + Sync), Type); 4] = [
        (&tenant, Type::TEXT),
        (&run, Type::TEXT),
        (&seq, Type::INT8),
        (&reason, Type::TEXT),
    ];
    let written = leased.client.query_typed(
        "WITH due AS (UPDATE interlock.runs SET due = clock_timestamp() \
         WHERE tenant = $1 AND run = $2) \
         INSERT INTO interlock.outbox (tenant, run, kind, epoch, seq, body) \
         VALUES ($1, $2, 'wake', 0, $3, $4) ON CONFLICT (tenant, run, kind, epoch) \
         DO UPDATE SET seq = excluded.seq, body = excluded.body",
        &values,
    );
    let written = written.await;
    written
        .map(drop)
        .map_err(|error| failed(leased.place(), &error))
}

/// Has the awakeable of a carrier told what follows.
pub(crate) async fn tell(
    leased: &Leased,
    tenant: &str,
    (run, epoch): (&RunId, u64),
    awakeable: &str,
    next: &str,
) -> Result<(), SharedError> {
    let values = [
        tenant.into(),
        run.as_str().into(),
        epoch.into(),
        next.into(),
        awakeable.into(),
    ];
    let written = leased.query(
        "INSERT INTO interlock.outbox (tenant, run, kind, epoch, seq, body, awakeable) \
         VALUES ($1, $2, 'carried', $3, $3, $4, $5) ON CONFLICT DO NOTHING",
        &values,
    );
    written.await.map(drop)
}

impl Database {
    /// Reads rows that are not delivered yet, the oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn outbox(&self) -> Result<Vec<OutboxRow>, SharedError> {
        let rows = self.select(
            "SELECT run, kind, epoch, seq, body, awakeable FROM interlock.outbox \
             WHERE tenant = $1 ORDER BY made_at LIMIT $2",
            vec![self.tenant().as_str().into(), ROWS_MAX.into()],
        )?;
        let read = |row| row_of(&Found::new(self, row));
        rows.into_iter().map(read).collect()
    }

    /// Deletes a row that was delivered, unless it has been written anew since.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn delivered(&self, row: &OutboxRow) -> Result<(), SharedError> {
        self.of_run(
            &row.run,
            "DELETE FROM interlock.outbox WHERE tenant = $1 AND run = $2 AND kind = $3 \
             AND epoch = $4 AND seq = $5 AND body = $6",
            [
                row.kind.as_str().into(),
                row.epoch.into(),
                row.seq.into(),
                row.body.as_str().into(),
            ],
        )
        .map(drop)
    }
}

fn row_of(found: &Found<'_>) -> Result<OutboxRow, SharedError> {
    let body: String = found.get(4)?;
    let awakeable: Option<String> = found.get(5)?;
    let message = match awakeable {
        Some(awakeable) => OutboxMessage::Carried {
            awakeable,
            next: body.clone(),
        },
        None => OutboxMessage::Wake {
            reason: body.clone(),
        },
    };
    Ok(OutboxRow {
        run: RunId::new(found.get::<String>(0)?),
        message,
        kind: found.get(1)?,
        epoch: found.number(2)?,
        seq: found.number(3)?,
        body,
    })
}
