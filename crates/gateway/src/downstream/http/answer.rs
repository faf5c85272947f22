//! How an answer is written: as one JSON document if it comes soon and alone, otherwise as a stream of events.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    body::Body,
    http::{
        HeaderName, HeaderValue, Response, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
};
use bytes::Bytes;
use futures_util::stream;

use super::{
    conversation::{ActivityGuard, OpenRequest},
    events::{Event, Reader, Weight},
    refuse::{empty, typed},
};
use interlock_http::sse;

/// Interval of the keep-alive messages of a stream.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Delay before a client reconnects to an interrupted stream.
const RETRY_MS: u64 = 1_000;

/// How a stream's events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// With ids, so that a client may reconnect; a first, empty event gives the first id.
    Primed,
    /// With ids.
    Numbered,
    /// Without ids.
    Plain,
}

/// When a stream begins although the answer has not arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// After this time, or with a message that is not the answer.
    After(Duration),
    /// Only with a message that is not the answer.
    Late,
}

/// Result of waiting for an answer.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The complete answer.
    Whole(Vec<Event>),
    /// A part of the answer; more may follow.
    Partly(Vec<Event>, Reader),
    /// The stream ended without an answer.
    Never,
}

/// Waits until it is clear how to write the answer.
pub(crate) async fn wait(asked: &OpenRequest, begin: Begin) -> Answer {
    let mut reader = asked.events.read(None);
    let mut seen = Vec::new();
    let time = match begin {
        Begin::After(time) => Some(time),
        Begin::Late => None,
    };
    let patience = async {
        match time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(patience);
    loop {
        let event = tokio::select! {
            biased;
            event = reader.next() => event,
            () = &mut patience => return Answer::Partly(seen, reader),
        };
        let Some(event) = event else {
            return if seen.is_empty() {
                Answer::Never
            } else {
                Answer::Whole(seen)
            };
        };
        let is_answer = event.weight == Weight::Response;
        seen.push(event);
        if !is_answer {
            return Answer::Partly(seen, reader);
        }
        if reader.is_done() {
            return Answer::Whole(seen);
        }
    }
}

/// Writes answers as one document; a batch is answered with an array.
pub(crate) fn document(status: StatusCode, events: &[Event], is_batch: bool) -> Response<Body> {
    let text = match events {
        [one] if !is_batch => one.text.clone(),
        several => {
            let texts: Vec<&[u8]> = several.iter().map(|event| &*event.text).collect();
            Bytes::from([b"[", &*texts.join(&b","[..]), b"]"].concat())
        }
    };
    typed(status, "application/json", text)
}

/// Writes past and future events as a stream.
pub(crate) fn events(
    seen: Vec<Event>,
    reader: Reader,
    manner: Manner,
    holds: (Option<OpenRequest>, ActivityGuard),
) -> Response<Body> {
    let number = reader.events.number;
    let mut waiting = VecDeque::new();
    if manner == Manner::Primed {
        let id = format!("{number}-0");
        waiting.push_back(Bytes::from(sse::write(
            None,
            Some(&id),
            Some(RETRY_MS),
            b"",
        )));
    }
    waiting.extend(seen.iter().map(|event| write(event, number, manner)));
    stream_of(Flow {
        waiting,
        reader,
        manner,
        _holds: holds,
    })
}

/// Writes an empty stream.
pub(crate) fn no_events() -> Response<Body> {
    with_headers(Body::empty())
}

/// A stream on its way to a client.
#[derive(Debug)]
pub(crate) struct Flow {
    /// What is written first.
    pub(crate) waiting: VecDeque<Bytes>,
    /// What follows.
    pub(crate) reader: Reader,
    /// How the stream is written.
    pub(crate) manner: Manner,
    /// Guards that are released with the stream.
    pub(crate) _holds: (Option<OpenRequest>, ActivityGuard),
}

/// Answers with a stream.
pub(crate) fn stream_of(flow: Flow) -> Response<Body> {
    let pieces = stream::unfold(flow, |mut flow| async move {
        if let Some(piece) = flow.waiting.pop_front() {
            return Some((Ok::<_, Infallible>(piece), flow));
        }
        tokio::select! {
            biased;
            event = flow.reader.next() => {
                let number = flow.reader.events.number;
                let piece = write(&event?, number, flow.manner);
                Some((Ok(piece), flow))
            }
            () = tokio::time::sleep(ALIVE_EVERY) => {
                Some((Ok(Bytes::from_static(b": alive\n\n")), flow))
            }
        }
    });
    with_headers(Body::from_stream(pieces))
}

fn write(event: &Event, number: u64, manner: Manner) -> Bytes {
    let id = (manner != Manner::Plain).then(|| format!("{number}-{}", event.place));
    sse::write(Some("message"), id.as_deref(), None, &event.text).into()
}

fn with_headers(body: Body) -> Response<Body> {
    let mut response = empty(StatusCode::OK);
    *response.body_mut() = body;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
