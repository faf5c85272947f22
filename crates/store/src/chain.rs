//! The hash chain: each event's hash covers the previous one.

use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 in the chain, shown in lower-case hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// Returns the hash of an event after `prev`.
    ///
    /// This is the SHA-256 of `prev`, of `seq` and `at_ms` as 8 bytes each in big-endian order, and of the stored bytes of
    /// the body.
    #[must_use]
    pub fn link(prev: Self, seq: u64, at_ms: u64, body: &[u8]) -> Self {
        let mut sha = Sha256::new();
        sha.update(prev.0);
        sha.update(seq.to_be_bytes());
        sha.update(at_ms.to_be_bytes());
        sha.update(body);
        Self(sha.finalize().into())
    }

    /// Returns the hash of `parts`; different lists of parts never hash the same bytes.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut sha = Sha256::new();
        for part in parts {
            sha.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            sha.update(part);
        }
        Self(sha.finalize().into())
    }

    /// Converts stored bytes; `None` if they are not a hash.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Parses lower-case hex; `None` if it is not a hash.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        from_hex(text).and_then(|bytes| Self::from_bytes(&bytes))
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Formats `bytes` as lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Parses lower-case hex.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    if rest.is_empty() {
        pairs.iter().map(byte).collect()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_a_promise() {
        let first = ChainHash::link(ChainHash([0; 32]), 0, 1, b"{}");
        assert_eq!(
            first.to_string(),
            "84d553b85a6e1ca9a7ed31e5a54e621e1e19567b6e7d5a20c42cacd0da938d82"
        );
    }

    #[test]
    fn a_hash_is_read_from_what_it_is_shown_as() {
        let hash = ChainHash::of_parts(&[b"x"]);
        let text = hash.to_string();
        assert_eq!(ChainHash::from_hex(&text), Some(hash));
        for wrong in [text.to_uppercase(), format!("{text}0"), String::new()] {
            assert_eq!(ChainHash::from_hex(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_input_changes_the_link() {
        let prev = ChainHash([1; 32]);
        let links = [
            ChainHash::link(prev, 1, 2, b"x"),
            ChainHash::link(ChainHash([2; 32]), 1, 2, b"x"),
            ChainHash::link(prev, 2, 2, b"x"),
            ChainHash::link(prev, 1, 3, b"x"),
            ChainHash::link(prev, 1, 2, b"y"),
        ];
        let distinct: std::collections::BTreeSet<String> =
            links.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), links.len());
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(
            ChainHash::of_parts(&[b"ab", b"c"]),
            ChainHash::of_parts(&[b"a", b"bc"])
        );
    }
}
