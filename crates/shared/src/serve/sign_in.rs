//! Answers those who have no token yet: where they sign in, and the exchange of an ID token.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{StatusCode, request::Parts},
};
use interlock_core::names::RunId;
use interlock_fleet::{IssuerLine, Issuers, JobBody, SignInBody, SignedIn};
use interlock_store::{ChainHash, record};

use super::{
    handle::{Handled, json_body, parsed, query, reading},
    page_sign_in,
    problem::{Problem, json},
    routes::Operation,
    state::ServerState,
};
use crate::{
    doctor::now_ms,
    sign_in::{Claimed, Exchange, Flaw, IssuerAway, Jwt, Proof},
    tenant::Tenant,
    tokens::Role,
};

/// Maximum size of a body in bytes.
const BODY_BYTES_MAX: usize = 32 * 1024;
/// The longest secret of a nonce.
pub(super) const SECRET_BYTES_MAX: usize = 256;

/// Handles a request that needs no token.
pub(crate) async fn handle(
    state: &Arc<ServerState>,
    operation: Operation,
    parts: &Parts,
    body: Body,
) -> Handled {
    if operation == Operation::Issuers {
        let tenant = query(parts, &["tenant"])?.pop().flatten();
        return json(&issuers(state, tenant.as_deref().unwrap_or_default()));
    }
    let body = json_body(&parts.headers, body, (BODY_BYTES_MAX, "32 KiB")).await?;
    match operation {
        Operation::PageSignIn => {
            return page_sign_in::address(state, &parts.headers, &parsed(&body)?).await;
        }
        Operation::SignInCode => {
            return page_sign_in::code(state, &parts.headers, &parsed(&body)?).await;
        }
        _ => {}
    }
    if operation == Operation::SignIn {
        let body: SignInBody = parsed(&body)?;
        let secret = body.nonce_secret.as_deref();
        if secret.is_some_and(|secret| secret.len() > SECRET_BYTES_MAX) {
            return Err(Problem::input(
                "the secret of a nonce has at most 256 bytes",
            ));
        }
        let proof = secret.map_or(Proof::Device, Proof::Nonce);
        let asked = (Role::Person, body.tenant.as_str(), None);
        return exchange(state, asked, &body.id_token, proof).await;
    }
    let body: JobBody = parsed(&body)?;
    if let Some(run) = &body.run {
        record::check_run_id(&RunId::new(run)).map_err(|_| Problem::no_run())?;
    }
    let asked = (Role::Worker, body.tenant.as_str(), body.run.clone());
    exchange(state, asked, &body.id_token, Proof::Job).await
}

fn issuers(state: &ServerState, tenant: &str) -> Issuers {
    let entries = state.sign_in.entries.iter();
    let own = entries.filter(|entry| entry.role == Role::Person && entry.tenant.as_str() == tenant);
    Issuers {
        issuers: own
            .map(|entry| IssuerLine {
                issuer: entry.issuer.clone(),
                client_id: entry.audience.clone(),
                scope: entry.scope.clone(),
                device: entry.device,
                minutes: entry.minutes,
            })
            .collect(),
    }
}

/// Exchanges an ID token for a token of the server.
pub(super) async fn exchange(
    state: &Arc<ServerState>,
    (role, tenant, run): (Role, &str, Option<String>),
    id_token: &str,
    proof: Proof<'_>,
) -> Handled {
    // An unknown tenant has no issuer, either.
    let tenant = Tenant::new(tenant).map_err(|_| Flaw::OtherIssuer)?;
    let token = Jwt::parse(id_token)?;
    let issuer = token.issuer().ok_or(Flaw::OtherIssuer)?;
    let mut entries = state.sign_in.of(role, &tenant, issuer).peekable();
    if entries.peek().is_none() {
        return Err(Flaw::OtherIssuer.into());
    }
    let keys = state.keys.of(issuer, token.key_id()).await?;
    let claims = token.verify(&keys)?;
    let now_s = i64::try_from(now_ms() / 1_000).unwrap_or(i64::MAX);
    let mut accepted = Err(Flaw::OtherIssuer);
    for entry in entries {
        accepted = Claimed::check(claims, entry, proof, now_s).map(|claimed| (entry, claimed));
        if accepted.is_ok() {
            break;
        }
    }
    let (entry, claimed) = accepted?;
    let used = match &claimed.token_id {
        Some(id) => ChainHash::of_parts(&[b"interlock jti", id.as_bytes()]),
        None => token.digest(),
    };
    let exchange = Exchange {
        role,
        issuer: issuer.to_owned(),
        person: claimed.person,
        subject: claimed.subject,
        groups: claimed.groups.clone(),
        used,
        expires_s: claimed.expires_s,
        minutes: entry.minutes,
        run: run.clone(),
    };
    let exchanged = reading(state, move |state| {
        let database = state.database.for_tenant(tenant);
        database.exchange(exchange)?.map_err(Problem::from)
    });
    let exchanged = exchanged.await?;
    json(&SignedIn {
        token: exchanged.token,
        id: exchanged.id,
        role: role.as_str().to_owned(),
        subject: exchanged.subject,
        groups: claimed.groups,
        run,
        expires_ms: exchanged.expires_ms,
    })
}

impl From<Flaw> for Problem {
    fn from(flaw: Flaw) -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "sign_in_refused",
            format!("the ID token is refused: {flaw}"),
        )
    }
}

impl From<IssuerAway> for Problem {
    fn from(away: IssuerAway) -> Self {
        Self::unavailable(
            "issuer_away",
            &format!("the issuer's keys cannot be read ({away}): try again"),
        )
    }
}
