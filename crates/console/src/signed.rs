//! The answers in a log that a passkey has signed, checked again.

use interlock_passkeys::{BrokenAnswer, LogCheck, SignedAnswer};
use interlock_store::{EventLog as _, RunLog, StoreError};

/// Checks every yes in a log that takes a passkey, and lists those that are signed.
///
/// # Errors
/// The log cannot be read; inside: a yes lacks its assertion, or has one that does not stand.
pub fn signed_answers(log: &RunLog) -> Result<Result<Vec<SignedAnswer>, BrokenAnswer>, StoreError> {
    let mut check = LogCheck::new(log.load()?.id);
    let mut signed = Vec::new();
    for recorded in log.events(0) {
        let recorded = recorded?;
        match check.look(recorded.seq, &recorded.event) {
            Ok(found) => signed.extend(found),
            Err(broken) => return Ok(Err(broken)),
        }
    }
    Ok(Ok(signed))
}
