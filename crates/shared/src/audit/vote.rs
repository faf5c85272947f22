//! The entry of a vote, written and read again: it has everything that the digest of the vote covers.

use interlock_core::names::RunId;
use interlock_store::ChainHash;
use serde::{Deserialize, Serialize};

use crate::{tenant::Tenant, tokens::Member, votes::Vote};

/// The answer of one person.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct VoteCast {
    pub(super) kind: String,
    pub(super) at_ms: i64,
    pub(super) run: String,
    /// The request, or `changes`.
    pub(super) request: String,
    /// The digest of what was asked, and of what had been written by then.
    pub(super) question: String,
    /// Who has answered.
    pub(super) subject: String,
    /// The groups that the issuer of the token has named.
    pub(super) groups: Vec<String>,
    pub(super) yes: bool,
    pub(super) note: Option<String>,
    /// The revision of the policy that held.
    pub(super) revision: i64,
    /// The digest of all of it; that of all votes that counted is in the event of the answer.
    pub(super) digest: String,
}

impl VoteCast {
    /// Returns whether the digest is that of what the entry says.
    pub(super) fn fits(&self, tenant: &str) -> bool {
        let vote = || {
            let number = |number: i64| u64::try_from(number).ok();
            let vote = Vote {
                request: self.request.clone(),
                question: ChainHash::from_hex(&self.question)?,
                member: Member {
                    subject: self.subject.clone(),
                    groups: self.groups.clone(),
                },
                yes: self.yes,
                note: self.note.clone(),
                revision: number(self.revision)?,
                at_ms: number(self.at_ms)?,
            };
            Some(vote.digest(&Tenant::new(tenant).ok()?, &RunId::new(&self.run)))
        };
        vote().is_some_and(|digest| digest.to_string() == self.digest)
    }
}
