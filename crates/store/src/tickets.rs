//! Tickets: one verdict's leave for one shell line to run once.
//!
//! A ticket is a file with a name nobody can guess, in a directory that no
//! guarded agent may read. Whoever renames it first has it.

use std::{
    fs, io,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use interlock_core::names::{CallId, Digest, FramePath, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    bindings::SessionKey,
    chain::hex,
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
    id,
};

/// Longest that a ticket counts, in milliseconds: a day.
pub const TICKET_AGE_MAX_MS: u64 = 86_400_000;

const TICKETS: &str = "tickets";
/// Length of a ticket's name: 128 bits as hexadecimal digits.
const NAME_LENGTH: usize = 32;
/// How many tickets may lie about before one more makes old ones go.
const UNSWEPT_MAX: usize = 64;

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

impl Home {
    /// Keeps a ticket and returns its name.
    ///
    /// # Errors
    /// It cannot be written, or the system gives no random bytes.
    pub fn give_ticket(&self, ticket: &Ticket) -> Result<String, StoreError> {
        let directory = self.made_place(TICKETS)?;
        let name = hex(&id::random::<{ NAME_LENGTH / 2 }>()?);
        files::write(&file_of(&directory, &name), ticket, Sync::Later)?;
        if files::names(&directory)?.len() > UNSWEPT_MAX {
            sweep(&directory, ticket.at_ms, |_| false)?;
        }
        Ok(name)
    }

    /// Takes a ticket for `line`; from now on nobody else gets it.
    ///
    /// # Errors
    /// There is no such ticket, it is for another line, too old or damaged; it is used up all the same.
    pub fn take_ticket(&self, name: &str, line: &str, now_ms: u64) -> Result<Ticket, TicketError> {
        let plain = name.len() == NAME_LENGTH
            && name
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let root = self.existing()?.filter(|_| plain);
        let directory = root.ok_or(TicketError::Unknown)?.join(TICKETS);
        let path = file_of(&directory, name);
        let taken = directory.join(format!("{name}.taken"));
        match fs::rename(&path, &taken) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TicketError::Unknown);
            }
            Err(error) => return Err(StoreError::io("take", &path, error).into()),
        }
        let read = files::read::<Ticket>(&taken);
        files::remove(&taken)?;
        let ticket = read?.ok_or(TicketError::Unknown)?;
        if ticket.digest != line_digest(line) {
            return Err(TicketError::OtherLine);
        }
        // A ticket from after now is of a clock that was set back.
        if ticket.at_ms.abs_diff(now_ms) > TICKET_AGE_MAX_MS {
            return Err(TicketError::Old);
        }
        Ok(ticket)
    }

    /// Removes every ticket of a session, and those too old to count.
    ///
    /// # Errors
    /// The directory cannot be listed, or a ticket cannot be removed.
    pub fn drop_tickets(&self, session: &SessionKey, now_ms: u64) -> Result<(), StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(());
        };
        sweep(&root.join(TICKETS), now_ms, |ticket| {
            ticket.session == *session
        })
    }
}

fn file_of(directory: &Path, name: &str) -> std::path::PathBuf {
    directory.join(format!("{name}.json"))
}

/// Removes the tickets that are too old or that `goes` names; what cannot be read lets nothing run.
fn sweep(directory: &Path, now_ms: u64, goes: impl Fn(&Ticket) -> bool) -> Result<(), StoreError> {
    for name in files::names(directory)? {
        let path = directory.join(&name);
        let old = fs::symlink_metadata(&path)
            .and_then(|data| data.modified())
            .is_ok_and(|at| {
                let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
                at.abs_diff(Duration::from_millis(now_ms))
                    > Duration::from_millis(TICKET_AGE_MAX_MS)
            });
        let given = name.ends_with(".json");
        if old || given && matches!(files::read::<Ticket>(&path), Ok(Some(ticket)) if goes(&ticket))
        {
            files::remove(&path)?;
        }
    }
    Ok(())
}
