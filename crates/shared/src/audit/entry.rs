//! Entries: what each is about, how a row of its table is read, and how recorded bytes stand in it.

use interlock_store::ChainHash;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_postgres::{Row, types::FromSql};

use super::line::hex;
use crate::{database::Leased, error::SharedError};

/// What an entry is about, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) kind: String,
    /// The run; empty if it is about none.
    pub(super) run: String,
    /// The number of an event, of the events after a command, or the revision of a bundle or a policy.
    pub(super) n: i64,
    /// The id of a command or a token, the name of a person, or the digest of a vote.
    pub(super) id: String,
    pub(super) at_ms: i64,
}

/// The JSON of an entry.
pub(super) type Found = Result<Vec<u8>, SharedError>;

/// A row, with the connection for errors.
pub(super) struct Fields<'a> {
    pub(super) leased: &'a Leased,
    pub(super) row: Row,
}

impl Fields<'_> {
    pub(super) fn get<'r, T: FromSql<'r>>(&'r self, at: usize) -> Result<T, SharedError> {
        let found = self.row.try_get(at);
        found.map_err(|_| SharedError::Foreign {
            place: self.leased.place().to_owned(),
            what: "a row has a value of another type".to_owned(),
        })
    }

    pub(super) fn hex(&self, at: usize) -> Result<String, SharedError> {
        self.get::<&[u8]>(at).map(hex)
    }
}

/// Writes an entry.
pub(super) fn json(fields: &Fields<'_>, value: &impl Serialize) -> Found {
    serde_json::to_vec(value).map_err(|error| unwritable(fields, &error))
}

/// Returns recorded bytes as they are, if they are JSON on one line; otherwise as text in hex.
pub(super) fn raw(fields: &Fields<'_>, bytes: &[u8]) -> Result<Box<RawValue>, SharedError> {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|text| !text.bytes().any(|byte| byte < b' '));
    let found = text.and_then(|text| RawValue::from_string(text.to_owned()).ok());
    // What is in quotes at the beginning must mean one thing only.
    if let Some(found) = found.filter(|found| !found.get().starts_with(HEX)) {
        return Ok(found);
    }
    RawValue::from_string(format!("{HEX}{}\"", hex(bytes)))
        .map_err(|error| unwritable(fields, &error))
}

/// How the JSON text of bytes in hex begins.
const HEX: &str = "\"hex:";

/// Returns the bytes that were recorded, from what [`raw`] writes of them.
pub(super) fn recorded(written: &RawValue) -> Option<Vec<u8>> {
    match written.get().strip_prefix(HEX) {
        Some(rest) => super::line::from_hex(rest.strip_suffix('"')?),
        None => Some(written.get().as_bytes().to_vec()),
    }
}

fn unwritable(fields: &Fields<'_>, error: &serde_json::Error) -> SharedError {
    SharedError::Failed {
        place: fields.leased.place().to_owned(),
        what: error.to_string(),
    }
}

/// An event as it is in a file.
#[derive(Debug, serde::Deserialize)]
pub(super) struct EventRead {
    pub(super) at_ms: u64,
    pub(super) run: String,
    pub(super) seq: u64,
    prev: String,
    hash: String,
    event: Box<RawValue>,
}

impl EventRead {
    /// Returns the hash before it, and its own if it is the hash of its content.
    pub(super) fn hashes(&self) -> Option<(ChainHash, ChainHash)> {
        let prev = ChainHash::from_hex(&self.prev)?;
        let body = recorded(&self.event)?;
        let hash = ChainHash::link(prev, self.seq, self.at_ms, &body);
        (hash.to_string() == self.hash).then_some((prev, hash))
    }
}
