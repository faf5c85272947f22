//! Clients of the revisions up to 2025-11-25: one session each, beginning with `initialize`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Response, StatusCode},
};
use serde_json::Value;

use super::{
    Caller, ServerState,
    answer::{self, Answer, Begin, Manner},
    body::check_accept,
    conversation::{Conversation, Kind, result_of},
    events::{Event, Weight},
    lock,
    modern::{request_of, status_of},
    refuse::{Refused, empty},
};
use crate::{
    mcp_headers::{LAST_EVENT, SESSION, VERSION, single},
    message::{Envelope, Frame, Id, Malformed, Message},
};

/// Revisions with sessions, newest first.
pub(crate) const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// First revision whose clients accept an event without text.
const PRIMES: &str = "2025-11-25";
/// The only revision with batches.
const BATCHES: &str = "2025-03-26";

/// All sessions by their ids.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<String, Arc<Session>>>);

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) conversation: Arc<Conversation>,
    /// Revision that client and server agreed on, if it was seen.
    version: Option<String>,
}

impl Sessions {
    /// Returns the number of sessions.
    pub(crate) fn count(&self) -> usize {
        lock(&self.0).len()
    }

    /// Adds a session and returns its id.
    pub(crate) fn add(
        &self,
        conversation: Arc<Conversation>,
        version: Option<String>,
    ) -> Result<String, Refused> {
        let mut random = [0_u8; 24];
        getrandom::fill(&mut random).map_err(|_| {
            Refused::plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the system gives no random bytes",
            )
        })?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let session = Session {
            conversation,
            version,
        };
        lock(&self.0).insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    /// Finds a session of this caller; sessions of others are not found.
    pub(crate) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<Session>> {
        let sessions = lock(&self.0);
        let session = sessions.get(id)?;
        let open = !session.conversation.is_closed() && session.conversation.caller == *caller;
        open.then(|| Arc::clone(session))
    }

    /// Closes a session.
    pub(crate) fn remove(&self, id: &str) {
        let removed = lock(&self.0).remove(id);
        if let Some(session) = removed {
            session.conversation.close();
        }
    }

    /// Closes sessions that have been idle for too long.
    pub(crate) fn close_idle(&self, idle: Duration) {
        lock(&self.0).retain(|_, session| {
            let open = &session.conversation;
            open.tidy();
            let rests = open.idle() > idle || open.is_closed();
            if rests {
                open.close();
            }
            !rests
        });
    }

    /// Closes the session that has been idle longest, if for at least `rest`; returns whether there was one.
    pub(crate) fn make_room(&self, rest: Duration) -> bool {
        let mut sessions = lock(&self.0);
        let resting = sessions
            .iter()
            .map(|(id, session)| (session.conversation.idle(), id));
        let longest = resting.max().filter(|(idle, _)| *idle >= rest);
        let Some(id) = longest.map(|(_, id)| id.clone()) else {
            return false;
        };
        if let Some(session) = sessions.remove(&id) {
            session.conversation.close();
        }
        true
    }

    /// Returns all sessions.
    pub(crate) fn all(&self) -> Vec<Arc<Conversation>> {
        let sessions = lock(&self.0);
        let all = sessions.values();
        all.map(|session| Arc::clone(&session.conversation))
            .collect()
    }

    /// Removes all sessions.
    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

impl Session {
    fn has_batches(&self) -> bool {
        self.version.as_deref() == Some(BATCHES)
    }

    fn manner(&self) -> Manner {
        if self
            .version
            .as_deref()
            .is_some_and(|version| version >= PRIMES)
        {
            Manner::Primed
        } else {
            Manner::Numbered
        }
    }
}

impl ServerState {
    /// Answers a POST of a client with a session, or one that begins a session.
    pub(crate) async fn post_session(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
        frame: Frame,
    ) -> Result<Response<Body>, Refused> {
        let begins = request_of(&frame).is_some_and(|request| request.method == "initialize");
        if begins && let Frame::One(envelope) = frame {
            return self.initialize(caller, envelope).await;
        }
        let session = self.session(headers, caller)?;
        check_version(headers)?;
        session.conversation.touch();
        let is_batch = matches!(frame, Frame::Batch(_));
        let (envelopes, malformed) = taken_apart(&session, frame)?;
        let is_request = |envelope: &Envelope| matches!(envelope.message, Message::Request(_));
        if !envelopes.iter().any(is_request) {
            if let Some(malformed) = malformed.into_iter().next() {
                return Err(malformed.into());
            }
            for envelope in envelopes {
                let given_up = given_up(&envelope);
                session.conversation.tell(envelope).await?;
                if let Some(id) = given_up {
                    session.conversation.given_up(&id);
                }
            }
            return Ok(empty(StatusCode::ACCEPTED));
        }
        self.ask_session(&session, envelopes, malformed, is_batch)
            .await
    }

    async fn ask_session(
        &self,
        session: &Arc<Session>,
        envelopes: Vec<Envelope>,
        malformed: Vec<Malformed>,
        is_batch: bool,
    ) -> Result<Response<Body>, Refused> {
        let held = session.conversation.hold();
        let mut asked = session.conversation.ask(envelopes).await?;
        for bad in malformed {
            let mut text = Vec::new();
            bad.answer().write(&mut text);
            asked.events.push(Weight::Response, text.into());
        }
        match answer::wait(&asked, Begin::After(self.limits.hold)).await {
            Answer::Whole(events) => {
                asked.answered();
                Ok(answer::document(StatusCode::OK, &events, is_batch))
            }
            Answer::Partly(seen, reader) => {
                asked.resumable = true;
                let holds = (Some(asked), held);
                Ok(answer::events(seen, reader, session.manner(), holds))
            }
            Answer::Never if session.conversation.is_closed() => Err(unknown_session()),
            Answer::Never => Ok(answer::no_events()),
        }
    }

