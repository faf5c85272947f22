//! The configuration of a server: which issuers it trusts, for which tenant, audience and claims.

use std::collections::BTreeMap;

use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use crate::{people::is_group, tenant::Tenant, tokens::Role};

/// The validity of a person's token in minutes, unless the configuration says another one.
const MINUTES: u64 = 480;
/// The longest validity of a person's token in minutes.
const MINUTES_MAX: u64 = 1_440;
/// The longest validity of a job's token in minutes.
const JOB_MINUTES_MAX: u64 = 60;

/// The issuers that a server trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignIn {
    pub(crate) entries: Vec<Entry>,
}

/// Why a text is not the configuration of issuers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSignIn(String);

/// An issuer, and what is accepted from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `Person`, or `Worker` for jobs.
    pub(crate) role: Role,
    pub(crate) tenant: Tenant,
    pub(crate) issuer: String,
    pub(crate) audience: String,
    /// What a client asks for, between spaces.
    pub(crate) scope: String,
    /// The claim with the name of whoever is responsible.
    pub(crate) name: String,
    /// Whether people may sign in without a browser on their machine.
    pub(crate) device: bool,
    pub(crate) minutes: u64,
    pub(crate) require: BTreeMap<String, Value>,
    pub(crate) groups: Vec<GroupRule>,
}

/// Whoever has `value` in `claim` is in `group`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupRule {
    pub(crate) claim: String,
    pub(crate) value: Value,
    pub(crate) group: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    people: Vec<PeopleEntry>,
    #[serde(default)]
    jobs: Vec<JobEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeopleEntry {
    tenant: String,
    issuer: String,
    client_id: String,
    #[serde(default = "scope")]
    scope: String,
    #[serde(default = "email")]
    name: String,
    #[serde(default)]
    device: bool,
    #[serde(default = "minutes")]
    minutes: u64,
    #[serde(default)]
    require: BTreeMap<String, Value>,
    #[serde(default)]
    groups: Vec<GroupRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobEntry {
    tenant: String,
    issuer: String,
    audience: String,
    name: String,
    #[serde(default = "job_minutes")]
    minutes: u64,
    require: BTreeMap<String, Value>,
    #[serde(default)]
    groups: Vec<GroupRule>,
}

fn scope() -> String {
    "openid email".to_owned()
}

fn email() -> String {
    "email".to_owned()
}

const fn minutes() -> u64 {
    MINUTES
}

const fn job_minutes() -> u64 {
    JOB_MINUTES_MAX
}

impl SignIn {
    /// Parses the text of a configuration file.
    ///
    /// # Errors
    /// The text is not TOML, has an unknown key, or trusts more than it may.
    pub fn parse(text: &str) -> Result<Self, BadSignIn> {
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or_else(String::new, |span| {
                let before = text.get(..span.start).unwrap_or_default();
                format!("line {}: ", before.matches('\n').count() + 1)
            });
            BadSignIn(format!("{at}{}", error.message()))
        })?;
        let people = file.people.into_iter().map(PeopleEntry::checked);
        let jobs = file.jobs.into_iter().map(JobEntry::checked);
        let entries = people.chain(jobs).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// Returns what is accepted from `issuer` in `tenant`.
    pub(crate) fn of<'a>(
        &'a self,
        role: Role,
        tenant: &'a Tenant,
        issuer: &'a str,
    ) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| {
            entry.role == role && entry.tenant == *tenant && entry.issuer == issuer
        })
    }
}

impl PeopleEntry {
    fn checked(self) -> Result<Entry, BadSignIn> {
        let is_openid = self.scope.split_whitespace().any(|one| one == "openid");
        if !is_openid {
            return Err(BadSignIn(
                "the `scope` of people has `openid` in it".to_owned(),
            ));
        }
        let entry = Entry {
            role: Role::Person,
            tenant: tenant(&self.tenant)?,
            issuer: self.issuer,
            audience: self.client_id,
            scope: self.scope,
            name: self.name,
            device: self.device,
            minutes: self.minutes,
            require: self.require,
            groups: self.groups,
        };
        entry.checked(MINUTES_MAX)
    }
}

impl JobEntry {
    fn checked(self) -> Result<Entry, BadSignIn> {
        // Everybody's jobs have tokens of such an issuer, for any audience.
        if self.require.is_empty() {
            return Err(BadSignIn(
                "`[[jobs]]` has no `require`: name the claims that only your own jobs have, such as `repository`".to_owned(),
            ));
        }
        let entry = Entry {
            role: Role::Worker,
            tenant: tenant(&self.tenant)?,
            issuer: self.issuer,
            audience: self.audience,
            scope: String::new(),
            name: self.name,
            device: false,
            minutes: self.minutes,
            require: self.require,
            groups: self.groups,
        };
        entry.checked(JOB_MINUTES_MAX)
    }
}

impl Entry {
    fn checked(self, minutes_max: u64) -> Result<Self, BadSignIn> {
        let bad = |what: String| Err(BadSignIn(what));
        let url = Url::parse(&self.issuer).ok().filter(|url| {
            let is_safe = url.scheme() == "https"
                || url.scheme() == "http" && interlock_http::is_loopback(url);
            is_safe && url.query().is_none() && url.fragment().is_none()
        });
        if url.is_none() {
            return bad(format!(
                "`{}` is no issuer: write `https://HOST` and perhaps a path, as its tokens have it in `iss`",
                self.issuer
            ));
        }
        if self.audience.is_empty() || self.name.is_empty() {
            return bad("an audience, a client or the name of a claim is empty".to_owned());
        }
        if !(1..=minutes_max).contains(&self.minutes) {
            return bad(format!(
                "`minutes` is 1 to {minutes_max} for tokens of this kind"
            ));
        }
        if let Some(rule) = self.groups.iter().find(|rule| !is_group(&rule.group)) {
            return bad(format!(
                "`{}` cannot name a group: use at most 63 small letters, digits, `-` and `_`",
                rule.group
            ));
        }
        Ok(self)
    }
}

fn tenant(text: &str) -> Result<Tenant, BadSignIn> {
    Tenant::new(text).map_err(|error| BadSignIn(error.to_string()))
}
