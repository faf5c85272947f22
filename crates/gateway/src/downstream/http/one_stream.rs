//! Clients of the transport before 2025: one stream of events, and messages posted separately.

use std::{collections::VecDeque, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderMap, Response, StatusCode},
};
use bytes::Bytes;

use super::{
    Caller, ServerState,
    answer::{self, Flow, Manner},
    body::check_accept,
    conversation::Kind,
    refuse::{Refused, typed},
};
use interlock_http::sse;

use crate::message::Frame;

impl ServerState {
    /// Opens the stream of a client, and names the address for its messages.
    ///
    /// `base` is the path before `/messages`.
    pub(crate) fn get_stream(
        self: &Arc<Self>,
        headers: &HeaderMap,
        caller: &Caller,
        base: &str,
    ) -> Result<Response<Body>, Refused> {
        check_accept(headers, &["text/event-stream"])?;
        let conversation = self.open(Kind::OneStream, caller)?;
        let id = self.sessions.add(Arc::clone(&conversation), None)?;
        let endpoint = format!("{base}/messages?session_id={id}");
        let first = sse::write(Some("endpoint"), None, None, endpoint.as_bytes());
        let state = Arc::clone(self);
        let held = conversation.hold().then(move || state.sessions.remove(&id));
        Ok(answer::stream_of(Flow {
            waiting: VecDeque::from([Bytes::from(first)]),
            reader: conversation.common.read(None),
            manner: Manner::Plain,
            _holds: (None, held),
        }))
    }

    /// Receives a message that a client posted.
    pub(crate) async fn post_stream(
        &self,
        id: Option<&str>,
        caller: &Caller,
        frame: Frame,
    ) -> Result<Response<Body>, Refused> {
        let unknown = || Refused::plain(StatusCode::NOT_FOUND, "there is no such stream: open one");
        let session = self.sessions.find(id.ok_or_else(unknown)?, caller);
        let conversation = &session.ok_or_else(unknown)?.conversation;
        conversation.touch();
        let envelopes = match frame {
            Frame::One(envelope) => vec![Ok(envelope)],
            Frame::Batch(envelopes) => envelopes,
        };
        for envelope in envelopes {
            let envelope = envelope?;
            conversation.tell(envelope).await?;
        }
        Ok(typed(StatusCode::ACCEPTED, "text/plain", "Accepted"))
    }
}
