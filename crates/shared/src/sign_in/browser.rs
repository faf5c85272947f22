//! Signing in with the browser that shows the console: an authorization code with PKCE, exchanged by the server.
//!
//! The page makes the secrets and keeps them: the server gets the verifier only with the code, and stores neither.

use serde_json::Value;

use super::{
    config::Entry,
    keys::{IssuerAway, Keys},
};

/// What a page has made for one sign-in, as the issuer sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) state: &'a str,
    pub(crate) nonce: &'a str,
    pub(crate) challenge: &'a str,
}

/// Why a code gave no ID token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoToken {
    /// The issuer cannot be reached.
    Away(IssuerAway),
    /// The issuer refuses the code, in its own words.
    Refused(String),
}

impl From<IssuerAway> for NoToken {
    fn from(away: IssuerAway) -> Self {
        Self::Away(away)
    }
}

impl Keys {
    /// Returns the address at which a person signs in and is sent back to `back`.
    pub(crate) async fn authorization(
        &self,
        entry: &Entry,
        back: &str,
        asked: Asked<'_>,
    ) -> Result<String, IssuerAway> {
        let endpoint = self.endpoint(&entry.issuer, "authorization_endpoint");
        let mut url = endpoint.await?;
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", entry.audience.as_str()),
            ("redirect_uri", back),
            ("scope", entry.scope.as_str()),
            ("state", asked.state),
            ("nonce", asked.nonce),
            ("code_challenge", asked.challenge),
            ("code_challenge_method", "S256"),
        ]);
        Ok(url.into())
    }

    /// Has an issuer exchange a code for an ID token.
    pub(crate) async fn id_token(
        &self,
        entry: &Entry,
        back: &str,
        (code, verifier): (&str, &str),
    ) -> Result<String, NoToken> {
        let endpoint = self.endpoint(&entry.issuer, "token_endpoint").await?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", back),
            ("client_id", entry.audience.as_str()),
            ("code_verifier", verifier),
        ];
        let answer = self.post(endpoint, &fields).await?;
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        let token = text("id_token").map(str::to_owned);
        token.ok_or_else(|| {
            let why = text("error_description").or_else(|| text("error"));
            NoToken::Refused(why.unwrap_or("its answer has no ID token").to_owned())
        })
    }
}
