//! The log of a run looked at again: each yes that took a passkey has an assertion that is signed.

use std::collections::BTreeMap;

use interlock_core::{
    event::{ApprovalKind, Event},
    names::{ApprovalId, Digest, RunId},
    passkey::{Flaw, Statement},
};

use crate::verify;

/// Looks at the events of one run, the first before the others.
#[derive(Debug)]
pub struct LogCheck {
    run: RunId,
    /// Requests that take a passkey and are not settled yet.
    open: BTreeMap<ApprovalId, Digest>,
}

/// A yes whose assertion is as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAnswer {
    /// Its event.
    pub seq: u64,
    /// The id of the passkey, in hex.
    pub credential: String,
    /// The name that the passkey had.
    pub name: String,
}

/// A yes that does not come with what it takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: the yes to `{id}` {}", because(.why.as_ref()))]
pub struct BrokenAnswer {
    /// Its event.
    pub seq: u64,
    /// The request.
    pub id: ApprovalId,
    /// What is wrong with its assertion; `None`: it has none.
    pub why: Option<Flaw>,
}

fn because(why: Option<&Flaw>) -> String {
    match why {
        Some(flaw) => format!("has an invalid assertion of a passkey: {flaw}"),
        None => "takes a passkey and came without".to_owned(),
    }
}

impl LogCheck {
    /// Begins with the first event of `run`.
    #[must_use]
    pub const fn new(run: RunId) -> Self {
        Self {
            run,
            open: BTreeMap::new(),
        }
    }

    /// Looks at the next event; returns the passkey's answer where it is one.
    ///
    /// # Errors
    /// A yes takes an assertion and has none, or one that does not stand.
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
