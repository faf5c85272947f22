//! A request to a server, until it is answered.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use reqwest::StatusCode;
use serde_json::Value;

use super::{
    Carrier,
    call::{Standing, modern_version},
    reached::Answered,
    speech::{Events, Failure, Written, document, failure_text, refused, written},
};
use crate::{
    headers::SESSION,
    message::{Envelope, Id, Message, Outcome, Request, Response as Answer, raw, read_server},
};

/// Maximum number of reconnects to an interrupted stream for one answer.
const RESUMED_MAX: u32 = 8;
/// Delay before a reconnect, unless the server sets one.
const RETRY_TIME: Duration = Duration::from_secs(1);
/// Longest delay that a server may set.
const RETRY_TIME_MAX: Duration = Duration::from_secs(30);
/// Code for headers that contradict a body.
const HEADER_MISMATCH: i64 = -32_020;

/// Result of a request.
#[derive(Debug)]
enum Went {
    /// The session has its answer.
    Answered,
    /// The server no longer knows the session.
    Forgotten,
    /// The server needs other headers.
    Mismatched(Envelope),
    /// The server does not seem to support this transport.
    Unheard(Envelope),
}

impl Carrier {
    /// Sends a request that begins a connection; returns it if the server may support the earlier transport.
    pub(super) async fn begin(self: &Arc<Self>, envelope: Envelope) -> Option<Envelope> {
        let Message::Request(request) = &envelope.message else {
            return None;
        };
        let is_initialize = request.method == "initialize";
        if is_initialize {
            self.state().initialize = Some(request.clone());
        }
        let asked = async {
            match self
                .ask_once(&envelope, request, &Standing::default())
                .await
            {
                Ok(Went::Answered | Went::Forgotten) => None,
                Ok(Went::Mismatched(answer)) => {
                    self.give(answer).await;
                    None
                }
                Ok(Went::Unheard(_)) if is_initialize && self.speaks_one_stream().await => Some(()),
                Ok(Went::Unheard(answer)) => {
                    self.give(answer).await;
                    None
                }
                Err(failure) => {
                    self.fail(&request.id, failure.outcome(&self.options.label))
                        .await;
                    None
                }
            }
        };
        let old = tokio::select! {
            old = asked => old,
            () = self.session.closed() => None,
        };
        old.map(|()| envelope)
    }

    /// Sends a request and delivers its answer, or why there is none, to the session.
    pub(super) async fn ask(&self, envelope: &Envelope) {
        let Message::Request(request) = &envelope.message else {
            return;
        };
        if let Err(failure) = self.ask_again(envelope, request).await {
            self.fail(&request.id, failure.outcome(&self.options.label))
                .await;
        }
    }

    async fn ask_again(&self, envelope: &Envelope, request: &Request) -> Result<(), Failure> {
        let standing = self.standing();
        match self.ask_once(envelope, request, &standing).await? {
            Went::Answered => return Ok(()),
            Went::Forgotten => self.renew(standing.age).await?,
            Went::Mismatched(answer) => {
                if !self.learn_tools(request).await {
                    self.give(answer).await;
                    return Ok(());
                }
            }
            Went::Unheard(answer) => {
                self.give(answer).await;
                return Ok(());
            }
        }
        match self.ask_once(envelope, request, &self.standing()).await? {
            Went::Answered => Ok(()),
            Went::Mismatched(answer) | Went::Unheard(answer) => {
                self.give(answer).await;
                Ok(())
            }
            Went::Forgotten => Err(Failure::Broken("forgets its sessions".to_owned())),
        }
    }

    async fn ask_once(
        &self,
        envelope: &Envelope,
        request: &Request,
        standing: &Standing,
    ) -> Result<Went, Failure> {
        let response = self.post(envelope, standing).await?;
        let status = response.status();
        if !status.is_success() {
            return self.not_done(response, request, standing).await;
        }
        let session_id = response.headers().get(SESSION);
        let session_id = session_id
            .and_then(|id| id.to_str().ok())
            .map(str::to_owned);
        let bytes_max = self.options.bytes_max;
        match written(&response) {
            Written::Document => {
                self.proven.store(true, Ordering::Relaxed);
                let bytes = document(response, bytes_max).await?;
                let envelopes = read_server(&bytes).map_err(unreadable)?;
                if self.take(envelopes, request, session_id.as_deref()).await {
                    Ok(Went::Answered)
                } else {
                    Err(Failure::Broken("answered something else".to_owned()))
                }
            }
            Written::Events => {
                self.proven.store(true, Ordering::Relaxed);
                let events = Events::of(response, bytes_max);
                self.read(events, request, standing, session_id.as_deref())
                    .await
            }
            Written::Otherwise => Err(Failure::Broken(format!(
                "answered with neither JSON nor a stream of events: HTTP status {}",
                status.as_u16()
            ))),
        }
    }

