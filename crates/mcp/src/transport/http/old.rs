//! Servers of the transport before 2025: one stream of events, and messages posted separately.

use std::{sync::Arc, time::Duration};

use reqwest::{
    Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use tokio::sync::mpsc;

use super::{
    Carrier,
    call::Standing,
    reached::Answered,
    speech::{Events, Failure, Written, read_out, refused, written},
};
use crate::message::{Envelope, Id, Message};

/// How long a server may take to name the address for messages.
const ENDPOINT_TIME: Duration = Duration::from_secs(10);
/// Maximum number of messages that are being posted at once.
const POSTED_MAX: usize = 64;

impl Carrier {
    /// Returns whether the server supports the earlier transport.
    pub(super) async fn speaks_one_stream(&self) -> bool {
        self.open().await.is_ok()
    }

    /// Opens the stream and waits for the address for messages.
    async fn open(&self) -> Result<(Events, Url), Failure> {
        let opening = async {
            let response = self.get(&Standing::default(), None).await?;
            if !response.status().is_success() {
                return Err(refused(&response));
            }
            if written(&response) != Written::Events {
                return Err(Failure::Broken("sends no stream of events".to_owned()));
            }
            let base = response.url(&self.server.url);
            let mut events = Events::of(response, self.options.bytes_max);
            while let Some(event) = events.next().await? {
                if event.kind == "endpoint" {
                    let path = String::from_utf8_lossy(&event.data);
                    return self.endpoint(&base, &path).map(|url| (events, url));
                }
            }
            Err(Failure::Broken("does not say where to post to".to_owned()))
        };
        let late = || Err(Failure::Broken("does not say where to post to".to_owned()));
        let opened = tokio::time::timeout(ENDPOINT_TIME, opening).await;
        opened.unwrap_or_else(|_| late())
    }

    fn endpoint(&self, base: &Url, said: &str) -> Result<Url, Failure> {
        let url = base.join(said.trim()).ok();
        // Another origin would get the messages, including credentials.
        url.filter(|url| url.origin() == self.server.url.origin())
            .ok_or_else(|| Failure::Broken("wants messages posted to another place".to_owned()))
    }

    /// Carries messages with one stream; returns why it ended.
    pub(super) async fn carry_one_stream(
        self: Arc<Self>,
        mut incoming: mpsc::Receiver<Envelope>,
        first: Option<Envelope>,
    ) -> String {
        let opened = tokio::select! {
            opened = self.open() => opened,
            () = self.session.closed() => return "was left".to_owned(),
        };
        let (mut events, url) = match opened {
            Ok(opened) => opened,
            Err(failure) => return self.answer_all(incoming, first, &failure).await,
        };
        let places = Arc::new(tokio::sync::Semaphore::new(POSTED_MAX));
        let sending = async {
            let mut first = first;
            loop {
                let envelope = match first.take() {
                    Some(envelope) => envelope,
                    None => match incoming.recv().await {
                        Some(envelope) => envelope,
                        None => return,
                    },
                };
                if matches!(envelope.message, Message::Request(_)) {
                    let carrier = Arc::clone(&self);
                    let url = url.clone();
                    let place = Arc::clone(&places).acquire_owned().await.ok();
                    tokio::spawn(async move {
                        carrier.post_beside(&url, &envelope).await;
                        drop(place);
                    });
                } else {
                    self.post_beside(&url, &envelope).await;
                }
            }
        };
        tokio::select! {
            () = sending => "was left".to_owned(),
            _ = self.hear(&mut events) => "ended its stream".to_owned(),
        }
    }

    /// Posts a message; a request that cannot be posted is answered here.
    async fn post_beside(&self, url: &Url, envelope: &Envelope) {
        let mut body = Vec::new();
        envelope.write(&mut body);
        let server = &self.server;
        let sent = server
            .client
            .post(url.clone())
            .headers(server.headers.clone())
            .header(
                ACCEPT,
                HeaderValue::from_static("application/json, text/event-stream"),
            )
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body)
            .send()
            .await;
        let failure = match sent {
            Ok(response) if response.status().is_success() => {
                return read_out(Answered::Far(response)).await;
            }
            Ok(response) => refused(&Answered::Far(response)),
            Err(error) => Failure::on_the_way(error),
        };
        if let Some(id) = asked(envelope) {
            self.fail(id, failure.outcome(&self.options.label)).await;
        }
    }

    /// Answers requests to a server that cannot be reached, once, and ends.
    async fn answer_all(
        &self,
        mut incoming: mpsc::Receiver<Envelope>,
        first: Option<Envelope>,
        failure: &Failure,
    ) -> String {
        let asking = match first {
            Some(envelope) => Some(envelope),
            None => incoming.recv().await,
        };
        if let Some(id) = asking.as_ref().and_then(asked) {
            self.fail(id, failure.outcome(&self.options.label)).await;
        }
        match failure {
            Failure::Broken(what) | Failure::Away(what) => what.clone(),
            Failure::Refused { status, .. } => format!("refused: HTTP status {status}"),
        }
    }
}

fn asked(envelope: &Envelope) -> Option<&Id> {
    match &envelope.message {
        Message::Request(request) => Some(&request.id),
        Message::Notification(_) | Message::Response(_) => None,
    }
}
