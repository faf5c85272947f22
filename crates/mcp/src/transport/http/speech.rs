//! A server's response: one document or a stream, read within limits.

use std::{collections::VecDeque, time::Duration};

use reqwest::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use serde_json::json;
use tokio::time::timeout;

use super::reached::Answered;
use interlock_http::{
    TooLong, causes, explained,
    sse::{Event, Reader},
};

use crate::message::{INTERNAL_ERROR, Outcome};

/// Maximum number of bytes that are read of a failure's text.
const FAILURE_BYTES_MAX: usize = 65_536;
/// How long to wait for the end of a complete answer.
const REST_TIME: Duration = Duration::from_secs(1);

/// Why a request has no answer from the server itself.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The server or the connection failed.
    Broken(String),
    /// The server is temporarily unavailable.
    Away(String),
    /// The server refused with an HTTP status.
    Refused {
        status: u16,
        challenge: Option<String>,
    },
}

impl Failure {
    /// Creates one from an error of the connection.
    pub(super) fn on_the_way(error: reqwest::Error) -> Self {
        Self::Away(format!("cannot be reached: {}", explained(error)))
    }

    /// Creates one from an error that contains no address.
    pub(super) fn unreached(error: &dyn std::error::Error) -> Self {
        Self::Away(format!("cannot be reached: {}", causes(error)))
    }

    /// Converts it to the error that the client gets.
    pub(super) fn outcome(&self, label: &str) -> Outcome {
        match self {
            Self::Broken(what) => Outcome::error(INTERNAL_ERROR, &format!("{label} {what}")),
            Self::Away(what) => Outcome::away(&format!("{label} {what}")),
            Self::Refused { status, challenge } => {
                let what = match (status, challenge) {
                    (401, _) => "wants other credentials: set them as `headers` of the server",
                    (403, _) => "does not let its credentials do this",
                    (300..=399, _) => "sends elsewhere: set the address it means as `url`",
                    _ => "refused",
                };
                let mut data = json!({"status": status});
                if let (Some(data), Some(challenge)) = (data.as_object_mut(), challenge) {
                    data.insert("wwwAuthenticate".to_owned(), json!(challenge));
                }
                let said = challenge.as_ref().map(|said| format!(" ({said})"));
                let said = said.unwrap_or_default();
                let text = format!("{label} {what}: HTTP status {status}{said}");
                Outcome::error_with(INTERNAL_ERROR, &text, &data)
            }
        }
    }
}

/// Format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Document,
    Events,
    Otherwise,
}

/// Determines the format of an answer.
pub(super) fn written(response: &Answered) -> Written {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "application/json" => Written::Document,
        "text/event-stream" => Written::Events,
        _ => Written::Otherwise,
    }
}

/// Creates the failure of a status, with advice about credentials.
pub(super) fn refused(response: &Answered) -> Failure {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|said| said.to_str().ok());
    Failure::Refused {
        status: response.status().as_u16(),
        challenge: challenge.map(|said| said.chars().take(1_000).collect()),
    }
}

/// Reads an entire document.
pub(super) async fn document(mut response: Answered, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.piece().await? {
        if bytes.len() + piece.len() > bytes_max {
            let what = format!("answered with more than {bytes_max} bytes");
            return Err(Failure::Broken(what));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Reads the beginning of a failure's text.
pub(super) async fn failure_text(response: Answered) -> Vec<u8> {
    document(response, FAILURE_BYTES_MAX)
        .await
        .unwrap_or_default()
}

/// Reads the rest of a complete answer.
///
/// A connection whose answer was read to its end can carry the next request; a server that keeps writing is not waited for.
pub(super) async fn read_out(mut response: Answered) {
    let rest = async { while let Ok(Some(_)) = response.piece().await {} };
    timeout(REST_TIME, rest).await.ok();
}

/// A stream of events.
#[derive(Debug)]
pub(super) struct Events {
    response: Answered,
    reader: Reader,
    waiting: VecDeque<Event>,
}

impl Events {
    /// Reads an answer as a stream.
    pub(super) fn of(response: Answered, bytes_max: usize) -> Self {
        Self {
            response,
            reader: Reader::new(bytes_max),
            waiting: VecDeque::new(),
        }
    }

    /// Returns the next event; `None` if the stream ended regularly.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            let Some(piece) = self.response.piece().await? else {
                return Ok(None);
            };
            let waiting = &mut self.waiting;
            let read = self.reader.take(&piece, |event| {
                waiting.push_back(event);
                Ok::<(), TooLong>(())
            });
            read.map_err(|TooLong(bytes)| {
                let why = format!("an event of the stream is larger than {bytes} bytes");
                Failure::Broken(format!("cannot be understood: {why}"))
            })?;
        }
    }

    /// Reads to the end, discarding everything.
    pub(super) async fn read_out(self) {
        read_out(self.response).await;
    }

    /// Returns the last id of the stream, and when it may be reopened.
    pub(super) fn mark(&self) -> (Option<String>, Option<u64>) {
        (
            self.reader.last_id().map(str::to_owned),
            self.reader.retry_ms(),
        )
    }
}
