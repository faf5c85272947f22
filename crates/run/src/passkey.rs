//! Passkey assertions for approvals: the statement that is signed, and whether an assertion matches it.
//!
//! The signature itself is checked elsewhere, because the engine contains no cryptography except hashes.

use std::fmt;

use interlock_expr::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    canonical::canonical,
    names::{ApprovalId, Digest, RunId},
};

/// Relying party id of the console's passkeys; browsers do not accept an IP address here.
pub const SITE: &str = "localhost";
/// Maximum length of an assertion's field in bytes, so that a log stays readable whatever an authenticator adds.
pub const FIELD_BYTES_MAX: usize = 4_096;
/// Maximum size in bytes of the data that an approval with a passkey may correct.
const DATA_BYTES_MAX: usize = 64 * 1024;
/// Size in bytes of the authenticator data before any extension: a hash, flags and a counter.
const AUTHENTICATOR_BYTES: usize = 37;
/// Flag: the person was present.
const PRESENT: u8 = 0x01;
/// Flag: the authenticator verified the person, by fingerprint, face or PIN.
const VERIFIED: u8 = 0x04;

/// A passkey's signature over an approval, with everything needed to check it.
///
/// Bytes are written in hex.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasskeyAssertion {
    /// Id of the passkey.
    pub credential: String,
    /// Name that the person gave the passkey.
    pub name: String,
    /// Public key as enrolled, a COSE key, so that the log stays verifiable after the passkey is removed.
    pub public_key: String,
    /// Origin of the page on which it was used, with the port.
    pub origin: String,
    /// Number of events in the run when the person looked.
    pub seq: u64,
    /// Nonce that the server made for this answer.
    pub nonce: String,
    /// Corrections to the data of the transition.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub data: Object,
    /// Client data of the browser, JSON text.
    pub client_data: String,
    /// Authenticator data.
    pub authenticator_data: String,
    /// Signature over client data and authenticator data.
    pub signature: String,
}

/// What an approval is about, apart from what the assertion holds.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The request.
    pub request: &'a ApprovalId,
    /// Digest of everything that the answer depends on.
    pub question: &'a Digest,
    /// The person's note.
    pub note: Option<&'a str>,
}

/// Why an assertion does not prove an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// A field is too long, or is not hexadecimal.
    Malformed,
    /// The browser was asked for something other than an assertion.
    OtherKind,
    /// It was made for another run, request, question, moment, answer or nonce.
    OtherAnswer,
    /// It was made on another page.
    OtherOrigin,
    /// It is bound to another relying party than this machine's.
    OtherSite,
    /// Nobody touched the authenticator.
    NotPresent,
    /// The authenticator did not verify the person.
    NotVerified,
    /// The kind of key is unknown.
    UnknownKey,
    /// The signature does not match the key.
    Signature,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "it is malformed",
            Self::OtherKind => "it was not created by a browser with a passkey",
            Self::OtherAnswer => "it was made for another run, request, question, moment or answer",
            Self::OtherOrigin => "it was made on another page",
            Self::OtherSite => "it is bound to another name than `localhost`",
            Self::NotPresent => "nobody touched the authenticator",
            Self::NotVerified => "the authenticator did not verify the person",
            Self::UnknownKey => "its key is of no known kind",
            Self::Signature => "its signature is not that of the key",
        })
    }
}

impl std::error::Error for Flaw {}

impl PasskeyAssertion {
    /// Returns the challenge that is signed: the hash of run, request, digest, moment, answer and nonce.
    #[must_use]
    pub fn challenge(&self, said: Statement<'_>) -> [u8; 32] {
        let all = json!([
            "interlock passkey yes",
            said.run,
            said.request,
            said.question,
            self.seq,
            true,
            canonical(&Value::Object(self.data.clone())),
            said.note,
            self.nonce,
        ]);
        Sha256::digest(all.to_string().as_bytes()).into()
    }

    /// Checks everything but the signature: the statement, the origin, and the person's presence.
    ///
    /// # Errors
    /// The flaw says which part does not match.
    pub fn check(&self, said: Statement<'_>) -> Result<(), Flaw> {
        let fields = [
            &self.credential,
            &self.name,
            &self.public_key,
            &self.origin,
            &self.nonce,
            &self.client_data,
            &self.authenticator_data,
            &self.signature,
        ];
        let is_long = |field: &&String| field.len() > FIELD_BYTES_MAX;
        if fields.iter().any(is_long) || self.data_bytes() > DATA_BYTES_MAX {
            return Err(Flaw::Malformed);
        }
        check_client_data(
            &self.client_data,
            "webauthn.get",
            &self.challenge(said),
            &self.origin,
        )?;
        let data = unhex(&self.authenticator_data).ok_or(Flaw::Malformed)?;
        AuthenticatorData::read(&data)?.check()
    }

