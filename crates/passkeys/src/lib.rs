//! Passkeys: checks new ones, and verifies that an assertion is signed by the key that it names.
//!
//! This crate is pure: it reads no file and no clock. [`interlock_core::passkey`] checks what an assertion is about;
//! the parts that need a key are here.

mod key;
mod log;

use interlock_core::passkey::{
    AuthenticatorData, Flaw, PasskeyAssertion, Statement, check_client_data, hex, unhex,
};
use sha2::{Digest as _, Sha256};

pub use key::{COSE_KINDS, KeyKind};
pub use log::{BrokenAnswer, LogCheck, SignedAnswer};

/// Flag in authenticator data: a new key follows.
const HAS_KEY: u8 = 0x40;
/// Flag in authenticator data: extensions follow.
const HAS_EXTENSIONS: u8 = 0x80;
/// Length in bytes of the id of an authenticator's model (AAGUID).
const MODEL_BYTES: usize = 16;
/// Maximum length in bytes of a passkey's id.
const ID_BYTES_MAX: usize = 1_023;

/// A passkey that a page has just created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPasskey {
    /// Its id, in hex.
    pub credential: String,
    /// Its public key, a COSE key in hex.
    pub public_key: String,
    /// The kind of its key.
    pub kind: KeyKind,
    /// Its signature counter; 0 if the authenticator does not count.
    pub counter: u32,
}

/// Parses and checks a new passkey from the data of a browser and an authenticator.
///
/// # Errors
/// It was created for another request, at another origin, or without the person; or its key is of no known kind.
pub fn enrol(
    client_data: &str,
    authenticator_data: &[u8],
    challenge: &[u8; 32],
    origin: &str,
) -> Result<NewPasskey, Flaw> {
    check_client_data(client_data, "webauthn.create", challenge, origin)?;
    let data = AuthenticatorData::read(authenticator_data)?;
    data.check()?;
    if data.flags & HAS_KEY == 0 {
        return Err(Flaw::Malformed);
    }
    let taken = |bytes: &'_ [u8], count: usize| -> Result<(Vec<u8>, Vec<u8>), Flaw> {
        let (head, rest) = bytes.split_at_checked(count).ok_or(Flaw::Malformed)?;
        Ok((head.to_vec(), rest.to_vec()))
    };
    let (_, rest) = taken(data.rest, MODEL_BYTES)?;
    let (length, rest) = taken(&rest, 2)?;
    let length = length
        .iter()
        .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    if length == 0 || length > ID_BYTES_MAX {
        return Err(Flaw::Malformed);
    }
    let (id, rest) = taken(&rest, length)?;
    let (key, behind) = key::first(&rest).ok_or(Flaw::UnknownKey)?;
    if !behind.is_empty() && data.flags & HAS_EXTENSIONS == 0 {
        return Err(Flaw::Malformed);
    }
    let kind = key::read(key).ok_or(Flaw::UnknownKey)?.kind();
    Ok(NewPasskey {
        credential: hex(&id),
        public_key: hex(key),
        kind,
        counter: data.counter,
    })
}

/// Verifies that an assertion is a yes to `said`, signed by the key that it names; returns the key's counter.
///
/// # Errors
/// Returns the flaw of the assertion.
pub fn verify(assertion: &PasskeyAssertion, said: Statement<'_>) -> Result<u32, Flaw> {
    assertion.check(said)?;
    let bytes = |text: &str| unhex(text).ok_or(Flaw::Malformed);
    let mut signed = bytes(&assertion.authenticator_data)?;
    let counter = AuthenticatorData::read(&signed)?.counter;
    signed.extend(Sha256::digest(assertion.client_data.as_bytes()));
    let public_key = bytes(&assertion.public_key)?;
    let key = key::read(&public_key).ok_or(Flaw::UnknownKey)?;
    if key.has_signed(&signed, &bytes(&assertion.signature)?) {
        Ok(counter)
    } else {
        Err(Flaw::Signature)
    }
}

#[cfg(test)]
mod tests;
