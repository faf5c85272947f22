//! Parses public keys as authenticators write them: COSE keys, in the one encoding that CTAP2 allows for each kind.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

/// COSE numbers of the kinds that a page asks for, the preferred one first.
pub const COSE_KINDS: [i32; 3] = [-7, -8, -257];

/// The kind of a passkey's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// EdDSA over Curve25519.
    Ed25519,
    /// RSA with SHA-256.
    Rs256,
}

impl KeyKind {
    /// Returns its name in JOSE.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Ed25519 => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }
}

/// `{1: 2, 3: -7, -1: 1, -2: bytes(32)`, then `-3: bytes(32)}`.
const ES256: &[u8] = &[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32];
const ES256_Y: &[u8] = &[0x22, 0x58, 32];
/// `{1: 1, 3: -8, -1: 6, -2: bytes(32)}`.
const OKP: &[u8] = &[0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32];
/// `{1: 3, 3: -257, -1: bytes(…)`, then `-2: bytes(3)}`.
const RS256: &[u8] = &[0xa4, 1, 3, 3, 0x39, 1, 0, 0x20, 0x59];
const RS256_E: &[u8] = &[0x21, 0x43];
/// Bytes of an RSA modulus: 2,048 to 8,192 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1_024;

/// A parsed public key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key<'a> {
    /// The coordinates x and y of the point.
    Es256(&'a [u8], &'a [u8]),
    Ed25519(&'a [u8]),
    /// The modulus and the exponent.
    Rs256(&'a [u8], &'a [u8]),
}

/// Parses a key that fills `bytes`; returns `None` if it is of no known kind.
pub(crate) fn read(bytes: &[u8]) -> Option<Key<'_>> {
    let (key, rest) = split(bytes)?;
    rest.is_empty().then_some(key)
}

/// Splits the bytes of a leading key from the bytes that follow.
pub(crate) fn first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = split(bytes)?;
    bytes.split_at_checked(bytes.len().checked_sub(rest.len())?)
}

fn split(bytes: &[u8]) -> Option<(Key<'_>, &[u8])> {
    if let Some(rest) = bytes.strip_prefix(ES256) {
        let (x, rest) = rest.split_at_checked(32)?;
        let (y, rest) = rest.strip_prefix(ES256_Y)?.split_at_checked(32)?;
        return Some((Key::Es256(x, y), rest));
    }
    if let Some(rest) = bytes.strip_prefix(OKP) {
        let (point, rest) = rest.split_at_checked(32)?;
        return Some((Key::Ed25519(point), rest));
    }
    let (length, rest) = bytes.strip_prefix(RS256)?.split_at_checked(2)?;
    let length = length
        .iter()
        .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    if !MODULUS_BYTES.contains(&length) {
        return None;
    }
    let (modulus, rest) = rest.split_at_checked(length)?;
    let (exponent, rest) = rest.strip_prefix(RS256_E)?.split_at_checked(3)?;
    Some((Key::Rs256(modulus, exponent), rest))
}

impl Key<'_> {
    pub(crate) const fn kind(&self) -> KeyKind {
        match self {
            Self::Es256(..) => KeyKind::Es256,
            Self::Ed25519(_) => KeyKind::Ed25519,
            Self::Rs256(..) => KeyKind::Rs256,
        }
    }

    /// Returns whether `signature` over `signed` was made by this key.
    pub(crate) fn has_signed(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Es256(x, y) => {
                // X9.62 marks an uncompressed point by a leading 4.
                let point = [&[4], *x, *y].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point)
                    .verify(signed, signature)
                    .is_ok()
            }
            Self::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point)
                .verify(signed, signature)
                .is_ok(),
            Self::Rs256(n, e) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
                .is_ok(),
        }
    }
}
