//! Signing: what is not numbered yet gets its number and its place in the chain, and the last hash is signed.

use std::sync::Arc;

use interlock_attest::SecretKey;
use interlock_store::ChainHash;
use tokio_postgres::types::{ToSql, Type};

use super::{
    entry::Subject,
    error::AuditError,
    kinds::contents,
    line::{Head, beginning, digest_of, link, signed_bytes},
};
use crate::{
    append::integer,
    database::{Database, End, Leased, Value},
    error::{SharedError, failed},
    rows::Found,
};

/// Maximum number of entries of one transaction.
const BATCH: usize = 5_000;
/// Maximum number of entries whose contents are in memory at once.
const CONTENTS: usize = 128;

/// What is not numbered yet, the oldest first. Events of one run stay in their order, whatever their times say.
const FRESH: &str = "WITH run AS ( \
     SELECT run, seq, created_ms, coalesce((SELECT max(n) + 1 FROM interlock.audit AS entry \
     WHERE entry.tenant = $1 AND entry.kind = 'event' AND entry.run = runs.run), 0) AS numbered \
     FROM interlock.runs WHERE tenant = $1), \
     fresh (kind, rank, run, n, id, at_ms) AS ( \
     SELECT 'run_made', 0, run, 0::bigint, '', created_ms FROM run \
     UNION ALL SELECT 'event', 1, event.run, event.seq, '', \
     max(event.at_ms) OVER (PARTITION BY event.run ORDER BY event.seq) \
     FROM run JOIN interlock.events AS event ON event.tenant = $1 AND event.run = run.run \
     AND event.seq >= run.numbered WHERE run.seq > run.numbered \
     UNION ALL SELECT 'command', 2, command.run, command.seq, command.id, \
     coalesce((SELECT event.at_ms FROM interlock.events AS event WHERE event.tenant = $1 \
     AND event.run = command.run AND event.seq = command.seq - 1), 0) \
     FROM interlock.commands AS command WHERE command.tenant = $1 \
     UNION ALL SELECT 'token_made', 3, '', 0, id, (extract(epoch FROM made_at) * 1000)::bigint \
     FROM interlock.tokens WHERE tenant = $1 \
     UNION ALL SELECT 'token_revoked', 4, '', 0, id, (extract(epoch FROM revoked_at) * 1000)::bigint \
     FROM interlock.tokens WHERE tenant = $1 AND revoked_at IS NOT NULL \
     UNION ALL SELECT 'bundle_published', 5, '', revision, '', \
     (extract(epoch FROM published_at) * 1000)::bigint FROM interlock.bundles WHERE tenant = $1 \
     UNION ALL SELECT 'policy_loaded', 6, '', revision, '', \
     (extract(epoch FROM loaded_at) * 1000)::bigint FROM interlock.people WHERE tenant = $1 \
     UNION ALL SELECT 'person_signed_in', 7, '', 0, subject, (extract(epoch FROM made_at) * 1000)::bigint \
     FROM interlock.identities WHERE tenant = $1 \
     UNION ALL SELECT 'vote', 8, run, 0, encode(digest, 'hex'), at_ms \
     FROM interlock.votes WHERE tenant = $1) \
     SELECT kind, run, n, id, at_ms FROM fresh WHERE NOT EXISTS (SELECT 1 FROM interlock.audit AS entry \
     WHERE entry.tenant = $1 AND entry.kind = fresh.kind AND entry.run = fresh.run \
     AND entry.n = fresh.n AND entry.id = fresh.id) \
     ORDER BY at_ms, rank, run COLLATE \"C\", n, id COLLATE \"C\" LIMIT $2";

/// A head that is about other entries than the table has.
const OTHER_HEAD: &str = "SELECT head.entries FROM interlock.audit_heads AS head \
     LEFT JOIN interlock.audit AS entry ON entry.tenant = $1 AND entry.seq = head.entries - 1 \
     WHERE head.tenant = $1 AND head.entries > 0 AND convert_from(head.head, 'UTF8')::json ->> 'hash' \
     IS DISTINCT FROM encode(entry.hash, 'hex') ORDER BY head.entries LIMIT 1";

/// What one transaction did.
enum Step {
    /// Something is left to be numbered.
    More,
    /// Everything is numbered and signed: so many entries.
    Signed(u64),
    /// Nothing, because the head of so many entries is about others.
    OtherHead(u64),
}

impl Database {
    /// Numbers everything that has happened, and signs the last hash; returns the number of entries.
    pub(super) fn sign_audit(&self, key: &Arc<SecretKey>) -> Result<u64, AuditError> {
        loop {
            let (of, key) = (self.clone(), Arc::clone(key));
            let step = self.write(move |leased| async move {
                lock(&of, &leased).await?;
                let own = [of.tenant().as_str().into()];
                // Nothing is signed on top of what was changed.
                if let Some(row) = leased.query(OTHER_HEAD, &own).await?.into_iter().next() {
                    let entries = Found::new(&of, row).number(0)?;
                    return Ok(End::Rollback(Step::OtherHead(entries)));
                }
                let tip = numbered(&of, &leased).await?;
                if !tip.is_whole {
                    return Ok(End::Commit(Step::More));
                }
                sign(&of, &leased, &tip, &key).await?;
                Ok(End::Commit(Step::Signed(tip.entries)))
            })?;
            match step {
                Step::More => {}
                Step::Signed(entries) => return Ok(entries),
                Step::OtherHead(entries) => return Err(AuditError::OtherHead { entries }),
            }
        }
    }
}

