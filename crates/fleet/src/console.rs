//! The bodies that the team's console needs beside those of machines: what is asked of a person, in words.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The holder of a token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    /// The tenant.
    pub tenant: String,
    /// `agent`, `person` or `worker`.
    pub role: String,
    /// Who is responsible for what is sent with it.
    pub subject: String,
    /// The groups that the issuer has named.
    pub groups: Vec<String>,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: u64,
    /// What its holder may do in runs of others: `start`, `approve`, `administer`.
    pub may: Vec<String>,
}

/// What an event says, for people.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// The name of the event.
    pub title: String,
    /// What there is to know of it; empty: the title says all.
    pub detail: String,
    /// How much a person should look at it: `routine`, `notable` or `alarming`.
    pub level: String,
}

/// What a yes to a request means, for people.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AskedView {
    /// The id of the request.
    pub request: String,
    /// `approval` for a transition or the entry of a state, `grant` for a call.
    pub kind: String,
    /// One line: `SHIP: draft -> shipped`.
    pub headline: String,
    /// What is asked, line by line. Characters that would steer a terminal or a page are replaced by their codes.
    pub rows: Vec<AskedRow>,
    /// Who asks.
    pub by: String,
    /// When it was asked, in milliseconds since 1970.
    pub asked_ms: u64,
    /// Whether only a passkey says yes, which this API does not take.
    pub passkey: bool,
}

/// A line of what is asked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AskedRow {
    /// Its label; empty if it continues the line before.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether it is a reason not to approve.
    pub warns: bool,
}

/// Evidence that a guard reads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceView {
    /// The command or the tool, how it ended, and whether that still counts.
    pub text: String,
    /// Whether it holds now.
    pub holds: bool,
    /// The number of the event of the call; none if no such call was seen.
    pub seq: Option<u64>,
}

/// The graph of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunGraph {
    /// The number of events that the marks are of.
    pub seq: u64,
    /// What is drawn, which stays the same as long as the run keeps its workflow.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub scene: Value,
    /// Where the run stands, and which way it took.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub marks: Value,
}

/// The signed heads of the audit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditHeads {
    /// The newest ones, the newest first.
    pub heads: Vec<AuditHeadView>,
}

/// A signed head of the audit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditHeadView {
    /// The number of entries.
    pub entries: u64,
    /// The hash of the last one.
    pub hash: String,
    /// When it was signed, in milliseconds since 1970.
    pub at_ms: u64,
    /// The id of the key.
    pub key: String,
}

/// A page that wants to have a person sign in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageSignIn {
    /// The tenant.
    pub tenant: String,
    /// The issuer: `issuer` of `GET /v1/sign-in`.
    pub issuer: String,
    /// A random word that the issuer sends back.
    pub state: String,
    /// The SHA-256 of a secret, in base64url, which becomes the `nonce` of the ID token.
    pub nonce: String,
    /// The SHA-256 of the PKCE verifier, in base64url.
    pub challenge: String,
}

/// Where a page sends a person to sign in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignInAddress {
    /// The address at the issuer, which sends the person back to the first page of this server.
    pub url: String,
}

/// The code with which an issuer has sent a person back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeBody {
    /// The tenant.
    pub tenant: String,
    /// The issuer.
    pub issuer: String,
    /// The code.
    pub code: String,
    /// The PKCE verifier.
    pub verifier: String,
    /// The secret of the `nonce`.
    pub nonce_secret: String,
}
