//! The bodies about people: policies, votes, and how a token is had from an issuer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A policy to load.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeopleBody {
    /// The text of the file, in TOML.
    pub text: String,
    /// The revision that it was written for; if another one holds, it is refused.
    pub after: u64,
}

/// The policy that holds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PeopleView {
    /// Its number, from 1; 0: none was loaded, and every person of the tenant starts and approves.
    pub revision: u64,
    /// The text of the file.
    pub text: String,
    /// Who has loaded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it was loaded, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// How far the approval of a request has come.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalView {
    /// The id of the request.
    pub request: String,
    /// The votes on it as it is now.
    pub votes: Vec<VoteLine>,
    /// The rules that are not met, each as a sentence.
    pub missing: Vec<String>,
}

/// The answer of one person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VoteLine {
    /// Who has answered.
    pub by: String,
    /// Whether they approve.
    pub yes: bool,
    /// Their note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The digest of the vote; that of all counted ones is in the event of the answer.
    pub digest: String,
}

/// Where the people of a tenant sign in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Issuers {
    /// The issuers; none: tokens are made by whoever administers the database.
    pub issuers: Vec<IssuerLine>,
}

/// An issuer of people.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct IssuerLine {
    /// Its URL.
    pub issuer: String,
    /// The client that this server is there.
    pub client_id: String,
    /// What a client asks for, between spaces.
    pub scope: String,
    /// Whether its people may sign in without a browser on their machine.
    pub device: bool,
    /// For how many minutes a token of the server is valid.
    pub minutes: u64,
}

/// A person who has signed in at an issuer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInBody {
    /// The tenant.
    pub tenant: String,
    /// The ID token.
    pub id_token: String,
    /// The secret whose SHA-256, in base64url, is the `nonce` of the token; none if the token was had without a browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce_secret: Option<String>,
}

/// A CI job with a token of its issuer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBody {
    /// The tenant.
    pub tenant: String,
    /// The ID token.
    pub id_token: String,
    /// The run that the token is for; without it, the one that the job starts with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A token of the server.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignedIn {
    /// The token, which cannot be read again.
    pub token: String,
    /// Its id.
    pub id: String,
    /// `person` or `worker`.
    pub role: String,
    /// Who is responsible for what is sent with it.
    pub subject: String,
    /// The groups that the issuer has named.
    pub groups: Vec<String>,
    /// The run that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: u64,
}
