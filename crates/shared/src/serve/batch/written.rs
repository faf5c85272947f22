//! What the commands of one transaction write, with one commit.

use std::sync::Arc;

use futures_util::future::join5;
use interlock_core::names::RunId;
use interlock_store::ChainHash;
use tokio_postgres::types::{ToSql, Type};

use crate::{
    append::{Columns, integer},
    database::{Database, Leased},
    error::{SharedError, failed},
    outbox,
    votes::{self, Vote},
};

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
        run: &RunId,
        (seq, hash): (u64, ChainHash),
    ) -> Result<(), SharedError> {
        let (whose, of_run) = (database.tenant().clone(), run.clone());
        database.commit_with(leased, move |leased| async move {
            let (tenant, run) = (whose.as_str(), of_run.as_str());
            let count = seq;
            let (seq, at_ms) = (integer(seq), integer(self.at_ms));
            let hash = hash.as_bytes().to_vec();
            let (standing, waiting) = self.listed.unzip();
            let tip: [(&(dyn ToSql + Sync), Type); 7] = [
                (&tenant, Type::TEXT),
                (&run, Type::TEXT),
                (&seq, Type::INT8),
                (&hash, Type::BYTEA),
                (&at_ms, Type::INT8),
                (&standing, Type::TEXT),
                (&waiting, Type::INT8),
            ];
            let commands: [(&(dyn ToSql + Sync), Type); 9] = [
                (&tenant, Type::TEXT),
                (&run, Type::TEXT),
                (&self.keys, Type::TEXT_ARRAY),
                (&self.digests, Type::BYTEA_ARRAY),
                (&self.replies, Type::BYTEA_ARRAY),
                (&self.seqs, Type::INT8_ARRAY),
                (&self.subjects, Type::TEXT_ARRAY),
                (&self.roles, Type::TEXT_ARRAY),
                (&self.drives, Type::BOOL_ARRAY),
            ];
            let has_events = self.events > 0;
            let moved = async {
                if !has_events {
                    return Ok(());
                }
                let moved = leased.client.query_typed(
                    "UPDATE interlock.runs SET seq = $3, tip_hash = $4, last_ms = $5, \
                     standing = $6, waiting = $7, listed_seq = $3 \
                     WHERE tenant = $1 AND run = $2",
                    &tip,
                );
                moved.await.map(drop)
            };
            let kept = leased.client.query_typed(
                "INSERT INTO interlock.commands \
                 (tenant, run, id, digest, reply, seq, subject, role, drives) \
                 SELECT $1, $2, id, digest, reply, seq, subject, role, drives \
                 FROM unnest($3, $4, $5, $6, $7, $8, $9) \
                 AS row (id, digest, reply, seq, subject, role, drives)",
                &commands,
            );
            let voted = votes::insert(&leased, (&whose, &of_run), &self.votes);
            let woken = async {
                if !(self.wakes && has_events) {
                    return Ok(());
                }
                outbox::wake(&leased, tenant, &of_run, (count, "command")).await
            };
            let (inserted, moved, kept, voted, woken) = join5(
                self.columns.insert(&leased, tenant, run),
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
            moved.map_err(failed)?;
            kept.map(drop).map_err(failed)
        })
    }
}
