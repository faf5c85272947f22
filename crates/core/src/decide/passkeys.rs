//! Approvals that require a passkey.
//!
//! This module checks everything that needs no key: the assertion must be about this run, this request and this answer, and
//! made on a console's page by a person whom the authenticator has verified. The caller that makes an [`Answer`] from an
//! assertion has checked its signature, and verifying the log checks it again.

use super::Work;
use crate::{
    command::Answer,
    event::ApprovalKind,
    passkey::Statement,
    refusal::{Code, Refusal},
    run::Request,
};

/// How to answer a request that requires a passkey.
const HOW: &str = "answer it with a passkey on the page that `interlock console` opens, or say no with `interlock reject` (`interlock passkey add` enrols one)";

impl Work<'_> {
    /// Refuses an approval of `request` without what it requires.
    pub(super) fn check_passkey(&self, request: &Request, answer: &Answer) -> Result<(), Refusal> {
        let Some(passkey) = answer.passkey.as_deref() else {
            return match request.approval {
                ApprovalKind::Person => Ok(()),
                ApprovalKind::Passkey => Err(Refusal::new(
                    Code::PasskeyRequired,
                    format!("a yes to `{}` takes a passkey: {HOW}", request.id()),
                )),
            };
        };
        let refuse = |why: &str| {
            Err(Refusal::new(
                Code::PasskeyInvalid,
                format!(
                    "the passkey's assertion does not approve `{}`: {why}",
                    request.id()
                ),
            ))
        };
        if answer.message.is_some() || answer.edit.is_some() || answer.of.is_some() {
            return refuse("it does not cover a message or a changed output: leave them out");
        }
        let seen = passkey.seq;
        if seen <= request.seq
            || seen > self.run.seq
            || answer.before.is_some_and(|before| before != seen)
        {
            return refuse("it was made for another moment of the run");
        }
        if passkey.data != answer.data {
            return refuse("it was made for other data");
        }
        let said = Statement {
            run: &self.run.id,
            request: &request.id(),
            question: &request.question,
            note: answer.note.as_deref(),
        };
        passkey
            .check(said)
            .or_else(|flaw| refuse(&flaw.to_string()))
    }
}

/// Adds to a refusal how to grant a call that requires a passkey.
pub(super) fn wanted_for(refusal: Refusal) -> Refusal {
    let Refusal { code, message } = refusal;
    Refusal::new(
        code,
        format!(
            "{message}. A person may grant this one call with a passkey, on the page of `interlock console`; propose it again then"
        ),
    )
}
