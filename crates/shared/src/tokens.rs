//! Tokens of the server: who may send what, for how long. Only the hash of a token is stored.

use std::{fmt, hint::black_box};

use interlock_core::command::AGENT;
use interlock_store::{ChainHash, random_word};
use serde::{Deserialize, Serialize};

use crate::{
    database::{Database, Value},
    error::SharedError,
    rows::Found,
    tenant::Tenant,
};

/// The first letters of every token.
const PREFIX: &str = "ils_";
/// Number of digits of an id, which is not secret.
const ID_DIGITS: usize = 16;
/// Number of digits of the secret part: 32 random bytes.
const SECRET_DIGITS: usize = 64;
/// The longest name of a subject.
const SUBJECT_CHARS_MAX: usize = 100;
/// The longest validity of a token in days.
pub const DAYS_MAX: u64 = 366;

/// What the holder of a token may do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An agent's machine: reports calls and asks for transitions. It never answers and starts no runs.
    Agent,
    /// A person: starts runs, answers requests, pauses, resumes and cancels.
    Person,
    /// A CI job or another program: starts runs, and otherwise acts as an agent.
    Worker,
}

impl Role {
    /// Returns the word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Worker => "worker",
        }
    }

    /// Parses the word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Agent, Self::Person, Self::Worker]
            .into_iter()
            .find(|role| role.as_str() == word)
    }

    /// Returns whether its holder does the work of runs, which other people approve.
    #[must_use]
    pub const fn drives(self) -> bool {
        matches!(self, Self::Agent | Self::Worker)
    }
}

/// A token as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenCard {
    /// Its id, which is also a part of the token.
    pub id: String,
    /// What its holder may do.
    pub role: Role,
    /// Who is responsible for what is sent with it.
    pub subject: String,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: u64,
    /// Whether it is `valid`, `expired` or `revoked`.
    pub status: String,
}

/// The holder of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) tenant: Tenant,
    pub(crate) role: Role,
    pub(crate) subject: String,
    /// When the token expires, by the clock of the database.
    pub(crate) expires_ms: u64,
    /// The groups that the issuer of a person or a job has named.
    pub(crate) groups: Vec<String>,
    /// The only run that the token is for; `None`: any run of the tenant.
    pub(crate) one_run: Option<OneRun>,
}

/// The limit of a token that is for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OneRun {
    /// The id of the token.
    pub(crate) token: String,
    /// The run; `None`: the one that it starts first.
    pub(crate) run: Option<String>,
}

/// A person or a program, with the groups that the issuer of its token has named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) subject: String,
    pub(crate) groups: Vec<String>,
}

impl Identity {
    /// Returns whether the token is for `run`.
    pub(crate) fn is_for(&self, run: &str) -> bool {
        (self.one_run.as_ref()).is_none_or(|one| one.run.as_deref() == Some(run))
    }

    /// Returns the person or the program, for a policy.
    pub(crate) fn member(&self) -> Member {
        Member {
            subject: self.subject.clone(),
            groups: self.groups.clone(),
        }
    }
}

/// A token as it was sent. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bearer {
    tenant: Tenant,
    id: String,
    hash: ChainHash,
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").finish_non_exhaustive()
    }
}

impl Bearer {
    /// Parses a token; `None` if it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (tenant, rest) = text.strip_prefix(PREFIX)?.split_once('.')?;
        let (id, secret) = rest.split_once('.')?;
        let is_hex = |text: &str, digits: usize| {
            let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            text.len() == digits && text.bytes().all(digit)
        };
        if !is_hex(id, ID_DIGITS) || !is_hex(secret, SECRET_DIGITS) {
            return None;
        }
        Some(Self {
            tenant: Tenant::new(tenant).ok()?,
            id: id.to_owned(),
            hash: hash_of(text),
        })
    }

    /// Returns the hash under which the result of a look-up may be kept.
    pub(crate) const fn hash(&self) -> ChainHash {
        self.hash
    }
}

