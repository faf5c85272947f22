//! Ed25519 keys in PEM: PKCS#8 for secret ones, SPKI for public ones.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    digest,
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};

/// Bytes of an ed25519 signature.
pub const SIGNATURE_BYTES: usize = 64;
/// Bytes of a public key, and of the seed of a secret one.
const KEY_BYTES: usize = 32;
/// What comes before the seed in a PKCS#8 document without attributes.
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
];
/// What comes before the point in the SPKI of an ed25519 key.
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
const SECRET_LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";
/// Characters of a line of PEM.
const LINE: usize = 64;
/// Most keys that one file may hold.
const KEYS_MAX: usize = 64;

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no block of the wanted kind.
    #[error("it holds no `-----BEGIN {0}-----` block")]
    Missing(&'static str),
    /// A secret key lies where public ones are wanted.
    #[error(
        "it holds a private key: give the public one, which `interlock attest public-key` prints"
    )]
    Secret,
    /// The key is encrypted.
    #[error("its key is encrypted, which is not supported: write it with `openssl pkey` first")]
    Encrypted,
    /// A block is cut off, or is not Base64.
    #[error("its PEM is malformed")]
    Malformed,
    /// The key is of another kind.
    #[error("its key is not an ed25519 key")]
    OtherKind,
    /// There are too many keys.
    #[error("it holds more than {KEYS_MAX} keys")]
    TooMany,
}

/// A key that signs.
pub struct SecretKey(Ed25519KeyPair);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public().id())
    }
}

impl SecretKey {
    /// Makes the key of 32 bytes that nobody else knows.
    ///
    /// # Errors
    /// The bytes are no seed.
    pub fn from_seed(seed: &[u8; KEY_BYTES]) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        pair.map(Self).map_err(|_| KeyError::OtherKind)
    }

    /// Reads a key from PKCS#8 in PEM.
    ///
    /// # Errors
    /// The text holds no ed25519 key.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") {
            return Err(KeyError::Encrypted);
        }
        let blocks = blocks(text, SECRET_LABEL)?;
        let der = blocks.first().ok_or(KeyError::Missing(SECRET_LABEL))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der);
        pair.map(Self).map_err(|_| KeyError::OtherKind)
    }

    /// Writes the PKCS#8 PEM of a seed, as OpenSSL does.
    #[must_use]
    pub fn pem_of_seed(seed: &[u8; KEY_BYTES]) -> String {
        pem(SECRET_LABEL, &[&PKCS8[..], seed].concat())
    }

    /// Returns the public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut point = [0; KEY_BYTES];
        for (to, from) in point.iter_mut().zip(self.0.public_key().as_ref()) {
            *to = *from;
        }
        PublicKey(point)
    }

    /// Signs bytes.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }
}

/// A key that checks signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PublicKey {
    /// Reads the only key of a text in PEM.
    ///
    /// # Errors
    /// The text does not hold exactly one ed25519 key.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        match public_keys(text)?.as_slice() {
            [only] => Ok(*only),
            _ => Err(KeyError::TooMany),
        }
    }

    /// Writes the key as SPKI in PEM, as OpenSSL does.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem(PUBLIC_LABEL, &self.der())
    }

    /// Returns the key's id: the SHA-256 of its SPKI, in lower-case hex.
    #[must_use]
    pub fn id(&self) -> String {
        let digest = digest::digest(&digest::SHA256, &self.der());
        let bytes = digest.as_ref().iter();
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns whether `signature` over `bytes` is this key's.
    #[must_use]
    pub fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0)
            .verify(bytes, signature)
            .is_ok()
    }

    fn der(&self) -> Vec<u8> {
        [&SPKI[..], &self.0].concat()
    }
}

/// Reads what a program that signs has printed: the bytes of a signature, or those in Base64.
#[must_use]
pub fn read_signature(printed: &[u8]) -> Option<Vec<u8>> {
    if printed.len() == SIGNATURE_BYTES {
        return Some(printed.to_vec());
    }
    let text = std::str::from_utf8(printed).ok()?;
    // Programs break long lines.
    let text: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(text).ok()?;
    (bytes.len() == SIGNATURE_BYTES).then_some(bytes)
}

/// Reads every public key of a text in PEM; there is at least one.
///
/// # Errors
/// The text holds none, a secret key, or a key that is not ed25519.
pub fn public_keys(text: &str) -> Result<Vec<PublicKey>, KeyError> {
    if text.contains("PRIVATE KEY-----") {
        return Err(KeyError::Secret);
    }
    let blocks = blocks(text, PUBLIC_LABEL)?;
    if blocks.is_empty() {
        return Err(KeyError::Missing(PUBLIC_LABEL));
    }
    let key = |der: &Vec<u8>| {
        let point = der.strip_prefix(&SPKI).ok_or(KeyError::OtherKind)?;
        let point = point.try_into().map_err(|_| KeyError::OtherKind)?;
        Ok(PublicKey(point))
    };
    blocks.iter().map(key).collect()
}

/// Returns the contents of the blocks with a label.
fn blocks(text: &str, label: &str) -> Result<Vec<Vec<u8>>, KeyError> {
    let (begin, end) = (
        format!("-----BEGIN {label}-----"),
        format!("-----END {label}-----"),
    );
    let mut found = Vec::new();
    for part in text.split(&begin).skip(1) {
        if found.len() == KEYS_MAX {
            return Err(KeyError::TooMany);
        }
        let (body, _) = part.split_once(&end).ok_or(KeyError::Malformed)?;
        let body: String = body.split_whitespace().collect();
        found.push(STANDARD.decode(body).map_err(|_| KeyError::Malformed)?);
    }
    Ok(found)
}

fn pem(label: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for (nth, letter) in encoded.chars().enumerate() {
        if nth > 0 && nth % LINE == 0 {
            text.push('\n');
        }
        text.push(letter);
    }
    text.push_str(&format!("\n-----END {label}-----\n"));
    text
}
