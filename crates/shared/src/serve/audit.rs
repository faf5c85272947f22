//! Sends what happened in a tenant, part by part, as it is exported to a file.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::stream;
use interlock_core::names::RunId;
use interlock_fleet::{AuditHeadView, AuditHeads};

use super::{handle::reading, problem::Problem, state::ServerState};
use crate::{
    audit::{AuditError, AuditExport, AuditFrom},
    tokens::{Identity, Role},
};

/// The form of the lines.
pub(crate) const FORM: &str = "application/x-ndjson";

/// Responds with the entries from a number on, for a person.
///
/// If it fails half way, the connection ends without the signed head, so that nobody takes a part for the whole.
pub(crate) async fn respond(
    state: &Arc<ServerState>,
    identity: &Identity,
    (from, run): (u64, Option<RunId>),
) -> Result<Response, Problem> {
    if identity.role != Role::Person {
        return Err(Problem::role("only the token of a person reads the audit"));
    }
    let tenant = identity.tenant.clone();
    // Signing may take long: whoever waits for it takes no thread from those who read.
    let permit = state.signing.acquire().await;
    let permit = permit.map_err(|_| Problem::internal())?;
    let export = reading(state, move |state| {
        let database = state.database.for_tenant(tenant);
        let key = state.audit_key.as_ref();
        Ok(database.audit(AuditFrom::Entry(from), run.as_ref(), key)?)
    });
    let export = export.await?;
    drop(permit);
    let parts = stream::try_unfold((Arc::clone(state), export), next);
    let mut response = Response::new(Body::from_stream(Box::pin(parts)));
    for (name, value) in [
        (header::CONTENT_TYPE, FORM),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Returns the newest signed heads, for a person.
pub(crate) fn heads(state: &ServerState, identity: &Identity) -> Result<AuditHeads, Problem> {
    if identity.role != Role::Person {
        return Err(Problem::role("only the token of a person reads the audit"));
    }
    let database = state.database.for_tenant(identity.tenant.clone());
    let heads = database
        .audit_heads()?
        .into_iter()
        .map(|head| AuditHeadView {
            entries: head.entries,
            hash: head.hash,
            at_ms: head.at_ms,
            key: head.key,
        });
    Ok(AuditHeads {
        heads: heads.collect(),
    })
}

type Exporting = (Arc<ServerState>, AuditExport);

/// Reads the next part, while no other reading request has to wait for those that follow.
async fn next(
    (state, mut export): Exporting,
) -> Result<Option<(Vec<u8>, Exporting)>, std::io::Error> {
    let read = reading(&state, move |_| {
        let part = export.part()?;
        Ok((part, export))
    });
    let failed = |problem: Problem| std::io::Error::other(problem.message);
    let (part, export) = read.await.map_err(failed)?;
    Ok(part.map(|part| (part, (state, export))))
}

impl From<AuditError> for Problem {
    fn from(error: AuditError) -> Self {
        let says = |status, code| Self::new(status, code, error.to_string());
        match error {
            AuditError::Log(error) => error.into(),
            AuditError::NotSigned => says(StatusCode::CONFLICT, "not_signed"),
            AuditError::NoEntry { .. } => says(StatusCode::NOT_FOUND, "not_found"),
            AuditError::Changed { .. } | AuditError::OtherHead { .. } => {
                let problem = says(StatusCode::INTERNAL_SERVER_ERROR, "damaged");
                super::problem::report(&problem, &error);
                problem
            }
            AuditError::Unwritable(_) => Self::internal(),
        }
    }
}