/// A token with its id and its hash.
pub(crate) struct NewToken {
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) hash: Vec<u8>,
}

/// Returns whether `text` can name whoever is responsible for what is sent.
///
/// Two spellings of one name would be two people, one of whom approves what the other has done.
pub(crate) fn is_subject(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._@+-".contains(c);
    let fits = (1..=SUBJECT_CHARS_MAX).contains(&text.len());
    fits && text.chars().all(is_plain) && text != AGENT
}

fn hash_of(token: &str) -> ChainHash {
    ChainHash::of_parts(&[b"interlock token", token.as_bytes()])
}

/// Compares without a hint at where they differ.
fn is_same(stored: &[u8], shown: &[u8]) -> bool {
    let differences = stored.iter().zip(shown).map(|(a, b)| a ^ b);
    let all = differences.fold(0, |all, one| black_box(all | one));
    stored.len() == shown.len() && all == 0
}

impl Database {
    /// Makes a token for `subject` that is valid for `days`, and returns its id and the token, which cannot be read again.
    ///
    /// # Errors
    /// The subject or the number of days is not acceptable, the tenant does not exist, or the database cannot be written.
    pub fn make_token(
        &self,
        role: Role,
        subject: &str,
        days: u64,
    ) -> Result<(String, String), SharedError> {
        if !is_subject(subject) {
            return Err(SharedError::BadToken {
                what: "a subject is a name of at most 100 small letters, digits and `._@+-`, and not `agent`",
            });
        }
        if !(1..=DAYS_MAX).contains(&days) {
            return Err(SharedError::BadToken {
                what: "a token is valid for 1 to 366 days",
            });
        }
        let NewToken { id, token, hash } = self.new_token()?;
        let made = self.select(
            "INSERT INTO interlock.tokens (tenant, id, hash, role, subject, expires_at) \
             SELECT $1, $2, $3, $4, $5, now() + make_interval(days => $6::bigint::int) \
             FROM interlock.tenants WHERE tenant = $1 RETURNING 1",
            vec![
                self.tenant().as_str().into(),
                id.as_str().into(),
                hash.into(),
                role.as_str().into(),
                subject.into(),
                days.into(),
            ],
        )?;
        if made.is_empty() {
            return Err(SharedError::NoTenant {
                place: self.place().to_owned(),
                tenant: self.tenant().clone(),
            });
        }
        Ok((id, token))
    }

    /// Makes up a token, which is not stored yet.
    pub(crate) fn new_token(&self) -> Result<NewToken, SharedError> {
        let word = || {
            random_word().map_err(|error| SharedError::Failed {
                place: self.place().to_owned(),
                what: error.to_string(),
            })
        };
        let id: String = word()?.chars().take(ID_DIGITS).collect();
        let token = format!("{PREFIX}{}.{id}.{}{}", self.tenant(), word()?, word()?);
        let hash = hash_of(&token).as_bytes().to_vec();
        Ok(NewToken { id, token, hash })
    }

