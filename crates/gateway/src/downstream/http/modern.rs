//! Clients of revision 2026-07-28: every request is independent, and its headers repeat parts of its body.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, Response, StatusCode},
};
use interlock_core::machine::Object;
use serde_json::Value;

use super::{
    Caller, ServerState,
    answer::{self, Answer, Begin, Manner},
    events::Event,
    lock,
    refuse::{HEADER_MISMATCH, MISSING_CAPABILITY, Refused, UNSUPPORTED_VERSION, empty},
};
use crate::{
    mcp_headers::{self, VERSION, single},
    message::{Frame, INVALID_PARAMS, METHOD_NOT_FOUND, Message, Outcome, Request, read_server},
};

/// Supported revisions, newest first.
pub(crate) const SUPPORTED: [&str; 5] = [
    MODERN,
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];
/// The revision without sessions.
const MODERN: &str = "2026-07-28";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Returns whether a message belongs to a revision without sessions.
pub(crate) fn is_modern(headers: &HeaderMap, frame: &Frame) -> bool {
    let by_header = headers.get_all(VERSION).iter().any(|version| {
        // Revisions are dates; anything else is answered with the supported ones.
        version.as_bytes() >= MODERN.as_bytes()
    });
    let Some(request) = request_of(frame) else {
        return by_header;
    };
    match request.method.as_str() {
        "initialize" => false,
        "server/discover" => true,
        _ => by_header || meta(request).is_some_and(|meta| meta.contains_key(META_VERSION)),
    }
}

/// Returns the request if it is the only message.
pub(crate) fn request_of(frame: &Frame) -> Option<&Request> {
    match frame {
        Frame::One(envelope) => match &envelope.message {
            Message::Request(request) => Some(request),
            Message::Notification(_) | Message::Response(_) => None,
        },
        Frame::Batch(_) => None,
    }
}

fn meta(request: &Request) -> Option<&Object> {
    request.params.as_ref()?.get("_meta")?.as_object()
}

impl ServerState {
    /// Answers a POST of a client without a session.
    pub(crate) async fn post_modern(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
        frame: Frame,
    ) -> Result<Response<Body>, Refused> {
        let Frame::One(envelope) = frame else {
            return Err(Refused::invalid(None, "this revision has no batches"));
        };
        let conversation = match &envelope.message {
            Message::Request(request) => {
                check_meta(headers, request)?;
                let conversation = self.shared(caller)?;
                let schemas = lock(&conversation.schemas);
                let tool = request
                    .text("name")
                    .filter(|_| request.method == "tools/call");
                let marked = tool.map_or(&[][..], |tool| schemas.of(tool));
                let id = || Some(request.id.clone());
                mcp_headers::verify(headers, request, marked)
                    .map_err(|what| Refused::mismatch(id(), &what))?;
                drop(schemas);
                conversation
            }
            Message::Notification(told) => {
                check_known(headers)?;
                // Ids are chosen by each client: closing the stream cancels a request.
                if told.method != "notifications/cancelled" {
                    self.shared(caller)?.tell(envelope).await?;
                }
                return Ok(empty(StatusCode::ACCEPTED));
            }
            Message::Response(_) => {
                return Err(Refused::invalid(
                    None,
                    "this revision sends no answers: repeat the request with `inputResponses`",
                ));
            }
        };
        let listens = matches!(&envelope.message, Message::Request(request) if request.method == "subscriptions/listen");
        let held = conversation.hold();
        let asked = conversation.ask(vec![envelope]).await?;
        let begin = if listens {
            Begin::Late
        } else {
            Begin::After(self.limits.hold)
        };
        match answer::wait(&asked, begin).await {
            Answer::Whole(events) => {
                let status = status_of(&events);
                Ok(answer::document(status, &events, false))
            }
            Answer::Partly(seen, reader) => {
                let holds = (Some(asked), held);
                Ok(answer::events(seen, reader, Manner::Plain, holds))
            }
            Answer::Never if Arc::clone(asked.conversation()).is_closed() => Err(Refused::plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "the gateway ended the request: send it again",
            )),
            Answer::Never => Ok(answer::no_events()),
        }
    }
}

fn check_known(headers: &HeaderMap) -> Result<(), Refused> {
    let version = single(headers, &VERSION).map_err(|what| Refused::mismatch(None, &what))?;
    match version {
        Some(MODERN) => Ok(()),
        Some(other) => Err(Refused::version(None, other, &SUPPORTED)),
        None => Err(Refused::mismatch(
            None,
            "header `MCP-Protocol-Version` is missing",
        )),
    }
}

/// Checks the revision in header and body, and the required parts of the body.
fn check_meta(headers: &HeaderMap, request: &Request) -> Result<(), Refused> {
    let id = || Some(request.id.clone());
    let in_header = single(headers, &VERSION).map_err(|what| Refused::mismatch(id(), &what))?;
    let meta = meta(request);
    let in_body = meta.and_then(|meta| meta.get(META_VERSION)?.as_str());
    match (in_header, in_body) {
        (None, _) => {
            return Err(Refused::mismatch(
                id(),
                "header `MCP-Protocol-Version` is missing",
            ));
        }
        (Some(header), Some(body)) if header != body => {
            let what = format!(
                "header `MCP-Protocol-Version` is `{header}`, the body's `_meta` says `{body}`"
            );
            return Err(Refused::mismatch(id(), &what));
        }
        (Some(header), _) if header != MODERN => {
            return Err(Refused::version(id(), header, &SUPPORTED));
        }
        (Some(_), _) => {}
    }
    let has_capabilities = meta.and_then(|meta| meta.get(META_CAPABILITIES));
    let missing: Vec<&str> = [
        (META_VERSION, in_body.is_some()),
        (
            META_CAPABILITIES,
            has_capabilities.is_some_and(Value::is_object),
        ),
    ]
    .into_iter()
    .filter_map(|(key, there)| (!there).then_some(key))
    .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("`_meta` must have `{}`", missing.join("` and `"));
    let outcome = Outcome::error(INVALID_PARAMS, &what);
    Err(Refused::new(StatusCode::BAD_REQUEST, id(), outcome))
}

/// Returns the HTTP status of an answer.
pub(super) fn status_of(events: &[Event]) -> StatusCode {
    let [event] = events else {
        return StatusCode::OK;
    };
    // Only an error is short enough to be parsed again.
    if event.text.len() > 65_536 {
        return StatusCode::OK;
    }
    let envelopes = read_server(&event.text).unwrap_or_default();
    let code = match envelopes.first().map(|envelope| &envelope.message) {
        Some(Message::Response(answer)) => answer.outcome.error_code(),
        _ => None,
    };
    match code {
        Some(UNSUPPORTED_VERSION | MISSING_CAPABILITY | HEADER_MISMATCH) => StatusCode::BAD_REQUEST,
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}
