//! Routes requests, with the steps before and after each of them.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    body::Body,
    extract::{Path, RawQuery, Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
        header::{
            ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
            ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, VARY, WWW_AUTHENTICATE,
        },
        request::Parts,
    },
    middleware::{self, Next},
    routing::any,
};
use serde_json::json;

use super::{
    Caller, Resource, ServerState,
    body::{self, check_accept},
    modern::is_modern,
    refuse::{Refused, empty, json_value, typed},
};
use crate::message::{Frame, read_client};

const METADATA: &str = "/.well-known/oauth-protected-resource";

/// Creates the service of a server.
pub(crate) fn router(state: Arc<ServerState>) -> Router {
    Router::new()
        .route("/mcp", any(endpoint))
        .route("/run/{token}/mcp", any(endpoint))
        .route("/sse", any(stream))
        .route("/run/{token}/sse", any(stream))
        .route("/messages", any(messages))
        .route("/run/{token}/messages", any(messages))
        .route("/healthz", any(health))
        .route("/metrics", any(measure))
        .route(METADATA, any(metadata))
        .route(&format!("{METADATA}/mcp"), any(metadata))
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(Arc::clone(&state), around))
        .with_state(state)
}

type Token = Option<Path<String>>;

/// Runs the steps before and after every request.
async fn around(
    State(state): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let began = Instant::now();
    let (parts, body) = request.into_parts();
    let method = parts.method.clone();
    let path = shown_path(parts.uri.path());
    let page = state.guard.page(&parts.headers).cloned();
    let mut response = match state.guard.check_place(&parts.uri, &parts.headers) {
        Err(refused) => refused.answer(),
        Ok(()) if method == Method::OPTIONS => empty(StatusCode::NO_CONTENT),
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
    };
    if let Some(page) = page {
        let_read(response.headers_mut(), page);
    }
    let status = response.status().as_u16();
    state.counted.metrics.responded(status);
    if let Some(log) = &state.log {
        let took = began.elapsed().as_millis();
        log.tell(&format!("{method} {path} {status} {took} ms"));
    }
    response
}

/// Returns a path without the credential in it.
fn shown_path(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(""), Some("run"), Some(_), Some(end)) => format!("/run/…/{end}"),
        (Some(""), Some("run"), ..) => "/run/…".to_owned(),
        _ => path.chars().take(100).collect(),
    }
}

/// Permits a page of an allowed origin to read an answer.
fn let_read(headers: &mut HeaderMap, page: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
    for (name, value) in [
        (VARY, "Origin"),
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "*, Authorization"),
        (
            ACCESS_CONTROL_EXPOSE_HEADERS,
            "Mcp-Session-Id, WWW-Authenticate",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

impl ServerState {
    /// Writes a refusal, with the way to get a token if one is missing.
    fn refusal(&self, refused: Refused) -> Response<Body> {
        let challenge = refused.challenge;
        let mut response = refused.answer();
        if challenge {
            let value = self.resource.as_ref().map_or_else(
                || "Bearer".to_owned(),
                |resource| format!("Bearer resource_metadata=\"{}\"", resource.metadata()),
            );
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(WWW_AUTHENTICATE, value);
            }
        }
        response
    }

    async fn read(&self, parts: &Parts, body: Body) -> Result<Frame, Refused> {
        let limits = &self.limits;
        let (bytes_max, time) = (limits.message_bytes_max, limits.request_time);
        let bytes = body::read(&parts.headers, body, bytes_max, time).await?;
        Ok(read_client(&bytes)?)
    }
}

impl Resource {
    /// Returns the address of the resource metadata.
    fn metadata(&self) -> String {
        let (scheme, rest) = self
            .address
            .split_once("://")
            .unwrap_or(("http", &self.address));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.trim_end_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        format!("{scheme}://{host}{METADATA}{slash}{path}")
    }
}

async fn endpoint(
    State(state): State<Arc<ServerState>>,
    token: Token,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let answered = async {
        let caller = caller(&state, &parts, token.as_ref()).await?;
        match parts.method {
            Method::POST => post(&state, &parts, &caller, body).await,
            Method::GET => state.get_session(&parts.headers, &caller),
            Method::DELETE => state.delete_session(&parts.headers, &caller),
            _ => Err(Refused::method("GET, POST, DELETE")),
        }
    };
    answered
        .await
        .unwrap_or_else(|refused| state.refusal(refused))
}

async fn caller(
    state: &Arc<ServerState>,
    parts: &Parts,
    token: Option<&Path<String>>,
) -> Result<Caller, Refused> {
    let token = token.map(|Path(token)| token.as_str());
    state.admit(&parts.headers, token).await
}

async fn post(
    state: &Arc<ServerState>,
    parts: &Parts,
    caller: &Caller,
    body: Body,
) -> Result<Response<Body>, Refused> {
    check_accept(&parts.headers, &["application/json", "text/event-stream"])?;
    let frame = state.read(parts, body).await?;
    if is_modern(&parts.headers, &frame) {
        state.post_modern(&parts.headers, caller, frame).await
    } else {
        state.post_session(&parts.headers, caller, frame).await
    }
}

async fn stream(
    State(state): State<Arc<ServerState>>,
    token: Token,
    request: Request,
) -> Response<Body> {
    let (parts, _) = request.into_parts();
    let answered = async {
        let caller = caller(&state, &parts, token.as_ref()).await?;
        if parts.method != Method::GET {
            return Err(Refused::method("GET"));
        }
        let base = token.map_or_else(String::new, |Path(token)| format!("/run/{token}"));
        state.get_stream(&parts.headers, &caller, &base)
    };
    answered
        .await
        .unwrap_or_else(|refused| state.refusal(refused))
}

async fn messages(
    State(state): State<Arc<ServerState>>,
    token: Token,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let answered = async {
        let caller = caller(&state, &parts, token.as_ref()).await?;
        if parts.method != Method::POST {
            return Err(Refused::method("POST"));
        }
        let frame = state.read(&parts, body).await?;
        let query = query.unwrap_or_default();
        let id = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("session_id="));
        state.post_stream(id, &caller, frame).await
    };
    answered
        .await
        .unwrap_or_else(|refused| state.refusal(refused))
}

async fn health() -> Response<Body> {
    json_value(StatusCode::OK, &json!({"status": "ok"}))
}

async fn measure(State(state): State<Arc<ServerState>>, headers: HeaderMap) -> Response<Body> {
    if !state.guard.may_measure(&headers) {
        return state.refusal(Refused::unauthorized("the server's token is needed"));
    }
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    typed(StatusCode::OK, kind, state.measure())
}

async fn metadata(State(state): State<Arc<ServerState>>) -> Response<Body> {
    let Some(resource) = &state.resource else {
        return nowhere().await;
    };
    let mut response = json_value(
        StatusCode::OK,
        &json!({
            "resource": resource.address,
            "authorization_servers": resource.authorization_servers,
            "bearer_methods_supported": ["header"],
        }),
    );
    // Pages request it before they know whether they may send more.
    let name = HeaderName::from_static("access-control-allow-origin");
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static("*"));
    response
}

async fn nowhere() -> Response<Body> {
    let what = "there is nothing here: the endpoint is `/mcp`";
    Refused::plain(StatusCode::NOT_FOUND, what).answer()
}
