//! The stream of messages that a server sends on its own.

use std::{convert::Infallible, sync::Arc, time::Duration};

use reqwest::StatusCode;
use tokio::sync::oneshot;

use super::{
    Carrier,
    speech::{Events, Written, written},
};
use crate::message::read_server;

/// Delay before the stream is reopened, unless the server sets one.
const RETRY_TIME: Duration = Duration::from_secs(1);
/// Longest delay.
const RETRY_TIME_MAX: Duration = Duration::from_secs(30);

impl Carrier {
    /// Opens the stream concurrently with other messages; the receiver ends once the server has answered.
    pub(super) fn listen_beside(self: &Arc<Self>) -> oneshot::Receiver<Infallible> {
        let (opening, opens) = oneshot::channel();
        let carrier = Arc::clone(self);
        let task = tokio::spawn(async move { carrier.listen(opening).await });
        let before = self.state().listening.replace(task.abort_handle());
        if let Some(before) = before {
            before.abort();
        }
        opens
    }

    async fn listen(&self, opening: oneshot::Sender<Infallible>) {
        let mut opening = Some(opening);
        let mut last: Option<String> = None;
        let mut wait = RETRY_TIME;
        loop {
            let standing = self.standing();
            let answer = self.get(&standing, last.as_deref()).await;
            drop(opening.take());
            match answer {
                Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                    // Without a session the server has no such stream.
                    if standing.session_id.is_none() || self.renew(standing.age).await.is_err() {
                        return;
                    }
                    last = None;
                }
                Ok(response) if response.status().is_server_error() => {
                    wait = (wait * 2).min(RETRY_TIME_MAX);
                }
                Ok(response)
                    if response.status().is_success() && written(&response) == Written::Events =>
                {
                    wait = RETRY_TIME;
                    let mut events = Events::of(response, self.options.bytes_max);
                    if !self.hear(&mut events).await {
                        return;
                    }
                    let (id, retry_ms) = events.mark();
                    last = id.or(last);
                    if let Some(retry_ms) = retry_ms {
                        wait = Duration::from_millis(retry_ms).min(RETRY_TIME_MAX);
                    }
                }
                // The server offers none.
                Ok(_) => return,
                Err(_) => wait = (wait * 2).min(RETRY_TIME_MAX),
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Delivers everything of a stream to the session; returns `false` if it is gone.
    pub(super) async fn hear(&self, events: &mut Events) -> bool {
        while let Ok(Some(event)) = events.next().await {
            if event.data.is_empty() || !matches!(event.kind.as_str(), "" | "message") {
                continue;
            }
            let Ok(envelopes) = read_server(&event.data) else {
                let label = &self.options.label;
                let notes = &self.options.notes;
                notes.tell(&format!(
                    "interlock: {label} sent an event that is not a message"
                ));
                continue;
            };
            for envelope in envelopes {
                if !self.give(envelope).await {
                    return false;
                }
            }
        }
        true
    }
}
