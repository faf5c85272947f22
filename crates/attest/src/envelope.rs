//! DSSE envelopes, alone or in a Sigstore bundle.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    form::{BUNDLE_TYPE, BYTES_MAX, PAYLOAD_TYPE, SIGNATURES_MAX},
    keys::SecretKey,
    refusal::Refusal,
};

/// How the types of all bundles begin.
const ANY_BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Id of the key that is said to have signed.
    pub key: String,
    /// The signature.
    pub bytes: Vec<u8>,
}

/// A payload with its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Type of the payload.
    pub payload_type: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// Its signatures.
    pub signatures: Vec<Signature>,
}

/// Returns the bytes that a DSSE signature covers.
#[must_use]
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    );
    [head.as_bytes(), payload].concat()
}

impl Envelope {
    /// Makes an envelope of a statement that nobody has signed.
    #[must_use]
    pub fn of_statement(payload: Vec<u8>) -> Self {
        Self {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload,
            signatures: Vec::new(),
        }
    }

    /// Returns the bytes that its signatures cover.
    #[must_use]
    pub fn pae(&self) -> Vec<u8> {
        pae(&self.payload_type, &self.payload)
    }

    /// Adds the signature of a key.
    #[must_use]
    pub fn signed(mut self, key: &SecretKey) -> Self {
        let bytes = key.sign(&self.pae());
        let key = key.public().id();
        self.signatures.push(Signature { key, bytes });
        self
    }

    /// Writes the envelope as JSON on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.value().to_string()
    }

    /// Writes a Sigstore bundle with the envelope: a public key's id as a hint, and no entry of a transparency log.
    #[must_use]
    pub fn to_bundle(&self) -> String {
        let hint = self.signatures.first().map(|first| first.key.as_str());
        json!({
            "mediaType": BUNDLE_TYPE,
            "verificationMaterial": { "publicKey": { "hint": hint.unwrap_or_default() } },
            "dsseEnvelope": self.value(),
        })
        .to_string()
    }

    fn value(&self) -> Value {
        let signatures = self
            .signatures
            .iter()
            .map(|one| json!({ "keyid": one.key, "sig": STANDARD.encode(&one.bytes) }));
        json!({
            "payload": STANDARD.encode(&self.payload),
            "payloadType": self.payload_type,
            "signatures": signatures.collect::<Vec<_>>(),
        })
    }

    /// Reads an envelope, or the one in a bundle.
    ///
    /// # Errors
    /// The bytes are neither, or could be read in two ways.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() > BYTES_MAX {
            return Err(Refusal::TooLarge);
        }
        let document = document(bytes, "the file")?;
        let envelope = match document.get("mediaType") {
            None => &document,
            Some(media) if media == BUNDLE_TYPE => {
                document.get("dsseEnvelope").ok_or_else(|| {
                    Refusal::NotAnEnvelope("the bundle has no `dsseEnvelope`".to_owned())
                })?
            }
            Some(Value::String(media)) if media.starts_with(ANY_BUNDLE) => {
                return Err(Refusal::NotAnEnvelope(format!(
                    "it is a bundle of type `{}`, and only `{BUNDLE_TYPE}` is read",
                    cut(media)
                )));
            }
            Some(_) => {
                return Err(Refusal::NotAnEnvelope(
                    "its `mediaType` is unknown".to_owned(),
                ));
            }
        };
        Self::of_value(envelope)
    }

    fn of_value(envelope: &Value) -> Result<Self, Refusal> {
        let text = |value: &Value, name: &str| match value.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(Refusal::NotAnEnvelope(format!("`{name}` is missing"))),
        };
        let bytes = |value: &Value, name: &str| {
            let text = text(value, name)?;
            STANDARD
                .decode(text)
                .map_err(|_| Refusal::NotAnEnvelope(format!("`{name}` is not Base64")))
        };
        let Some(Value::Array(listed)) = envelope.get("signatures") else {
            return Err(Refusal::NotAnEnvelope("`signatures` is missing".to_owned()));
        };
        if listed.len() > SIGNATURES_MAX {
            return Err(Refusal::TooManySignatures(listed.len()));
        }
        let mut signatures = Vec::new();
        for one in listed {
            signatures.push(Signature {
                // Left out, it names no key.
                key: match one.get("keyid") {
                    None => String::new(),
                    Some(_) => text(one, "keyid")?,
                },
                bytes: bytes(one, "sig")?,
            });
        }
        Ok(Self {
            payload_type: text(envelope, "payloadType")?,
            payload: bytes(envelope, "payload")?,
            signatures,
        })
    }
}

/// Parses JSON that every reader reads alike.
pub(crate) fn document(bytes: &[u8], what: &'static str) -> Result<Value, Refusal> {
    let parsed = interlock_json::parse(bytes).map_err(|error| Refusal::NotJson {
        what,
        why: error.to_string(),
    })?;
    match parsed.duplicates.into_iter().next() {
        Some(key) => Err(Refusal::DuplicateKey {
            what,
            key: cut(&key),
        }),
        None => Ok(parsed.value),
    }
}

/// Characters of foreign text in a message.
const SHOWN_MAX: usize = 120;

/// Shortens foreign text for a message.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}
