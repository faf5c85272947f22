//! The lines of an exported file, and what is hashed and signed of them.

use interlock_attest::{SIGNATURE_BYTES, pae};
use interlock_store::ChainHash;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the form.
pub(super) const VERSION: u32 = 1;
/// The type of what is signed.
const HEAD_TYPE: &str = "application/vnd.interlock.audit-head+json";

/// The first line: which entries follow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// The version of the form.
    pub(super) audit: u32,
    pub(super) tenant: String,
    /// The number of the first entry.
    pub(super) from: u64,
    /// The hash of the entry before it.
    pub(super) prev: String,
    /// The run whose entries are shown; of all others there is only the digest.
    pub(super) run: Option<String>,
}

/// A line with an entry, or with the digest of one that is not shown.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) seq: u64,
    /// The run that it belongs to; empty if there is none.
    pub(super) run: String,
    /// The hash of the chain up to here.
    pub(super) hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<Box<RawValue>>,
}

/// The last line: a signed head.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Signed {
    /// A [`Head`], with exactly the bytes that are signed.
    pub(super) head: Box<RawValue>,
    /// The id of the public key.
    #[serde(default)]
    pub(super) key: Option<String>,
    /// The signature in lower-case hex.
    #[serde(default)]
    pub(super) signature: Option<String>,
}

/// What is signed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub(super) tenant: String,
    /// The number of entries.
    pub(super) entries: u64,
    /// The hash of the last one.
    pub(super) hash: String,
    /// When it was signed, by the clock of the database.
    pub(super) at_ms: u64,
}

/// Returns the bytes that a signature of a head covers.
pub(super) fn signed_bytes(head: &[u8]) -> Vec<u8> {
    pae(HEAD_TYPE, head)
}

/// Returns the hash before the first entry of a tenant.
pub(super) fn beginning(tenant: &str) -> ChainHash {
    ChainHash::of_parts(&[b"interlock audit", tenant.as_bytes()])
}

/// Returns the digest of an entry's JSON.
pub(super) fn digest_of(entry: &[u8]) -> ChainHash {
    ChainHash::of_parts(&[b"interlock audit entry", entry])
}

/// Returns the hash of an entry after `prev`.
pub(super) fn link(prev: ChainHash, seq: u64, run: &str, digest: ChainHash) -> ChainHash {
    ChainHash::of_parts(&[
        b"interlock audit link",
        prev.as_bytes(),
        &seq.to_be_bytes(),
        run.as_bytes(),
        digest.as_bytes(),
    ])
}

/// Writes bytes as lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads lower-case hex.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(byte).collect()
}

/// Reads a signature in hex.
pub(super) fn signature(text: &str) -> Option<Vec<u8>> {
    from_hex(text).filter(|bytes| bytes.len() == SIGNATURE_BYTES)
}
