//! Verifies the log of a run: each yes that required a passkey must have a signed assertion.

use std::collections::BTreeMap;

use interlock_core::{
    event::{ApprovalKind, Event},
    names::{ApprovalId, Digest, RunId},
    passkey::{Flaw, Statement},
};

use crate::verify;

/// A check of one run's events, in order.
#[derive(Debug)]
pub struct LogCheck {
    run: RunId,
    /// Requests that require a passkey and are not settled yet.
    open: BTreeMap<ApprovalId, Digest>,
}

/// A yes whose assertion is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAnswer {
    /// Sequence number of its event.
    pub seq: u64,
    /// The id of the passkey, in hex.
    pub credential: String,
    /// The passkey's name at that time.
    pub name: String,
}

/// A yes that lacks a valid assertion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: the yes to `{id}` {}", because(.why.as_ref()))]
pub struct BrokenAnswer {
    /// Sequence number of its event.
    pub seq: u64,
    /// The request that it answers.
    pub id: ApprovalId,
    /// The flaw of its assertion; `None` if it has none.
    pub why: Option<Flaw>,
}

fn because(why: Option<&Flaw>) -> String {
    match why {
        Some(flaw) => format!("has an invalid assertion of a passkey: {flaw}"),
        None => "takes a passkey and came without".to_owned(),
    }
}

impl LogCheck {
    /// Returns a check for the events of `run`, starting with the first.
    #[must_use]
    pub const fn new(run: RunId) -> Self {
        Self {
            run,
            open: BTreeMap::new(),
        }
    }

    /// Checks the next event; returns the answer if it is one with a passkey.
    ///
    /// # Errors
    /// A yes requires an assertion and has none, or has an invalid one.
    pub fn look(&mut self, seq: u64, event: &Event) -> Result<Option<SignedAnswer>, BrokenAnswer> {
        match event {
            Event::RequestOpened {
                question,
                approval: ApprovalKind::Passkey,
                ..
            } => {
                self.open.insert(ApprovalId::of(seq), question.clone());
                Ok(None)
            }
            Event::RequestAnswered {
                id,
                question,
                yes,
                note,
                passkey,
                ..
            } => {
                let wanted = self.open.remove(id);
                let broken = |why| {
                    Err(BrokenAnswer {
                        seq,
                        id: id.clone(),
                        why,
                    })
                };
                let Some(passkey) = passkey.as_deref() else {
                    return match wanted {
                        Some(_) if *yes => broken(None),
                        _ => Ok(None),
                    };
                };
                if !yes || wanted.is_some_and(|wanted| wanted != *question) {
                    return broken(Some(Flaw::OtherAnswer));
                }
                let said = Statement {
                    run: &self.run,
                    request: id,
                    question,
                    note: note.as_deref(),
                };
                match verify(passkey, said) {
                    Ok(_) => Ok(Some(SignedAnswer {
                        seq,
                        credential: passkey.credential.clone(),
                        name: passkey.name.clone(),
                    })),
                    Err(flaw) => broken(Some(flaw)),
                }
            }
            Event::RequestVoided { id, .. } => {
                self.open.remove(id);
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}