    async fn initialize(
        &self,
        caller: &Caller,
        envelope: Envelope,
    ) -> Result<Response<Body>, Refused> {
        let conversation = self.open(Kind::Session, caller)?;
        let opened = Opened(&conversation);
        let held = conversation.hold();
        let mut asked = conversation.ask(vec![envelope]).await?;
        let (mut response, version) = match answer::wait(&asked, Begin::Late).await {
            Answer::Whole(events) => {
                asked.answered();
                let Some(version) = version_of(&events) else {
                    // Refused: there is no session.
                    return Ok(answer::document(status_of(&events), &events, false));
                };
                let response = answer::document(StatusCode::OK, &events, false);
                (response, Some(version))
            }
            Answer::Partly(seen, reader) => {
                asked.resumable = true;
                let holds = (Some(asked), held);
                let response = answer::events(seen, reader, Manner::Numbered, holds);
                (response, None)
            }
            Answer::Never => return Err(unknown_session()),
        };
        let id = self.sessions.add(Arc::clone(&conversation), version)?;
        name_session(&mut response, &id);
        opened.keep();
        Ok(response)
    }

    /// Answers a GET: with the common stream, or an interrupted one.
    pub(crate) fn get_session(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
    ) -> Result<Response<Body>, Refused> {
        check_accept(headers, &["text/event-stream"])?;
        let session = self.session(headers, caller)?;
        check_version(headers)?;
        session.conversation.touch();
        let held = session.conversation.hold();
        let last = single(headers, &LAST_EVENT).map_err(|what| Refused::invalid(None, &what))?;
        let Some(last) = last else {
            let reader = session.conversation.common.read(None);
            let manner = session.manner();
            return Ok(answer::events(Vec::new(), reader, manner, (None, held)));
        };
        let place = last
            .split_once('-')
            .and_then(|(number, place)| Some((number.parse().ok()?, place.parse().ok()?)));
        let found = place.and_then(|(number, place): (u64, u64)| {
            Some((session.conversation.stream(number)?, place))
        });
        // After an error, the client would repeat the request again and again.
        let Some((events, place)) = found else {
            return Ok(answer::no_events());
        };
        let reader = events.read(Some(place));
        Ok(answer::events(
            Vec::new(),
            reader,
            Manner::Numbered,
            (None, held),
        ))
    }

    /// Answers a DELETE: ends the session.
    pub(crate) fn delete_session(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
    ) -> Result<Response<Body>, Refused> {
        self.session(headers, caller)?;
        if let Ok(Some(id)) = single(headers, &SESSION) {
            self.sessions.remove(id);
        }
        Ok(empty(StatusCode::OK))
    }

    fn session(&self, headers: &HeaderMap, caller: &Caller) -> Result<Arc<Session>, Refused> {
        let id = single(headers, &SESSION).map_err(|what| Refused::invalid(None, &what))?;
        let id = id.ok_or_else(|| {
            Refused::plain(
                StatusCode::BAD_REQUEST,
                "`Mcp-Session-Id` is missing: begin with `initialize`",
            )
        })?;
        self.sessions.find(id, caller).ok_or_else(unknown_session)
    }
}

/// Closes a channel again unless it becomes a session.
struct Opened<'a>(&'a Arc<Conversation>);

impl Opened<'_> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Splits a batch, if the session supports batches.
fn taken_apart(
    session: &Session,
    frame: Frame,
) -> Result<(Vec<Envelope>, Vec<Malformed>), Refused> {
    let several = match frame {
        Frame::One(envelope) => return Ok((vec![envelope], Vec::new())),
        Frame::Batch(several) => several,
    };
    if !session.has_batches() {
        let what = format!("only revision {BATCHES} has batches: send one message at a time");
        return Err(Refused::invalid(None, &what));
    }
    let mut envelopes = Vec::new();
    let mut malformed = Vec::new();
    for one in several {
        match one {
            Ok(envelope) => envelopes.push(envelope),
            Err(bad) => malformed.push(bad),
        }
    }
    let begins = |envelope: &Envelope| matches!(&envelope.message, Message::Request(request) if request.method == "initialize");
    if envelopes.iter().any(begins) {
        return Err(Refused::invalid(None, "`initialize` comes alone"));
    }
    Ok((envelopes, malformed))
}

fn unknown_session() -> Refused {
    Refused::plain(
        StatusCode::NOT_FOUND,
        "there is no such session: begin with `initialize`",
    )
}

fn check_version(headers: &HeaderMap) -> Result<(), Refused> {
    let version = single(headers, &VERSION).map_err(|what| Refused::invalid(None, &what))?;
    match version {
        Some(version) if !VERSIONS.contains(&version) => {
            Err(Refused::version(None, version, &super::modern::SUPPORTED))
        }
        _ => Ok(()),
    }
}

fn name_session(response: &mut Response<Body>, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        response.headers_mut().insert(SESSION, id);
    }
}

/// Returns the revision in an answer to `initialize`; `None` if the answer is an error.
fn version_of(events: &[Event]) -> Option<String> {
    let result = result_of(&events.first()?.text)?;
    let version = result.get("protocolVersion").and_then(Value::as_str);
    Some(version.unwrap_or_default().to_owned())
}

/// Returns the request that a client's notification cancels.
fn given_up(envelope: &Envelope) -> Option<Id> {
    match &envelope.message {
        Message::Notification(told) if told.method == "notifications/cancelled" => {
            Id::from_value(told.params.as_ref()?.get("requestId")?)
        }
        _ => None,
    }
}