    /// Reads a stream up to the answer, reconnecting if it is interrupted.
    async fn read(
        &self,
        mut events: Events,
        request: &Request,
        standing: &Standing,
        session_id: Option<&str>,
    ) -> Result<Went, Failure> {
        let mut session_id = session_id;
        let mut last = None;
        let mut resumed = 0;
        loop {
            let ended = loop {
                match events.next().await {
                    Ok(Some(event)) if event.data.is_empty() => {}
                    Ok(Some(event)) => {
                        resumed = 0;
                        let envelopes = read_server(&event.data).map_err(unreadable)?;
                        if self.take(envelopes, request, session_id.take()).await {
                            events.read_out().await;
                            return Ok(Went::Answered);
                        }
                    }
                    Ok(None) => {
                        break Failure::Away("ended the stream before it answered".to_owned());
                    }
                    Err(failure) => break failure,
                }
            };
            let (id, retry_ms) = events.mark();
            last = id.or(last);
            let Some(behind) = last
                .as_deref()
                .filter(|_| modern_version(request).is_none())
            else {
                return Err(ended);
            };
            resumed += 1;
            if resumed > RESUMED_MAX {
                return Err(ended);
            }
            let time = retry_ms.map_or(RETRY_TIME, Duration::from_millis);
            tokio::time::sleep(time.min(RETRY_TIME_MAX)).await;
            // The session that the request began may be the first.
            let known = self.standing();
            let standing = if standing.session_id.is_some() {
                standing
            } else {
                &known
            };
            match self.get(standing, Some(behind)).await {
                Ok(response) if response.status().is_success() => {
                    events = Events::of(response, self.options.bytes_max);
                }
                Ok(_) => return Err(ended),
                // The connection may work again in a moment.
                Err(_) => {}
            }
        }
    }

    /// Delivers messages to the session; returns `true` if the answer was among them.
    async fn take(
        &self,
        envelopes: Vec<Envelope>,
        request: &Request,
        session_id: Option<&str>,
    ) -> bool {
        let mut answered = false;
        for mut envelope in envelopes {
            envelope.about = Some(request.id.clone());
            if let Message::Response(answer) = &mut envelope.message {
                if answer.id.as_ref() != Some(&request.id) {
                    continue;
                }
                answered = true;
                self.remember(request, answer, session_id);
            }
            if !self.give(envelope).await {
                return true;
            }
        }
        answered
    }