    /// Lists the tokens of the tenant, the newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn tokens(&self) -> Result<Vec<TokenCard>, SharedError> {
        let found = self.select(
            "SELECT id, role, subject, (extract(epoch FROM made_at) * 1000)::bigint, \
             (extract(epoch FROM expires_at) * 1000)::bigint, \
             CASE WHEN revoked_at IS NOT NULL THEN 'revoked' \
             WHEN expires_at <= now() THEN 'expired' ELSE 'valid' END \
             FROM interlock.tokens WHERE tenant = $1 ORDER BY made_at DESC, id",
            vec![self.tenant().as_str().into()],
        )?;
        let card = |row| {
            let found = Found::new(self, row);
            Ok(TokenCard {
                id: found.get(0)?,
                role: role(&found, 1)?,
                subject: found.get(2)?,
                made_ms: found.number(3)?,
                expires_ms: found.number(4)?,
                status: found.get(5)?,
            })
        };
        found.into_iter().map(card).collect()
    }

    /// Revokes a token; `false` if there is none with this id.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn revoke_token(&self, id: &str) -> Result<bool, SharedError> {
        let found = self.select(
            "UPDATE interlock.tokens SET revoked_at = coalesce(revoked_at, now()) \
             WHERE tenant = $1 AND id = $2 RETURNING 1",
            vec![self.tenant().as_str().into(), id.into()],
        )?;
        Ok(!found.is_empty())
    }

    /// Returns the holder of a token; `None` if it is unknown, expired or revoked.
    ///
    /// The tenant is set for one transaction, so that a made-up tenant costs no connection.
    pub(crate) fn holder_of(&self, bearer: &Bearer) -> Result<Option<Identity>, SharedError> {
        let shown = bearer.clone();
        let rows = self.read(move |leased| async move {
            let tenant: Value = shown.tenant.as_str().into();
            leased
                .query(
                    "SELECT set_config('interlock.tenant', $1, true)",
                    std::slice::from_ref(&tenant),
                )
                .await?;
            leased
                .query(
                    "SELECT hash, role, subject, (extract(epoch FROM expires_at) * 1000)::bigint, \
                     groups, one_run, run FROM interlock.tokens WHERE tenant = $1 AND id = $2 \
                     AND revoked_at IS NULL AND expires_at > now()",
                    &[tenant, shown.id.as_str().into()],
                )
                .await
        })?;
        let Some(row) = rows.into_iter().next() else {
            return Ok(None);
        };
        let found = Found::new(self, row);
        let stored: Vec<u8> = found.get(0)?;
        if !is_same(&stored, bearer.hash.as_bytes()) {
            return Ok(None);
        }
        let groups: String = found.get(4)?;
        let (one_run, run): (bool, Option<String>) = (found.get(5)?, found.get(6)?);
        let token = bearer.id.clone();
        Ok(Some(Identity {
            tenant: bearer.tenant.clone(),
            groups: groups.split_whitespace().map(str::to_owned).collect(),
            one_run: one_run.then_some(OneRun { token, run }),
            role: role(&found, 1)?,
            subject: found.get(2)?,
            expires_ms: found.number(3)?,
        }))
    }
}

fn role(found: &Found<'_>, at: usize) -> Result<Role, SharedError> {
    let word: String = found.get(at)?;
    Role::from_word(&word).ok_or_else(|| found.wrong("an unknown role"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    fn token(tenant: &str, id: &str, secret: &str) -> String {
        format!("{PREFIX}{tenant}.{id}.{secret}")
    }

    #[test]
    fn only_a_whole_token_is_one() {
        let (id, secret) = ("0123456789abcdef", "a".repeat(SECRET_DIGITS));
        let whole = token("acme", id, &secret);
        let bearer = Bearer::parse(&whole).unwrap();
        assert_eq!(bearer.tenant.as_str(), "acme");
        assert!(!format!("{bearer:?}").contains(id));
        for other in [
            String::new(),
            "ils_".to_owned(),
            whole.replacen("ils_", "ilk_", 1),
            whole.to_uppercase(),
            format!("{whole}0"),
            format!("{whole} "),
            token("Acme", id, &secret),
            token("a' OR 1", id, &secret),
            token("acme", "0123", &secret),
            token("acme", id, &"g".repeat(SECRET_DIGITS)),
            token("acme", id, &"a".repeat(SECRET_DIGITS - 1)),
        ] {
            assert_eq!(Bearer::parse(&other), None, "{other}");
        }
    }

    #[test]
    fn hashes_are_the_same_only_if_every_byte_is() {
        assert!(is_same(b"abcd", b"abcd"));
        for other in [&b"abce"[..], b"bbcd", b"abc", b"abcde", b""] {
            assert!(!is_same(b"abcd", other), "{other:?}");
        }
    }
}
