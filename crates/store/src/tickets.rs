//! Tickets: permission from one verdict for one shell line to run once.
//!
//! A ticket is a file with an unguessable name, in a directory that no guarded agent may read. The first process that
//! renames it gets it.

use interlock_core::names::{CallId, Digest, FramePath, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    bindings::SessionKey,
    chain::hex,
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Expiring, Key, Record},
};

/// Lifetime of a ticket, in milliseconds: one day.
pub const TICKET_AGE_MAX_MS: u64 = 86_400_000;

/// Permission from a verdict to run one shell line once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ticket {
    /// Session that the line belongs to.
    pub session: SessionKey,
    /// Run that allowed the line.
    pub run: RunId,
    /// Id of the call.
    pub call: CallId,
    /// Path of the frame that the call was judged in.
    pub path: FramePath,
    /// Digest of the exact line.
    pub digest: Digest,
    /// Whether the exit code counts as evidence.
    pub proves: bool,
    /// Plan for the sandbox.
    pub plan: Value,
    /// Time of creation, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Versioned for Ticket {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 4 * 1_048_576;
}

/// Why a ticket is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// There is no such ticket.
    #[error("this ticket is not known: it was used already, or never given")]
    Unknown,
    /// The ticket is for another line.
    #[error("this ticket was given for another line")]
    OtherLine,
    /// The ticket has expired.
    #[error("this ticket is too old: call the tool again")]
    Old,
    /// The ticket cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the digest of a shell line.
#[must_use]
pub fn line_digest(line: &str) -> Digest {
    Digest::new(hex(&Sha256::digest(line.as_bytes())))
}

impl Record for Ticket {
    const PLACE: &'static str = "tickets";
}

impl Expiring for Ticket {
    const AGE_MAX_MS: u64 = TICKET_AGE_MAX_MS;
    const KEPT_MAX: usize = 64;

    fn at_ms(&self) -> u64 {
        self.at_ms
    }
}

impl Home {
    /// Stores a ticket and returns its name.
    ///
    /// # Errors
    /// The ticket cannot be written, or the system provides no random bytes.
    pub fn give_ticket(&self, ticket: &Ticket) -> Result<String, StoreError> {
        let tickets = self.records::<Ticket>();
        tickets.make_room(ticket.at_ms)?;
        let key = Key::random()?;
        tickets.put(&key, ticket)?;
        Ok(key.as_str().to_owned())
    }

    /// Removes and returns the ticket for `line`; it cannot be used again.
    ///
    /// # Errors
    /// There is no such ticket, it is for another line, or it has expired or is damaged. In each case, it is used up.
    pub fn take_ticket(&self, name: &str, line: &str, now_ms: u64) -> Result<Ticket, TicketError> {
        let key = Key::named(name).ok_or(TicketError::Unknown)?;
        let taken = self.records::<Ticket>().take(&key)?;
        let ticket = taken.ok_or(TicketError::Unknown)?;
        if ticket.digest != line_digest(line) {
            return Err(TicketError::OtherLine);
        }
        if !ticket.counts(now_ms) {
            return Err(TicketError::Old);
        }
        Ok(ticket)
    }

    /// Removes every ticket of a session, and expired ones.
    ///
    /// # Errors
    /// The directory cannot be listed, or a ticket cannot be removed.
    pub fn drop_tickets(&self, session: &SessionKey, now_ms: u64) -> Result<(), StoreError> {
        let tickets = self.records::<Ticket>();
        tickets.remove_old(now_ms)?;
        // What cannot be read lets nothing run.
        tickets.remove_known_where(|ticket| ticket.session == *session)?;
        Ok(())
    }
}
