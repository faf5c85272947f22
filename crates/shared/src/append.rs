//! Appending: one transaction that locks the run, compares, and writes.

use std::sync::Arc;

use futures_util::future::join;
use interlock_core::names::RunId;
use interlock_store::{ChainHash, record::Row};
use tokio_postgres::{
    Statement,
    types::{ToSql, Type},
};

use crate::{
    database::{Database, End, Leased, Prepared, Value},
    error::{SharedError, failed},
    workspaces,
};

/// A command that is recorded once, however often it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandKey {
    /// Its id, chosen by the sender.
    pub id: String,
    /// The digest of the whole request.
    pub digest: [u8; 32],
    /// The reply, now and whenever the command is sent again.
    pub reply: Vec<u8>,
}

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// The events were recorded.
    Recorded,
    /// The command was recorded before; nothing was written.
    Repeated {
        /// The stored reply.
        reply: Vec<u8>,
        /// The number of events of the log after it.
        seq: u64,
    },
    /// The log has another number of events; nothing was written.
    Conflict {
        /// The number of its events.
        found: u64,
    },
}

/// Events to be appended, as bytes.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) run: RunId,
    pub(crate) expected_seq: u64,
    pub(crate) at_ms: u64,
    pub(crate) bodies: Vec<Vec<u8>>,
    pub(crate) command: Option<CommandKey>,
    /// The epoch of a carrier.
    pub(crate) epoch: Option<u64>,
    /// The stored workspace that these events leave.
    pub(crate) workspace: Option<String>,
}

/// The end of a run's log, while its row is locked.
struct Tip {
    seq: u64,
    hash: ChainHash,
    epoch: u64,
}

impl Database {
    /// Appends a batch as a whole or not at all.
    pub(crate) fn append(&self, batch: Batch) -> Result<Appended, SharedError> {
        let tenant = self.tenant().clone();
        self.write(move |leased| async move {
            let Some(tip) = tip(&leased, tenant.as_str(), &batch.run).await? else {
                let run = batch.run;
                return Err(SharedError::NoRun { tenant, run });
            };
            if let Some(command) = &batch.command
                && let Some(repeated) = repeated(&leased, tenant.as_str(), &batch, command).await?
            {
                return Ok(End::Rollback(repeated));
            }
            if let Some(held) = batch.epoch.filter(|held| *held != tip.epoch) {
                return Err(SharedError::StaleEpoch {
                    run: batch.run,
                    held,
                    current: tip.epoch,
                });
            }
            if tip.seq != batch.expected_seq {
                return Ok(End::Rollback(Appended::Conflict { found: tip.seq }));
            }
            if batch.bodies.is_empty() && batch.command.is_none() {
                return Ok(End::Rollback(Appended::Recorded));
            }
            insert(&leased, tenant.as_str(), batch, &tip).await?;
            Ok(End::Commit(Appended::Recorded))
        })
    }

    /// Gives the run to a new carrier; the previous one cannot append anything any more.
    ///
    /// # Errors
    /// There is no such run, or the database cannot be written.
    pub fn take_epoch(&self, run: &RunId, holder: &str) -> Result<u64, SharedError> {
        let (tenant, run, holder) = (self.tenant().clone(), run.clone(), holder.to_owned());
        self.write(move |leased| async move {
            let taken = leased
                .query(
                    "UPDATE interlock.runs SET epoch = epoch + 1, holder = $3 \
                     WHERE tenant = $1 AND run = $2 RETURNING epoch",
                    &[
                        tenant.as_str().into(),
                        run.as_str().into(),
                        Value::Text(holder),
                    ],
                )
                .await?;
            match taken.first() {
                Some(row) => Ok(End::Commit(number(&leased, row.try_get(0))?)),
                None => Err(SharedError::NoRun { tenant, run }),
            }
        })
    }
}

/// Locks the run and returns the end of its log; `None` if the tenant does not have the run.
async fn tip(leased: &Leased, tenant: &str, run: &RunId) -> Result<Option<Tip>, SharedError> {
    let found = leased
        .query(
            "SELECT seq, tip_hash, epoch FROM interlock.runs \
             WHERE tenant = $1 AND run = $2 FOR UPDATE",
            &[tenant.into(), run.as_str().into()],
        )
        .await?;
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let hash: Vec<u8> = row.try_get(1).map_err(|_| other_type(leased))?;
    let hash = ChainHash::from_bytes(&hash).ok_or_else(|| SharedError::Foreign {
        place: leased.place().to_owned(),
        what: format!("run `{run}` has no hash"),
    })?;
    Ok(Some(Tip {
        seq: number(leased, row.try_get(0))?,
        hash,
        epoch: number(leased, row.try_get(2))?,
    }))
}

