//! JSON Web Tokens: their three parts, and whether one of an issuer's keys has signed them.
//!
//! Only what ID tokens use: RS256, PS256, ES256 and EdDSA in the compact form. The algorithm has to fit the kind of the
//! key, so that no public key is taken for a shared secret.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use interlock_store::ChainHash;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Map, Value};

use super::flaw::Flaw;

/// Maximum length of a token in bytes.
const BYTES_MAX: usize = 16 * 1024;
/// Maximum number of keys of an issuer.
const KEYS_MAX: usize = 64;

/// A signed token. Nothing of it is true before [`Jwt::verify`].
pub(crate) struct Jwt<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    claims: Map<String, Value>,
    /// The text that is signed.
    signed: &'t str,
    signature: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

impl Algorithm {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "RS256" => Self::Rs256,
            "PS256" => Self::Ps256,
            "ES256" => Self::Es256,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }
}

/// A public key of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    id: Option<String>,
    /// The only algorithm that it is for.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl<'t> Jwt<'t> {
    /// Reads the parts of a token.
    pub(crate) fn parse(text: &'t str) -> Result<Self, Flaw> {
        if text.len() > BYTES_MAX {
            return Err(Flaw::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Flaw::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Flaw::Malformed)?;
        let header = object(header)?;
        let word = |key: &str| match header.get(key) {
            None => Ok(None),
            Some(Value::String(word)) => Ok(Some(word.clone())),
            Some(_) => Err(Flaw::Malformed),
        };
        let algorithm = word("alg")?.ok_or(Flaw::Malformed)?;
        if algorithm.eq_ignore_ascii_case("none") {
            return Err(Flaw::Unsigned);
        }
        let algorithm = Algorithm::from_word(&algorithm).ok_or(Flaw::Algorithm)?;
        let is_jwt = word("typ")?.is_none_or(|kind| kind.eq_ignore_ascii_case("jwt"));
        if !is_jwt || header.contains_key("crit") {
            return Err(Flaw::OtherKind);
        }
        Ok(Self {
            algorithm,
            key_id: word("kid")?,
            claims: object(claims)?,
            signed,
            signature: bytes(signature).ok_or(Flaw::Malformed)?,
        })
    }

    /// Returns the issuer that the token names.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.claims.get("iss").and_then(Value::as_str)
    }

    /// Returns the id of the key that the token names.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Returns the claims, if one of `keys` has signed them.
    pub(crate) fn verify(&self, keys: &[Key]) -> Result<&Map<String, Value>, Flaw> {
        let fitting: Vec<&Key> = keys.iter().filter(|key| self.fits(key)).collect();
        // Without an id, there must be no choice.
        if fitting.is_empty() || self.key_id.is_none() && fitting.len() > 1 {
            return Err(Flaw::UnknownKey);
        }
        let is_signed = fitting.into_iter().any(|key| key.material.has_signed(self));
        is_signed.then_some(&self.claims).ok_or(Flaw::BadSignature)
    }

    fn fits(&self, key: &Key) -> bool {
        let is_kind = matches!(
            (self.algorithm, &key.material),
            (Algorithm::Rs256 | Algorithm::Ps256, Material::Rsa { .. })
                | (Algorithm::Es256, Material::P256(_))
                | (Algorithm::EdDsa, Material::Ed25519(_))
        );
        let is_for = |word: &str| Algorithm::from_word(word) == Some(self.algorithm);
        is_kind
            && key.algorithm.as_deref().is_none_or(is_for)
            && (self.key_id.is_none() || self.key_id == key.id)
    }

    /// Returns the digest of what is signed, which is the same whatever form the signature has.
    pub(crate) fn digest(&self) -> ChainHash {
        ChainHash::of_parts(&[b"interlock id token", self.signed.as_bytes()])
    }
}

impl Key {
    /// Returns whether this is the key with an id.
    pub(crate) fn is_named(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }
}

impl Material {
    fn has_signed(&self, token: &Jwt<'_>) -> bool {
        let (signed, signature) = (token.signed.as_bytes(), &token.signature[..]);
        let verified = match self {
            Self::Rsa { n, e } => {
                let parameters: &RsaParameters = match token.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature)
            }
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature)
            }
        };
        verified.is_ok()
    }
}

/// Reads the keys of a set; those that sign nothing here are left out.
///
/// Returns `None` if it is not a set of keys.
pub(crate) fn keys(set: &Value) -> Option<Vec<Key>> {
    let all = set.get("keys")?.as_array()?;
    Some(all.iter().take(KEYS_MAX).filter_map(key).collect())
}

fn key(of: &Value) -> Option<Key> {
    let word = |name: &str| of.get(name).and_then(Value::as_str);
    let part = |name: &str| word(name).and_then(bytes);
    let signs = word("use").is_none_or(|for_what| for_what == "sig");
    let verifies = of
        .get("key_ops")
        .and_then(Value::as_array)
        .is_none_or(|all| all.iter().any(|one| one.as_str() == Some("verify")));
    if !signs || !verifies {
        return None;
    }
    let material = match (word("kty")?, word("crv")) {
        ("RSA", _) => Material::Rsa {
            n: part("n")?,
            e: part("e")?,
        },
        ("EC", Some("P-256")) => {
            let (x, y) = (part("x")?, part("y")?);
            if (x.len(), y.len()) != (32, 32) {
                return None;
            }
            Material::P256([&[4], &x[..], &y[..]].concat())
        }
        ("OKP", Some("Ed25519")) => Material::Ed25519(part("x")?),
        _ => return None,
    };
    Some(Key {
        id: word("kid").map(str::to_owned),
        algorithm: word("alg").map(str::to_owned),
        material,
    })
}

/// Decodes base64url without padding.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

/// Encodes base64url without padding.
pub(crate) fn text(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a part as a JSON object in which each key occurs once.
fn object(part: &str) -> Result<Map<String, Value>, Flaw> {
    let json = bytes(part).ok_or(Flaw::Malformed)?;
    match interlock_json::parse_unique(&json) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Flaw::Malformed),
    }
}
