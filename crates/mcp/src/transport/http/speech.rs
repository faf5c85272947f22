//! What a server answers: one document or a stream, read within bounds.

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

/// Bytes of a failure's text that are read.
const FAILURE_BYTES_MAX: usize = 65_536;
/// How long the end of an answer is waited for once all is said.
const REST_TIME: Duration = Duration::from_secs(1);

/// Why a request has no answer of the server's own.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The server, or the way to it, is at fault.
    Broken(String),
    /// The server is not there now.
    Away(String),
    /// The server refused at the level of HTTP.
    Refused {
        status: u16,
        challenge: Option<String>,
    },
}

impl Failure {
    /// Makes one of an error on the way.
    pub(super) fn on_the_way(error: reqwest::Error) -> Self {
        Self::Away(format!("cannot be reached: {}", explained(error)))
    }

    /// The same of an error that names no address.
    pub(super) fn unreached(error: &dyn std::error::Error) -> Self {
        Self::Away(format!("cannot be reached: {}", causes(error)))
    }

    /// Writes it as the error that the client gets.
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

/// Tells how an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Document,
    Events,
    Otherwise,
}

/// Looks how an answer is written.
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

/// Makes the failure of a status, with how to get in.
pub(super) fn refused(response: &Answered) -> Failure {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|said| said.to_str().ok());
    Failure::Refused {
        status: response.status().as_u16(),
        challenge: challenge.map(|said| said.chars().take(1_000).collect()),
    }
}

/// Reads a document whole.
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

/// Reads the beginning of what a server says about a failure.
pub(super) async fn failure_text(response: Answered) -> Vec<u8> {
    document(response, FAILURE_BYTES_MAX)
        .await
        .unwrap_or_default()
}

/// Reads what is left of an answer that said all it had to say.
///
/// A connection whose answer was read to its end carries the next request; a server that keeps on
/// writing is not waited for.
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

    /// Returns the next event; `None`: the stream ended in order.
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

    /// Reads on to the end, for nobody.
    pub(super) async fn read_out(self) {
        read_out(self.response).await;
    }

    /// Returns the last id of the stream, and when it may be opened anew.
    pub(super) fn mark(&self) -> (Option<String>, Option<u64>) {
        (
            self.reader.last_id().map(str::to_owned),
            self.reader.retry_ms(),
        )
    }
}
