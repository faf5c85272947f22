//! Verifies the answers in a log that were signed by a passkey.

use interlock_passkeys::{BrokenAnswer, LogCheck, SignedAnswer};
use interlock_store::{EventLog as _, RunLog, StoreError};

/// Verifies every yes in a log that requires a passkey, and lists the signed ones.
///
/// # Errors
/// The log cannot be read; the inner error: a yes has no assertion, or an invalid one.
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