/// Takes the lock under which a tenant's entries are numbered.
async fn lock(of: &Database, leased: &Leased) -> Result<(), SharedError> {
    let lock = [format!("audit {}", of.tenant()).as_str().into()];
    let statement = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    leased.query(statement, &lock).await.map(drop)
}

/// The end of the chain.
struct Tip {
    entries: u64,
    hash: ChainHash,
    /// Whether nothing is left to be numbered.
    is_whole: bool,
}

/// Numbers up to [`BATCH`] entries.
async fn numbered(of: &Database, leased: &Leased) -> Result<Tip, SharedError> {
    let tenant = of.tenant().as_str();
    let last =
        "SELECT seq + 1, hash FROM interlock.audit WHERE tenant = $1 ORDER BY seq DESC LIMIT 1";
    let last = leased.query(last, &[tenant.into()]).await?;
    let mut tip = match last.into_iter().next() {
        None => Tip {
            entries: 0,
            hash: beginning(tenant),
            is_whole: false,
        },
        Some(row) => {
            let found = Found::new(of, row);
            Tip {
                entries: found.number(0)?,
                hash: found.hash(1)?,
                is_whole: false,
            }
        }
    };
    let limit = u64::try_from(BATCH).unwrap_or(u64::MAX);
    let fresh = leased.query(FRESH, &[tenant.into(), limit.into()]).await?;
    let subject = |row| {
        let found = Found::new(of, row);
        Ok(Subject {
            kind: found.get(0)?,
            run: found.get(1)?,
            n: found.get(2)?,
            id: found.get(3)?,
            at_ms: found.get(4)?,
        })
    };
    let fresh: Vec<Subject> =
        (fresh.into_iter().map(subject)).collect::<Result<_, SharedError>>()?;
    tip.is_whole = fresh.len() < BATCH;
    for part in fresh.chunks(CONTENTS) {
        number(leased, tenant, part, &mut tip).await?;
    }
    Ok(tip)
}

/// Gives entries their numbers and hashes.
async fn number(
    leased: &Leased,
    tenant: &str,
    subjects: &[Subject],
    tip: &mut Tip,
) -> Result<(), SharedError> {
    let contents = contents(leased, tenant, subjects).await?;
    let (mut seqs, mut digests, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
    for (subject, content) in subjects.iter().zip(contents) {
        let content = content.ok_or_else(|| SharedError::Foreign {
            place: leased.place().to_owned(),
            what: format!("an entry of kind `{}` has no content", subject.kind),
        })?;
        let digest = digest_of(&content);
        tip.hash = link(tip.hash, tip.entries, &subject.run, digest);
        seqs.push(integer(tip.entries));
        digests.push(digest.as_bytes().to_vec());
        hashes.push(tip.hash.as_bytes().to_vec());
        tip.entries += 1;
    }
    let texts = |of: fn(&Subject) -> &str| -> Vec<&str> { subjects.iter().map(of).collect() };
    let numbers = |of: fn(&Subject) -> i64| -> Vec<i64> { subjects.iter().map(of).collect() };
    let (kinds, runs) = (texts(|one| &one.kind), texts(|one| &one.run));
    let (ids, ns, times) = (
        texts(|one| &one.id),
        numbers(|one| one.n),
        numbers(|one| one.at_ms),
    );
    let values: [(&(dyn ToSql + Sync), Type); 9] = [
        (&tenant, Type::TEXT),
        (&seqs, Type::INT8_ARRAY),
        (&kinds, Type::TEXT_ARRAY),
        (&runs, Type::TEXT_ARRAY),
        (&ns, Type::INT8_ARRAY),
        (&ids, Type::TEXT_ARRAY),
        (&times, Type::INT8_ARRAY),
        (&digests, Type::BYTEA_ARRAY),
        (&hashes, Type::BYTEA_ARRAY),
    ];
    let inserted = leased.client.query_typed(
        "INSERT INTO interlock.audit (tenant, seq, kind, run, n, id, at_ms, digest, hash) \
         SELECT $1, seq, kind, run, n, id, at_ms, digest, hash \
         FROM unnest($2, $3, $4, $5, $6, $7, $8, $9) \
         AS row (seq, kind, run, n, id, at_ms, digest, hash)",
        &values,
    );
    let inserted = inserted.await;
    inserted
        .map(drop)
        .map_err(|error| failed(leased.place(), &error))
}

/// Signs the end of the chain, unless this key has.
async fn sign(
    of: &Database,
    leased: &Leased,
    tip: &Tip,
    key: &SecretKey,
) -> Result<(), SharedError> {
    let tenant = of.tenant().as_str();
    let id = key.public().id();
    let own: [Value; 3] = [tenant.into(), tip.entries.into(), id.as_str().into()];
    let signed =
        "SELECT 1 FROM interlock.audit_heads WHERE tenant = $1 AND entries = $2 AND key = $3";
    if !leased.query(signed, &own).await?.is_empty() {
        return Ok(());
    }
    let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let now = leased.query(now, &[]).await?.into_iter().next();
    let at_ms = now.map_or(Ok(0), |row| Found::new(of, row).number(0))?;
    let head = Head {
        tenant: tenant.to_owned(),
        entries: tip.entries,
        hash: tip.hash.to_string(),
        at_ms,
    };
    let head = serde_json::to_vec(&head).map_err(|error| SharedError::Failed {
        place: leased.place().to_owned(),
        what: error.to_string(),
    })?;
    let signature = key.sign(&signed_bytes(&head));
    let [tenant, entries, id] = own;
    let values = [tenant, entries, id, head.into(), signature.into()];
    let statement = "INSERT INTO interlock.audit_heads (tenant, entries, key, head, signature) \
         VALUES ($1, $2, $3, $4, $5)";
    leased.query(statement, &values).await.map(drop)
}