    fn data_bytes(&self) -> usize {
        // An object that is empty is written as `{}`.
        serde_json::to_vec(&self.data).map_or(usize::MAX, |bytes| bytes.len())
    }

    /// Creates an unsigned assertion for a simulated approval; [`Self::check`] accepts it.
    #[must_use]
    pub fn unsigned(said: Statement<'_>, seq: u64, data: Object) -> Self {
        let origin = format!("http://{SITE}:1");
        let mut made = Self {
            credential: String::new(),
            name: "simulated".to_owned(),
            public_key: String::new(),
            origin: origin.clone(),
            seq,
            nonce: String::new(),
            data,
            client_data: String::new(),
            authenticator_data: String::new(),
            signature: String::new(),
        };
        let challenge = base64url(&made.challenge(said));
        made.client_data = json!({
            "type": "webauthn.get",
            "challenge": challenge,
            "origin": origin,
        })
        .to_string();
        let mut bytes = Sha256::digest(SITE.as_bytes()).to_vec();
        bytes.push(PRESENT | VERIFIED);
        bytes.extend([0; 4]);
        made.authenticator_data = hex(&bytes);
        made
    }
}

/// Checks the client data of a browser.
///
/// # Errors
/// The browser was asked for something else, or on a page other than the console's at `origin`.
pub fn check_client_data(
    text: &str,
    kind: &str,
    challenge: &[u8; 32],
    origin: &str,
) -> Result<(), Flaw> {
    let said: Value = serde_json::from_str(text).map_err(|_| Flaw::Malformed)?;
    let field = |name: &str| said.get(name).and_then(Value::as_str);
    if field("type") != Some(kind) {
        return Err(Flaw::OtherKind);
    }
    let framed = said
        .get("crossOrigin")
        .is_some_and(|crosses| *crosses != false)
        || said.get("topOrigin").is_some();
    if framed || field("origin") != Some(origin) || !is_origin(origin) {
        return Err(Flaw::OtherOrigin);
    }
    if field("challenge") != Some(base64url(challenge).as_str()) {
        return Err(Flaw::OtherAnswer);
    }
    Ok(())
}

/// Returns whether `origin` is that of a console: this machine, with a port.
fn is_origin(origin: &str) -> bool {
    let port = origin
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_prefix(SITE))
        .and_then(|rest| rest.strip_prefix(':'));
    port.is_some_and(|port| {
        !port.starts_with(['0', '+']) && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// The data of an authenticator about itself and the person.
#[derive(Debug, Clone, Copy)]
pub struct AuthenticatorData<'a> {
    site: &'a [u8],
    /// Flags, one bit each.
    pub flags: u8,
    /// Signature counter; 0: the authenticator does not count.
    pub counter: u32,
    /// The remaining bytes: a new key, and extensions.
    pub rest: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    /// Parses authenticator data.
    ///
    /// # Errors
    /// The data is too short.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Flaw> {
        let (head, rest) = bytes
            .split_at_checked(AUTHENTICATOR_BYTES)
            .ok_or(Flaw::Malformed)?;
        let (site, behind) = head.split_at_checked(32).ok_or(Flaw::Malformed)?;
        let [flags, a, b, c, d] = *behind else {
            return Err(Flaw::Malformed);
        };
        Ok(Self {
            site,
            flags,
            counter: u32::from_be_bytes([a, b, c, d]),
            rest,
        })
    }

    /// Checks that the data is bound to this machine's name and that the person was verified.
    ///
    /// # Errors
    /// The flaw says what is missing.
    pub fn check(&self) -> Result<(), Flaw> {
        if self.site != Sha256::digest(SITE.as_bytes()).as_slice() {
            return Err(Flaw::OtherSite);
        }
        if self.flags & PRESENT == 0 {
            return Err(Flaw::NotPresent);
        }
        if self.flags & VERIFIED == 0 {
            return Err(Flaw::NotVerified);
        }
        Ok(())
    }
}

/// Formats bytes as lower-case hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses lower-case hex; `None` if the text is not hex.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

/// Encodes bytes as browsers do: base64 with `-` and `_`, without padding.
#[must_use]
pub fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        for (to, from) in group.iter_mut().skip(1).zip(chunk) {
            *to = *from;
        }
        let word = u32::from_be_bytes(group);
        for place in 0..=chunk.len() {
            let six = word >> (18 - 6 * place) & 63;
            let letter = usize::try_from(six).ok().and_then(|at| LETTERS.get(at));
            text.extend(letter.copied().map(char::from));
        }
    }
    text
}

#[cfg(test)]
mod tests;
