//! The client's end of a session: what a run's stages ask, and what they are answered.

use std::sync::Arc;

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, mpsc},
    task::JoinHandle,
};

use super::{CallError, ToolResult, taking::REFUSED};
use crate::{
    era::LEGACY,
    govern::Caller,
    message::{AWAY, Envelope, METHOD_NOT_FOUND, Message, Outcome, Response},
    session::Gateway,
    session::peer::{Peer, Tag},
};

/// Pages of a list that are asked for at most.
const PAGES_MAX: usize = 1_000;

/// A session with servers; dropped, it ends.
#[derive(Debug)]
pub(super) struct ServersSession {
    peer: Arc<Peer>,
    reading: JoinHandle<()>,
    opened: OnceCell<()>,
}

impl ServersSession {
    /// Opens a session with the servers of a gateway; they are greeted with the first question.
    pub(super) fn open(gateway: &Arc<Gateway>) -> Result<Self, CallError> {
        let link = gateway.open(Caller::Nobody);
        let link = link.map_err(|error| CallError::Unavailable(error.to_string()))?;
        let peer = Peer::new(link.outgoing);
        let reading = tokio::spawn(read(Arc::clone(&peer), link.incoming));
        Ok(Self {
            peer,
            reading,
            opened: OnceCell::new(),
        })
    }

    /// Introduces us, once it works.
    async fn greet(&self) -> Result<(), CallError> {
        let greeted = self.opened.get_or_try_init(|| async {
            let params = json!({
                "protocolVersion": LEGACY.first(),
                // Nobody is here who could be asked.
                "capabilities": {},
                "clientInfo": {"name": "interlock", "version": env!("CARGO_PKG_VERSION")},
            });
            self.ask("initialize", params.as_object().cloned()).await?;
            let envelope = Envelope::notification("notifications/initialized", None);
            self.peer.send(envelope).await.map_err(|_| gone())
        });
        greeted.await.copied()
    }

    /// Asks for all tools that may be seen now, under the names of the session.
    pub(super) async fn tools(&self) -> Result<Vec<Value>, CallError> {
        self.greet().await?;
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let params = cursor
                .take()
                .map(|cursor| Object::from_iter([("cursor".to_owned(), cursor)]));
            let mut page = self.ask("tools/list", params).await?;
            if let Some(Value::Array(all)) = page.get_mut("tools").map(Value::take) {
                tools.extend(all);
            }
            cursor = page
                .get_mut("nextCursor")
                .map(Value::take)
                .filter(Value::is_string);
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    /// Calls a tool by its name in the session; `mark` is that of refusals of ours.
    ///
    /// Dropped before it has ended, the call is cancelled at its server.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Object,
        mark: &str,
    ) -> Result<ToolResult, CallError> {
        self.greet().await?;
        let params = Object::from_iter([
            ("name".to_owned(), json!(tool)),
            ("arguments".to_owned(), Value::Object(arguments)),
        ]);
        let result = self.ask("tools/call", Some(params)).await?;
        let refused = result.get("_meta").and_then(|meta| meta.get(REFUSED));
        let result = ToolResult::of(&result)?;
        match refused.filter(|refused| refused.get("mark") == Some(&json!(mark))) {
            None => Ok(result),
            Some(refused) => Err(match refused.get("code").and_then(Value::as_str) {
                Some("protected") => CallError::Changed(result.text),
                Some("unknown_tool") => CallError::Unknown(result.text),
                _ => CallError::Unavailable(result.text),
            }),
        }
    }

    async fn ask(&self, method: &str, params: Option<Object>) -> Result<Value, CallError> {
        let outcome = self
            .peer
            .request(Tag::Own, method, params)
            .await
            .map_err(|_| gone())?;
        match outcome {
            Outcome::Result(result) => serde_json::from_str(result.get())
                .map_err(|error| CallError::Refused(format!("the answer cannot be read: {error}"))),
            Outcome::Error(error) => {
                let said: Value = serde_json::from_str(error.get()).unwrap_or_default();
                let message = said.get("message").and_then(Value::as_str);
                let message = message.unwrap_or("the server gave an error without a message");
                Err(match is_away(&said) {
                    true => CallError::Away(message.to_owned()),
                    false => CallError::Refused(message.to_owned()),
                })
            }
        }
    }
}

impl Drop for ServersSession {
    fn drop(&mut self) {
        self.peer.close();
        self.reading.abort();
    }
}

/// Tells whether an error says that its server may answer later.
fn is_away(error: &Value) -> bool {
    let data = error.get("data");
    let status = data.and_then(|data| data.get("status")?.as_u64());
    let away = data.and_then(|data| data.get(AWAY));
    away == Some(&Value::Bool(true)) || matches!(status, Some(408 | 429 | 500..=599))
}

fn gone() -> CallError {
    CallError::Unavailable("the servers have ended".to_owned())
}

/// Takes answers; what servers ask has nobody who could answer it.
async fn read(peer: Arc<Peer>, mut incoming: mpsc::Receiver<Envelope>) {
    while let Some(envelope) = incoming.recv().await {
        match envelope.message {
            Message::Response(Response { id, outcome }) => {
                if let Some(id) = id {
                    peer.answered(&id, outcome);
                }
            }
            Message::Request(request) => {
                let outcome = if request.method == "ping" {
                    Outcome::result(&json!({}))
                } else {
                    Outcome::error(METHOD_NOT_FOUND, "nobody is here who could be asked")
                };
                peer.send(Envelope::response(request.id, outcome))
                    .await
                    .ok();
            }
            Message::Notification(_) => {}
        }
    }
    peer.close();
}
