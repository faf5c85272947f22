//! Why an audit cannot be exported, and why a file is not accepted.

use crate::error::SharedError;

/// Why an audit cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] SharedError),
    /// There is no signed head.
    #[error(
        "nothing of this tenant is signed yet: `interlock shared audit export` signs it, or a server with `--audit-key`"
    )]
    NotSigned,
    /// There is no such entry.
    #[error("there is no entry {seq}: {entries} are signed")]
    NoEntry {
        /// The number that was asked for.
        seq: u64,
        /// The number of signed entries.
        entries: u64,
    },
    /// An entry is no longer what was signed.
    #[error(
        "entry {seq} is no longer what was signed: somebody has changed the database; compare it with an earlier export"
    )]
    Changed {
        /// The number of the entry.
        seq: u64,
    },
    /// A signed head is about other entries.
    #[error(
        "the head that was signed for {entries} entries is about others: somebody has changed the database; compare it with an earlier export"
    )]
    OtherHead {
        /// The number of entries.
        entries: u64,
    },
    /// An entry cannot be written.
    #[error("an entry cannot be written: {0}")]
    Unwritable(#[source] serde_json::Error),
}

/// Why a file is not accepted, with the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {refusal}")]
pub struct AuditWrong {
    /// The number of the line, from 1.
    pub line: u64,
    /// What is wrong.
    pub refusal: AuditRefusal,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditRefusal {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    /// The line is no line of an audit.
    #[error("this is no line of an audit: {0}")]
    Malformed(String),
    /// The file is of another version.
    #[error("the file has form {0}, and this Interlock reads 1: use a newer Interlock")]
    Version(u32),
    /// The file does not begin where it should.
    #[error(
        "the file begins at entry {found}, not at {wanted}: what came before is left out; say `--from {found}` if that is what was exported"
    )]
    OtherBeginning {
        /// The first entry.
        found: u64,
        /// The entry that was expected.
        wanted: u64,
    },
    /// The file shows entries of other runs than expected.
    #[error(
        "the file shows {}, and {} was expected: say `--run` with the id of a run if only that was exported", shown(found.as_deref()), shown(wanted.as_deref())
    )]
    OtherRun {
        /// The run that the file shows.
        found: Option<String>,
        /// The run that was expected.
        wanted: Option<String>,
    },
    /// An entry is not what was signed.
    #[error("entry {0} was changed: its content is not that of its hash")]
    Changed(u64),
    /// An entry has no content where it must have one.
    #[error("entry {0} has no content, though the file has to show it")]
    Hidden(u64),
    /// Entries are left out.
    #[error("entry {0} is missing")]
    Missing(u64),
    /// An entry occurs twice.
    #[error("entry {0} occurs twice")]
    Doubled(u64),
    /// An entry is at another place.
    #[error("entry {0} was moved: it is not between those before and after it")]
    Moved(u64),
    /// An event does not follow the one before it.
    #[error(
        "event {seq} of run `{run}` is not what its hash says, or does not follow the event before it: it was changed in the database before it was signed"
    )]
    Event {
        /// The run.
        run: String,
        /// The number of the event.
        seq: u64,
    },
    /// A vote is not what its digest says.
    #[error(
        "the vote of entry {0} is not what its digest says: it was changed in the database before it was signed"
    )]
    Vote(u64),
    /// There is no head at the end.
    #[error(
        "the file ends without a signed head: it was cut off after {0} entries, or was never signed"
    )]
    CutOff(u64),
    /// Lines follow the head.
    #[error("something follows the signed head, which no signature covers")]
    AfterHead,
    /// The head has no signature.
    #[error("the head is not signed")]
    Unsigned,
    /// The head is signed with another key.
    #[error("the head is signed with key {0}, which is not the one that was given")]
    OtherKey(String),
    /// The signature does not fit.
    #[error("the signature of the head does not fit: the head was changed or forged")]
    Forged,
    /// The head is about other entries.
    #[error("the signed head is about {entries} entries of tenant `{tenant}`, and not about these")]
    OtherHead {
        /// The number of entries that were signed.
        entries: u64,
        /// Their tenant.
        tenant: String,
    },
    /// There are fewer entries than expected.
    #[error(
        "the file ends at an earlier head: {found} entries are signed, and at least {wanted} are known"
    )]
    Shorter {
        /// The number of entries.
        found: u64,
        /// The number of entries that exist.
        wanted: u64,
    },
}

fn shown(run: Option<&str>) -> String {
    run.map_or_else(|| "all runs".to_owned(), |run| format!("run `{run}` alone"))
}

impl AuditRefusal {
    /// Returns its stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::Malformed(_) => "malformed",
            Self::Version(_) => "unknown_version",
            Self::OtherBeginning { .. } => "other_beginning",
            Self::OtherRun { .. } => "other_run",
            Self::Changed(_) => "changed",
            Self::Hidden(_) => "hidden",
            Self::Missing(_) => "missing",
            Self::Doubled(_) => "doubled",
            Self::Moved(_) => "moved",
            Self::Event { .. } => "event_changed",
            Self::Vote(_) => "vote_changed",
            Self::CutOff(_) => "cut_off",
            Self::AfterHead => "after_head",
            Self::Unsigned => "unsigned",
            Self::OtherKey(_) => "other_key",
            Self::Forged => "wrong_signature",
            Self::OtherHead { .. } => "other_head",
            Self::Shorter { .. } => "shorter",
        }
    }
}
