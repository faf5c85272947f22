//! One HTTP request: its headers, and the handling of its status.

use bytes::Bytes;
use reqwest::{
    Method, RequestBuilder, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::Value;

use super::{
    Carrier,
    reached::Answered,
    speech::{Failure, read_out, refused},
};
use crate::{
    headers::{self, LAST_EVENT, SESSION, VERSION},
    message::{Envelope, Message, Request},
};

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Returns the revision in a request.
pub(super) fn modern_version(request: &Request) -> Option<&str> {
    let meta = request.params.as_ref()?.get("_meta")?;
    meta.get(META_VERSION).and_then(Value::as_str)
}

/// The session at the time of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) age: u64,
    pub(super) session_id: Option<String>,
    version: Option<String>,
}

impl Carrier {
    /// Returns the present session.
    pub(super) fn standing(&self) -> Standing {
        let state = self.state();
        Standing {
            age: state.age,
            session_id: state.session_id.clone(),
            version: state.version.clone(),
        }
    }

    /// Sends a message; the answer may have any status.
    pub(super) async fn post(
        &self,
        envelope: &Envelope,
        standing: &Standing,
    ) -> Result<Answered, Failure> {
        let mut headers = HeaderMap::new();
        let modern = match &envelope.message {
            Message::Request(request) => modern_version(request).map(|version| (request, version)),
            Message::Notification(_) | Message::Response(_) => None,
        };
        if let Some((request, version)) = modern {
            let state = self.state();
            let tool = request
                .text("name")
                .filter(|_| request.method == "tools/call");
            let marked = tool.map_or(&[][..], |tool| state.schemas.of(tool));
            headers = headers::of_request(request, marked);
            drop(state);
            headers.extend(HeaderValue::from_str(version).ok().map(|v| (VERSION, v)));
        } else if !is_initialize(envelope) {
            standing.write(&mut headers);
        }
        let mut body = Vec::new();
        envelope.write(&mut body);
        headers.insert(CONTENT_TYPE, JSON);
        let body = Bytes::from(body);
        if let Some(near) = &self.server.near {
            let headers = self.whole(headers.clone(), BOTH);
            if let Some(answered) = near.post(headers, body.clone()).await? {
                return Ok(answered);
            }
        }
        let sent = self.call(Method::POST, headers, BOTH).body(body).send();
        sent.await.map(Answered::Far).map_err(Failure::on_the_way)
    }

    /// Opens a stream: the common one, or an interrupted one after `last`.
    pub(super) async fn get(
        &self,
        standing: &Standing,
        last: Option<&str>,
    ) -> Result<Answered, Failure> {
        let mut headers = HeaderMap::new();
        standing.write(&mut headers);
        let last = last.and_then(|last| HeaderValue::from_str(last).ok());
        headers.extend(last.map(|last| (LAST_EVENT, last)));
        let sent = self.call(Method::GET, headers, EVENTS).send().await;
        sent.map(Answered::Far).map_err(Failure::on_the_way)
    }

    /// Ends the session at the server.
    pub(super) async fn goodbye(&self, session_id: &str) {
        let mut headers = HeaderMap::new();
        let standing = Standing {
            session_id: Some(session_id.to_owned()),
            ..self.standing()
        };
        standing.write(&mut headers);
        self.call(Method::DELETE, headers, JSON).send().await.ok();
    }

    /// Sends a message that needs no answer; failures are only noted.
    pub(super) async fn tell(&self, envelope: &Envelope) {
        let standing = self.standing();
        let failed = match self.post(envelope, &standing).await {
            Ok(response) if response.status().is_success() => return read_out(response).await,
            // The next request renews the session.
            Ok(response) if response.status() == StatusCode::NOT_FOUND => return,
            Ok(response) => refused(&response),
            Err(failure) => failure,
        };
        let label = &self.options.label;
        let why = match failed {
            Failure::Broken(what) | Failure::Away(what) => what,
            Failure::Refused { status, .. } => format!("refused it: HTTP status {status}"),
        };
        let notes = &self.options.notes;
        notes.tell(&format!(
            "interlock: a message to {label} is lost: it {why}"
        ));
    }

    fn call(&self, method: Method, headers: HeaderMap, accept: HeaderValue) -> RequestBuilder {
        let server = &self.server;
        server
            .client
            .request(method, server.url.clone())
            .headers(self.whole(headers, accept))
    }

    /// Adds the headers of every request.
    fn whole(&self, headers: HeaderMap, accept: HeaderValue) -> HeaderMap {
        let mut whole = self.server.headers.clone();
        // A header of the protocol takes precedence over one of the configuration.
        whole.extend(headers);
        whole.insert(ACCEPT, accept);
        whole
    }
}

impl Standing {
    fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in [(SESSION, &self.session_id), (VERSION, &self.version)] {
            let value = value
                .as_ref()
                .and_then(|value| HeaderValue::from_str(value).ok());
            headers.extend(value.map(|value| (name, value)));
        }
    }
}

fn is_initialize(envelope: &Envelope) -> bool {
    matches!(&envelope.message, Message::Request(request) if request.method == "initialize")
}
