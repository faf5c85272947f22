//! Tickets: one verdict's leave for one shell line to run once.
//!
//! A ticket is a file with a name nobody can guess, in a directory that no
//! guarded agent may read. Whoever renames it first has it.

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

/// Longest that a ticket counts, in milliseconds: a day.
pub const TICKET_AGE_MAX_MS: u64 = 86_400_000;

/// One verdict's leave for one shell line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ticket {
    /// The session whose line it is.
    pub session: SessionKey,
    /// The run that allowed it.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// The frame it was judged in.
    pub path: FramePath,
    /// Digest of the exact line.
    pub digest: Digest,
    /// Whether its exit code counts as evidence.
    pub proves: bool,
    /// What the line may do; the sandbox reads it.
    pub plan: Value,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Versioned for Ticket {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 4 * 1_048_576;
}

/// Why a ticket lets nothing run.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// There is no such ticket.
    #[error("this ticket is not known: it was used already, or never given")]
    Unknown,
    /// It was given for another line.
    #[error("this ticket was given for another line")]
    OtherLine,
    /// It is too old.
    #[error("this ticket is too old: call the tool again")]
    Old,
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes the digest of a shell line.
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
    /// Keeps a ticket and returns its name.
    ///
    /// # Errors
    /// It cannot be written, or the system gives no random bytes.
    pub fn give_ticket(&self, ticket: &Ticket) -> Result<String, StoreError> {
        let tickets = self.records::<Ticket>();
        tickets.make_room(ticket.at_ms)?;
        let key = Key::random()?;
        tickets.put(&key, ticket)?;
        Ok(key.as_str().to_owned())
    }

    /// Takes a ticket for `line`; from now on nobody else gets it.
    ///
    /// # Errors
    /// There is no such ticket, it is for another line, too old or damaged; it is used up all the same.
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

    /// Removes every ticket of a session, and those too old to count.
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
