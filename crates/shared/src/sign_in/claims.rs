//! What the claims of a verified token say, and whether the server's configuration accepts it.

use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

use super::{config::Entry, flaw::Flaw, jwt};
use crate::{people::is_person, tokens::Role};

/// How far the clocks of an issuer and of this server may differ, in seconds.
const LEEWAY_S: i64 = 60;
/// How old the token of a person may be, in seconds.
const AGE_MAX_S: i64 = 600;
/// The longest id of a person.
const PERSON_BYTES_MAX: usize = 255;

/// Shows that whoever sends a token has asked for it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof<'a> {
    /// The secret that the `nonce` is made of.
    Nonce(&'a str),
    /// None: the token was had without a browser.
    Device,
    /// None: the token is a job's.
    Job,
}

/// Whom a token is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// The issuer's own id of the person or the job.
    pub(crate) person: String,
    pub(crate) subject: String,
    pub(crate) groups: Vec<String>,
    /// The id of the token, if it has one.
    pub(crate) token_id: Option<String>,
    /// When it expires, in seconds since 1970.
    pub(crate) expires_s: i64,
}

impl Claimed {
    /// Checks the claims against `entry`.
    pub(crate) fn check(
        claims: &Map<String, Value>,
        entry: &Entry,
        proof: Proof<'_>,
        now_s: i64,
    ) -> Result<Self, Flaw> {
        if word(claims, "iss")? != entry.issuer {
            return Err(Flaw::OtherIssuer);
        }
        check_audience(claims, entry)?;
        let expires_s = check_time(claims, entry, now_s)?;
        check_nonce(claims, entry, proof)?;
        for (claim, value) in &entry.require {
            if !has(claims, claim, value) {
                return Err(Flaw::Required(claim.clone()));
            }
        }
        // Whoever may choose an address could choose another person's.
        let is_address = entry.role == Role::Person && entry.name == "email";
        if is_address && claims.get("email_verified") != Some(&Value::Bool(true)) {
            return Err(Flaw::Required("email_verified".to_owned()));
        }
        let person = word(claims, "sub")?;
        if person.is_empty() || person.len() > PERSON_BYTES_MAX || person.contains('\0') {
            return Err(Flaw::Claim("sub".to_owned()));
        }
        // The case of a name distinguishes nobody.
        let subject = word(claims, &entry.name)?.to_lowercase();
        if !is_person(&subject) {
            return Err(Flaw::Name(entry.name.clone()));
        }
        let groups = entry.groups.iter();
        let mut groups: Vec<String> = groups
            .filter(|rule| has(claims, &rule.claim, &rule.value))
            .map(|rule| rule.group.clone())
            .collect();
        groups.sort_unstable();
        groups.dedup();
        Ok(Self {
            person: person.to_owned(),
            subject,
            groups,
            token_id: match claims.get("jti") {
                None => None,
                Some(_) => Some(word(claims, "jti")?.to_owned()),
            },
            expires_s,
        })
    }
}

fn word<'c>(claims: &'c Map<String, Value>, name: &str) -> Result<&'c str, Flaw> {
    let found = claims.get(name).and_then(Value::as_str);
    found.ok_or_else(|| Flaw::Claim(name.to_owned()))
}

/// Reads a time; a number that is written as text is none.
fn seconds(claims: &Map<String, Value>, name: &str) -> Result<Option<i64>, Flaw> {
    let Some(found) = claims.get(name) else {
        return Ok(None);
    };
    let whole = found.as_i64().or_else(|| {
        let text = found.as_number()?.to_string();
        text.split_once('.')?.0.parse().ok()
    });
    let time = whole.filter(|time| (0..=100_000_000_000).contains(time));
    time.map(Some).ok_or_else(|| Flaw::Claim(name.to_owned()))
}

fn check_audience(claims: &Map<String, Value>, entry: &Entry) -> Result<(), Flaw> {
    let own = Value::String(entry.audience.clone());
    let party = claims.get("azp");
    let is_ours = match claims.get("aud") {
        // One of several audiences is meant only if the token says that it is the one who asked.
        Some(Value::Array(all)) => all.contains(&own) && (all.len() == 1 || party.is_some()),
        Some(one) => *one == own,
        None => false,
    };
    if !is_ours || party.is_some_and(|party| *party != own) {
        return Err(Flaw::OtherAudience);
    }
    Ok(())
}

fn check_time(claims: &Map<String, Value>, entry: &Entry, now_s: i64) -> Result<i64, Flaw> {
    let required = |name: &str| seconds(claims, name)?.ok_or_else(|| Flaw::Claim(name.to_owned()));
    let (expires, issued) = (required("exp")?, required("iat")?);
    let begins = seconds(claims, "nbf")?.unwrap_or(issued).max(issued);
    if begins > now_s + LEEWAY_S {
        return Err(Flaw::Early((begins - now_s).unsigned_abs()));
    }
    if expires <= now_s - LEEWAY_S {
        return Err(Flaw::Expired((now_s - expires).unsigned_abs()));
    }
    if entry.role == Role::Person && issued < now_s - AGE_MAX_S {
        return Err(Flaw::Old((now_s - issued).unsigned_abs()));
    }
    Ok(expires)
}

/// A token that has a nonce is of use only to whoever knows the secret that it was made of.
fn check_nonce(claims: &Map<String, Value>, entry: &Entry, proof: Proof<'_>) -> Result<(), Flaw> {
    match (claims.get("nonce"), proof) {
        (Some(nonce), Proof::Nonce(secret)) => (*nonce == Value::String(nonce_of(secret)))
            .then_some(())
            .ok_or(Flaw::OtherNonce),
        (None, Proof::Device) if entry.device => Ok(()),
        (None, Proof::Device) => Err(Flaw::NoNonce),
        (None, Proof::Job) => Ok(()),
        (Some(_), Proof::Device | Proof::Job) | (None, Proof::Nonce(_)) => Err(Flaw::OtherNonce),
    }
}

/// Returns the nonce that is made of a secret.
pub(crate) fn nonce_of(secret: &str) -> String {
    jwt::text(digest(&SHA256, secret.as_bytes()).as_ref())
}

/// Returns whether a claim is `value`, or a list that has it.
fn has(claims: &Map<String, Value>, name: &str, value: &Value) -> bool {
    match claims.get(name) {
        Some(Value::Array(all)) => all.contains(value),
        Some(one) => one == value,
        None => false,
    }
}