    /// Stores what later requests need from an answer.
    fn remember(&self, request: &Request, answer: &mut Answer, session_id: Option<&str>) {
        let Outcome::Result(result) = &mut answer.outcome else {
            return;
        };
        let mut state = self.state();
        match request.method.as_str() {
            "initialize" => {
                let value: Option<Value> = serde_json::from_str(result.get()).ok();
                let version = value
                    .as_ref()
                    .and_then(|value| value.get("protocolVersion"));
                state.version = version.and_then(Value::as_str).map(str::to_owned);
                state.session_id = session_id.map(str::to_owned);
            }
            "tools/list" if modern_version(request).is_some() => {
                let bad = state.schemas.learn(result);
                drop(state);
                self.leave_out(result, &bad);
            }
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                let about = |one: &Request| one.text("uri").map(str::to_owned);
                let is_level = request.method == "logging/setLevel";
                state.settings.retain(|one| {
                    (one.method == "logging/setLevel") != is_level || about(one) != about(request)
                });
                if request.method != "resources/unsubscribe" {
                    state.settings.push(request.clone());
                }
            }
            _ => {}
        }
    }

    /// Removes tools with invalid header marks, as a client must.
    fn leave_out(&self, result: &mut Box<serde_json::value::RawValue>, bad: &[(String, String)]) {
        if bad.is_empty() {
            return;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(result.get()) else {
            return;
        };
        if let Some(tools) = value.get_mut("tools").and_then(Value::as_array_mut) {
            let is_bad = |tool: &Value| {
                let name = tool.get("name").and_then(Value::as_str);
                bad.iter().any(|(bad, _)| Some(bad.as_str()) == name)
            };
            tools.retain(|tool| !is_bad(tool));
        }
        *result = raw(&value);
        for (name, why) in bad {
            let label = &self.options.label;
            let notes = &self.options.notes;
            notes.tell(&format!(
                "interlock: the tool `{name}` of {label} is left out: {why}"
            ));
        }
    }

    /// Determines the meaning of an unsuccessful answer.
    async fn not_done(
        &self,
        response: Answered,
        request: &Request,
        standing: &Standing,
    ) -> Result<Went, Failure> {
        let status = response.status();
        let is_modern = modern_version(request).is_some();
        if status == StatusCode::NOT_FOUND && standing.session_id.is_some() && !is_modern {
            return Ok(Went::Forgotten);
        }
        let failure = refused(&response);
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(failure);
        }
        let unheard = matches!(
            status,
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        );
        let text = failure_text(response).await;
        let said = own_error(&text, &request.id);
        let code = said.as_ref().and_then(|(_, code)| *code);
        match said {
            Some((answer, _)) if is_modern && code == Some(HEADER_MISMATCH) => {
                Ok(Went::Mismatched(answer))
            }
            said if unheard && !self.is_proven() && !code.is_some_and(is_modern_code) => {
                let other =
                    || Envelope::response(request.id.clone(), failure.outcome(&self.options.label));
                Ok(Went::Unheard(said.map_or_else(other, |(answer, _)| answer)))
            }
            Some((answer, _)) => {
                self.give(answer).await;
                Ok(Went::Answered)
            }
            None => Err(failure),
        }
    }

    /// Lists the tools, to know which arguments of a call are also headers.
    async fn learn_tools(&self, call: &Request) -> bool {
        let mut cursor: Option<Value> = None;
        // An endless list is not read to its end.
        for page in 0..100_u32 {
            let mut params = interlock_core::machine::Object::new();
            let meta = call.params.as_ref().and_then(|params| params.get("_meta"));
            params.extend(meta.map(|meta| ("_meta".to_owned(), meta.clone())));
            params.extend(cursor.take().map(|cursor| ("cursor".to_owned(), cursor)));
            let id = Id::Text(format!("interlock-tools-{page}"));
            let Some(result) = self.ask_for(id, "tools/list", Some(params)).await else {
                return false;
            };
            self.state().schemas.learn(&raw(&result));
            cursor = result.get("nextCursor").cloned();
            if cursor.is_none() {
                return true;
            }
        }
        false
    }

    /// Sends a request of its own; returns `None` if there is no result.
    pub(super) async fn ask_for(
        &self,
        id: Id,
        method: &str,
        params: Option<interlock_core::machine::Object>,
    ) -> Option<Value> {
        let envelope = Envelope::request(id, method, params);
        let response = self.post(&envelope, &self.standing()).await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let session_id = response.headers().get(SESSION);
        let session_id = session_id
            .and_then(|id| id.to_str().ok())
            .map(str::to_owned);
        let value = first_result(response, self.options.bytes_max).await?;
        if method == "initialize" {
            let version = value.get("protocolVersion").and_then(Value::as_str);
            let mut state = self.state();
            state.version = version.map(str::to_owned);
            state.session_id = session_id;
        }
        Some(value)
    }
}

/// Reads an answer up to its first result.
async fn first_result(response: Answered, bytes_max: usize) -> Option<Value> {
    let result_of = |bytes: &[u8]| {
        let envelopes = read_server(bytes).ok()?;
        envelopes
            .into_iter()
            .find_map(|envelope| match envelope.message {
                Message::Response(Answer {
                    outcome: Outcome::Result(result),
                    ..
                }) => serde_json::from_str::<Value>(result.get()).ok(),
                _ => None,
            })
    };
    if written(&response) == Written::Document {
        return result_of(&document(response, bytes_max).await.ok()?);
    }
    let mut events = Events::of(response, bytes_max);
    while let Ok(Some(event)) = events.next().await {
        if let Some(result) = result_of(&event.data) {
            events.read_out().await;
            return Some(result);
        }
    }
    None
}

/// Parses a server's own error, for the request that it belongs to.
fn own_error(text: &[u8], id: &Id) -> Option<(Envelope, Option<i64>)> {
    let mut envelope = read_server(text).ok()?.into_iter().next()?;
    let Message::Response(answer) = &mut envelope.message else {
        return None;
    };
    if !matches!(answer.outcome, Outcome::Error(_)) {
        return None;
    }
    // Some do not say to which request it belongs; there is only one.
    answer.id = Some(id.clone());
    let code = answer.outcome.error_code();
    Some((envelope, code))
}

/// Returns whether only servers of 2026-07-28 use the code.
fn is_modern_code(code: i64) -> bool {
    matches!(code, -32_022..=-32_020)
}

fn unreadable(error: crate::message::Malformed) -> Failure {
    Failure::Broken(format!("answered what is not a message: {error}"))
}
