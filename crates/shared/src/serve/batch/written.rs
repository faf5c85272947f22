//! What the commands of one transaction write, with one commit.

use std::sync::Arc;

use futures_util::future::join5;
use interlock_core::names::RunId;
use interlock_store::ChainHash;
use tokio_postgres::{
    Statement,
    types::{ToSql, Type},
};

use crate::{
    append::{Columns, INSERT, integer},
    database::{Database, Leased, Prepared},
    error::{SharedError, failed},
    outbox,
    votes::{self, Vote},
};

/// Moves the end of a run's log.
const MOVED: Prepared = (
    "UPDATE interlock.runs SET seq = $3, tip_hash = $4, last_ms = $5, \
     standing = $6, waiting = $7, listed_seq = $3 WHERE tenant = $1 AND run = $2",
    &[
        Type::TEXT,
        Type::TEXT,
        Type::INT8,
        Type::BYTEA,
        Type::INT8,
        Type::TEXT,
        Type::INT8,
    ],
);
/// Stores commands with their replies.
const COMMANDS: Prepared = (
    "INSERT INTO interlock.commands \
     (tenant, run, id, digest, reply, seq, subject, role, drives) \
     SELECT $1, $2, id, digest, reply, seq, subject, role, drives \
     FROM unnest($3, $4, $5, $6, $7, $8, $9) \
     AS row (id, digest, reply, seq, subject, role, drives)",
    &[
        Type::TEXT,
        Type::TEXT,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::BOOL_ARRAY,
    ],
);

/// The statements that write the result of a transaction.
#[derive(Debug, Clone)]
pub(super) struct Statements {
    events: Statement,
    moved: Statement,
    commands: Statement,
}

impl Statements {
    /// Prepares them.
    ///
    /// INVARIANT: the commit is sent together with what they write, so they are prepared before.
    pub(super) async fn prepare(leased: &Leased) -> Result<Self, SharedError> {
        Ok(Self {
            events: leased.prepare(INSERT).await?,
            moved: leased.prepare(MOVED).await?,
            commands: leased.prepare(COMMANDS).await?,
        })
    }
}

/// What one transaction writes.
#[derive(Default)]
pub(super) struct Written {
    pub(super) columns: Columns,
    pub(super) events: usize,
    pub(super) bytes: u64,
    pub(super) at_ms: u64,
    pub(super) keys: Vec<String>,
    pub(super) digests: Vec<Vec<u8>>,
    pub(super) replies: Vec<Vec<u8>>,
    pub(super) seqs: Vec<i64>,
    pub(super) subjects: Vec<String>,
    pub(super) roles: Vec<String>,
    pub(super) drives: Vec<bool>,
    pub(super) votes: Vec<Vote>,
    /// Whether the run is durable, and so has to be carried on.
    pub(super) wakes: bool,
    /// What a list says of the run after all of it: its standing, and how much waits.
    pub(super) listed: Option<(String, i64)>,
}

impl Written {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Writes all of it, and commits.
    pub(super) fn commit(
        self,
        database: &Database,
        leased: Arc<Leased>,
        (run, by): (&RunId, &Statements),
        (seq, hash): (u64, ChainHash),
    ) -> Result<(), SharedError> {
        let (whose, of_run, by) = (database.tenant().clone(), run.clone(), by.clone());
        database.commit_with(leased, move |leased| async move {
            let (tenant, run) = (whose.as_str(), of_run.as_str());
            let count = seq;
            let (seq, at_ms) = (integer(seq), integer(self.at_ms));
            let hash = hash.as_bytes().to_vec();
            let (standing, waiting) = self.listed.unzip();
            let tip: [&(dyn ToSql + Sync); 7] =
                [&tenant, &run, &seq, &hash, &at_ms, &standing, &waiting];
            let commands: [&(dyn ToSql + Sync); 9] = [
                &tenant,
                &run,
                &self.keys,
                &self.digests,
                &self.replies,
                &self.seqs,
                &self.subjects,
                &self.roles,
                &self.drives,
            ];
            let has_events = self.events > 0;
            let moved = async {
                if !has_events {
                    return Ok(0);
                }
                leased.client.execute(&by.moved, &tip).await
            };
            let kept = leased.client.execute(&by.commands, &commands);
            let voted = votes::insert(&leased, (&whose, &of_run), &self.votes);
            let woken = async {
                if !(self.wakes && has_events) {
                    return Ok(());
                }
                outbox::wake(&leased, tenant, &of_run, (count, "command")).await
            };
            let (inserted, moved, kept, voted, woken) = join5(
                self.columns.insert_by(&leased, &by.events, (tenant, run)),
                moved,
                kept,
                voted,
                woken,
            )
            .await;
            inserted?;
            voted?;
            woken?;
            let failed = |error| failed(leased.place(), &error);
            moved.map(drop).map_err(failed)?;
            kept.map(drop).map_err(failed)
        })
    }
}
