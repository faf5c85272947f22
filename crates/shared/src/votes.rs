//! Votes: the answers of people to one request, of which rules of approval ask for several.
//!
//! A vote is a row that is never changed. The answer that the votes lead to has their digest in its event, so that the
//! chain of events covers them.

use interlock_core::names::{Digest, RunId};
use interlock_store::ChainHash;
use tokio_postgres::types::{ToSql, Type};

use crate::{
    database::{Database, Leased},
    error::{SharedError, failed},
    rows::Found,
    tenant::Tenant,
    tokens::Member,
};

/// Reads the votes of a run, the oldest first.
pub(crate) const OF_RUN: &str = "SELECT request, question, subject, groups, yes, note, revision, \
     at_ms, digest FROM interlock.votes WHERE tenant = $1 AND run = $2 ORDER BY at_ms, subject";

/// The answer of one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vote {
    /// The id of the request.
    pub(crate) request: String,
    /// What was asked, and what had been written when it was answered.
    pub(crate) question: ChainHash,
    pub(crate) member: Member,
    pub(crate) yes: bool,
    pub(crate) note: Option<String>,
    /// The revision of the policy that held.
    pub(crate) revision: u64,
    pub(crate) at_ms: u64,
}

impl Vote {
    /// Returns the digest of the whole row.
    pub(crate) fn digest(&self, tenant: &Tenant, run: &RunId) -> ChainHash {
        let note = self.note.as_deref();
        ChainHash::of_parts(&[
            b"interlock vote",
            tenant.as_str().as_bytes(),
            run.as_str().as_bytes(),
            self.request.as_bytes(),
            self.question.as_bytes(),
            self.member.subject.as_bytes(),
            self.member.groups.join(" ").as_bytes(),
            &[u8::from(self.yes), u8::from(note.is_some())],
            note.unwrap_or_default().as_bytes(),
            &self.revision.to_be_bytes(),
            &self.at_ms.to_be_bytes(),
        ])
    }
}

/// Returns the digest of several votes, in the order of their own digests.
pub(crate) fn digest_of(votes: &[&Vote], tenant: &Tenant, run: &RunId) -> Digest {
    let mut all: Vec<ChainHash> = votes.iter().map(|vote| vote.digest(tenant, run)).collect();
    all.sort_unstable_by_key(|digest| *digest.as_bytes());
    let parts: Vec<&[u8]> = std::iter::once(&b"interlock votes"[..])
        .chain(all.iter().map(|digest| &digest.as_bytes()[..]))
        .collect();
    Digest::new(ChainHash::of_parts(&parts).to_string())
}

/// Reads votes from rows of [`OF_RUN`].
///
/// A row that differs from its digest is an error: it was not written by this program.
pub(crate) fn read(
    database: &Database,
    run: &RunId,
    rows: Vec<tokio_postgres::Row>,
) -> Result<Vec<Vote>, SharedError> {
    let vote = |row| {
        let found = Found::new(database, row);
        let groups: String = found.get(3)?;
        let vote = Vote {
            request: found.get(0)?,
            question: found.hash(1)?,
            member: Member {
                subject: found.get(2)?,
                groups: groups.split_whitespace().map(str::to_owned).collect(),
            },
            yes: found.get(4)?,
            note: found.get(5)?,
            revision: found.number(6)?,
            at_ms: found.number(7)?,
        };
        if vote.digest(database.tenant(), run) != found.hash(8)? {
            return Err(found.wrong("a vote that was changed"));
        }
        Ok(vote)
    };
    rows.into_iter().map(vote).collect()
}

/// Inserts votes in the transaction of the commands that they came with.
///
/// INVARIANT: one statement, which is sent when this is first polled: the commit is sent right after it.
pub(crate) async fn insert(
    leased: &Leased,
    (tenant, run): (&Tenant, &RunId),
    votes: &[Vote],
) -> Result<(), SharedError> {
    if votes.is_empty() {
        return Ok(());
    }
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (tenant_word, run_word) = (tenant.as_str(), run.as_str());
    let requests: Vec<&str> = votes.iter().map(|vote| vote.request.as_str()).collect();
    let questions: Vec<&[u8]> = (votes.iter())
        .map(|vote| &vote.question.as_bytes()[..])
        .collect();
    let subjects: Vec<&str> = (votes.iter())
        .map(|vote| vote.member.subject.as_str())
        .collect();
    let groups: Vec<String> = (votes.iter())
        .map(|vote| vote.member.groups.join(" "))
        .collect();
    let answers: Vec<bool> = votes.iter().map(|vote| vote.yes).collect();
    let notes: Vec<Option<&str>> = votes.iter().map(|vote| vote.note.as_deref()).collect();
    let revisions: Vec<i64> = votes.iter().map(|vote| number(vote.revision)).collect();
    let times: Vec<i64> = votes.iter().map(|vote| number(vote.at_ms)).collect();
    let digests: Vec<Vec<u8>> = (votes.iter())
        .map(|vote| vote.digest(tenant, run).as_bytes().to_vec())
        .collect();
    let values: [(&(dyn ToSql + Sync), Type); 11] = [
        (&tenant_word, Type::TEXT),
        (&run_word, Type::TEXT),
        (&requests, Type::TEXT_ARRAY),
        (&questions, Type::BYTEA_ARRAY),
        (&subjects, Type::TEXT_ARRAY),
        (&groups, Type::TEXT_ARRAY),
        (&answers, Type::BOOL_ARRAY),
        (&notes, Type::TEXT_ARRAY),
        (&revisions, Type::INT8_ARRAY),
        (&times, Type::INT8_ARRAY),
        (&digests, Type::BYTEA_ARRAY),
    ];
    let inserted = leased.client.query_typed(
        "INSERT INTO interlock.votes \
         (tenant, run, request, question, subject, groups, yes, note, revision, at_ms, digest) \
         SELECT $1, $2, request, question, subject, groups, yes, note, revision, at_ms, digest \
         FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11) \
         AS row (request, question, subject, groups, yes, note, revision, at_ms, digest)",
        &values,
    );
    inserted
        .await
        .map(drop)
        .map_err(|error| failed(leased.place(), &error))
}
