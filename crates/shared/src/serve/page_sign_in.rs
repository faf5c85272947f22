//! Signing in on the page: the address at the issuer, and the exchange of the code that it sends back.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use interlock_core::visible::visible;
use interlock_fleet::{CodeBody, PageSignIn, SignInAddress};
use reqwest::Url;

use super::{
    handle::{Handled, one},
    problem::{Problem, json},
    sign_in::{SECRET_BYTES_MAX, exchange},
    state::ServerState,
};
use crate::{
    sign_in::{Asked, Entry, Flaw, NoToken, Proof},
    tokens::Role,
};

/// The longest code of an issuer.
const CODE_BYTES_MAX: usize = 8 * 1024;
/// Number of characters of an issuer's own words in a message.
const SHOWN_MAX: usize = 200;

/// Responds with the address at which a person signs in.
pub(super) async fn address(
    state: &Arc<ServerState>,
    headers: &HeaderMap,
    body: &PageSignIn,
) -> Handled {
    for word in [&body.state, &body.nonce, &body.challenge] {
        check(word, SECRET_BYTES_MAX)?;
    }
    let entry = entry(state, &body.tenant, &body.issuer)?;
    let asked = Asked {
        state: &body.state,
        nonce: &body.nonce,
        challenge: &body.challenge,
    };
    let back = back(headers)?;
    let url = state.keys.authorization(entry, &back, asked).await?;
    json(&SignInAddress { url })
}

/// Has the issuer exchange the code, and exchanges its ID token for a token of the server.
pub(super) async fn code(
    state: &Arc<ServerState>,
    headers: &HeaderMap,
    body: &CodeBody,
) -> Handled {
    check(&body.verifier, SECRET_BYTES_MAX)?;
    check(&body.nonce_secret, SECRET_BYTES_MAX)?;
    check(&body.code, CODE_BYTES_MAX)?;
    let entry = entry(state, &body.tenant, &body.issuer)?;
    let back = back(headers)?;
    let permit = state.exchanging.try_acquire();
    let permit = permit.map_err(|_| Problem::busy("too many people sign in at once"))?;
    let token = state
        .keys
        .id_token(entry, &back, (&body.code, &body.verifier));
    let token = token.await.map_err(|error| match error {
        NoToken::Away(away) => Problem::from(away),
        NoToken::Refused(why) => {
            let why: String = visible(&why).chars().take(SHOWN_MAX).collect();
            let message = format!("the issuer signs nobody in ({why}): sign in again");
            Problem::new(StatusCode::UNAUTHORIZED, "sign_in_refused", message)
        }
    })?;
    drop(permit);
    let asked = (Role::Person, body.tenant.as_str(), None);
    exchange(state, asked, &token, Proof::Nonce(&body.nonce_secret)).await
}

fn check(word: &str, max: usize) -> Result<(), Problem> {
    let fits = (1..=max).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(())
        .ok_or_else(|| Problem::input("a secret or a code of a sign-in is empty, or too long"))
}

/// Returns the entry of an issuer of people.
fn entry<'s>(state: &'s ServerState, tenant: &str, issuer: &str) -> Result<&'s Entry, Problem> {
    let is_it = |entry: &&Entry| {
        entry.role == Role::Person && entry.tenant.as_str() == tenant && entry.issuer == issuer
    };
    let found = state.sign_in.entries.iter().find(is_it);
    found.ok_or_else(|| Flaw::OtherIssuer.into())
}

/// Returns the address that an issuer sends a person back to: the first page of the server, as the browser calls it.
///
/// The issuer compares it with those that were registered for its client.
fn back(headers: &HeaderMap) -> Result<String, Problem> {
    let refused = || {
        Problem::input(
            "only the page of this server signs in here, over `https` or on the machine of the server",
        )
    };
    let origin = one(headers, &header::ORIGIN).ok_or_else(refused)?;
    let url = Url::parse(origin).map_err(|_| refused())?;
    let is_safe = url.scheme() == "https" || interlock_http::is_loopback(&url);
    // Nothing but a scheme, a host and a port.
    let is_origin = url.origin().ascii_serialization() == origin;
    if !is_safe || !is_origin {
        return Err(refused());
    }
    Ok(format!("{origin}/"))
}