/// Returns the stored reply if the command was recorded before.
async fn repeated(
    leased: &Leased,
    tenant: &str,
    batch: &Batch,
    command: &CommandKey,
) -> Result<Option<Appended>, SharedError> {
    let found = leased
        .query(
            "SELECT digest, reply, seq FROM interlock.commands \
             WHERE tenant = $1 AND run = $2 AND id = $3",
            &[
                tenant.into(),
                batch.run.as_str().into(),
                command.id.as_str().into(),
            ],
        )
        .await?;
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let bytes = |at: usize| -> Result<Vec<u8>, SharedError> {
        row.try_get(at).map_err(|_| other_type(leased))
    };
    if bytes(0)? != command.digest {
        let id = command.id.clone();
        return Err(SharedError::OtherCommand { id });
    }
    Ok(Some(Appended::Repeated {
        reply: bytes(1)?,
        seq: number(leased, row.try_get(2))?,
    }))
}

/// Inserts events of a run.
pub(crate) const INSERT: Prepared = (
    "INSERT INTO interlock.events (tenant, run, seq, at_ms, prev, hash, body) \
     SELECT $1, $2, seq, at_ms, prev, hash, body \
     FROM unnest($3, $4, $5, $6, $7) AS row (seq, at_ms, prev, hash, body)",
    &[
        Type::TEXT,
        Type::TEXT,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
    ],
);

/// Rows as columns, in the form that one statement takes.
#[derive(Default)]
pub(crate) struct Columns {
    seqs: Vec<i64>,
    times: Vec<i64>,
    prevs: Vec<Vec<u8>>,
    hashes: Vec<Vec<u8>>,
    bodies: Vec<Vec<u8>>,
}

impl Columns {
    pub(crate) fn push(&mut self, row: Row, prev: ChainHash) {
        self.seqs.push(integer(row.seq));
        self.times.push(integer(row.at_ms));
        self.prevs.push(prev.as_bytes().to_vec());
        self.hashes.push(row.hash);
        self.bodies.push(row.body);
    }

    /// Inserts them as events of `run`.
    pub(crate) async fn insert(
        self,
        leased: &Leased,
        tenant: &str,
        run: &str,
    ) -> Result<(), SharedError> {
        if self.seqs.is_empty() {
            return Ok(());
        }
        let insert = leased.prepare(INSERT).await?;
        self.insert_by(leased, &insert, (tenant, run)).await
    }

    /// Inserts them by [`INSERT`], which was prepared.
    pub(crate) async fn insert_by(
        self,
        leased: &Leased,
        insert: &Statement,
        (tenant, run): (&str, &str),
    ) -> Result<(), SharedError> {
        if self.seqs.is_empty() {
            return Ok(());
        }
        let values: [&(dyn ToSql + Sync); 7] = [
            &tenant,
            &run,
            &self.seqs,
            &self.times,
            &self.prevs,
            &self.hashes,
            &self.bodies,
        ];
        let inserted = leased.client.execute(insert, &values).await;
        inserted
            .map(drop)
            .map_err(|error| failed(leased.place(), &error))
    }
}

async fn insert(
    leased: &Arc<Leased>,
    tenant: &str,
    batch: Batch,
    tip: &Tip,
) -> Result<(), SharedError> {
    let (mut seq, mut hash) = (tip.seq, tip.hash);
    let mut columns = Columns::default();
    for body in batch.bodies {
        let (row, next) = Row::chained(seq, batch.at_ms, hash, body);
        columns.push(row, hash);
        (seq, hash) = (seq + 1, next);
    }
    let run = batch.run.as_str();
    let values = [
        tenant.into(),
        run.into(),
        seq.into(),
        hash.as_bytes().to_vec().into(),
        batch.at_ms.into(),
    ];
    let moved = leased.query(
        "UPDATE interlock.runs SET seq = $3, tip_hash = $4, last_ms = $5 \
         WHERE tenant = $1 AND run = $2",
        &values,
    );
    // Sent together: one wait for both answers.
    let (inserted, moved) = join(columns.insert(leased, tenant, run), moved).await;
    inserted?;
    moved?;
    if let Some(workspace) = &batch.workspace {
        workspaces::publish(leased, tenant, run, workspace).await?;
    }
    if let Some(command) = batch.command {
        leased
            .query(
                "INSERT INTO interlock.commands (tenant, run, id, digest, reply, seq) \
                 VALUES ($1, $2, $3, $4, $5, $6)",
                &[
                    tenant.into(),
                    run.into(),
                    command.id.as_str().into(),
                    command.digest.to_vec().into(),
                    command.reply.into(),
                    seq.into(),
                ],
            )
            .await?;
    }
    Ok(())
}

/// Converts a number for the database; the caller has checked that it fits.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number from the database.
pub(crate) fn number(
    leased: &Leased,
    found: Result<i64, tokio_postgres::Error>,
) -> Result<u64, SharedError> {
    let found = found.map_err(|_| other_type(leased))?;
    u64::try_from(found).map_err(|_| SharedError::Foreign {
        place: leased.place().to_owned(),
        what: format!("{found} is not a count"),
    })
}

/// Returns the error for a column whose values have another type than Interlock's.
fn other_type(leased: &Leased) -> SharedError {
    SharedError::Foreign {
        place: leased.place().to_owned(),
        what: "a row has a value of another type".to_owned(),
    }
}
