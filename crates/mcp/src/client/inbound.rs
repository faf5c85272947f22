//! Messages that a server sends on its own.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};

use super::{Live, McpClient};
use crate::{
    message::{
        Envelope, Id, METHOD_NOT_FOUND, Message, Notification, Outcome, Request, Response, raw,
    },
    peer::Peer,
};

/// Delay before a broken subscription is renewed.
const REST: Duration = Duration::from_secs(2);

impl McpClient {
    /// Reads until the connection ends.
    pub(super) async fn take_messages(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        mut incoming: mpsc::Receiver<Envelope>,
    ) {
        while let Some(envelope) = incoming.recv().await {
            match envelope.message {
                Message::Response(Response { id, outcome }) => {
                    if let Some(live) = self.state.live_now() {
                        live.answered.store(true, Ordering::Release);
                    }
                    // Nobody waits for a cancelled request.
                    if let Some(id) = id {
                        peer.answered(&id, outcome);
                    }
                }
                Message::Notification(notification) => self.told(peer, &notification),
                Message::Request(request) => answer(peer, request).await,
            }
        }
    }

    fn told(&self, peer: &Peer, notification: &Notification) {
        match notification.method.as_str() {
            "notifications/tools/list_changed" => self.tools.spoil(),
            "notifications/cancelled" => {
                let params = notification.params.as_ref();
                let id = params.and_then(|params| params.get("requestId"));
                // The server ends a subscription.
                if let Some(id) = id.and_then(Id::from_value) {
                    let over = raw(&json!({"resultType": "complete"}));
                    peer.answered(&id, Outcome::Result(over));
                }
            }
            _ => {}
        }
    }

    /// Subscribes to the tool list of a server of the modern protocol, as long as the connection lasts.
    pub(super) async fn listen_for_changes(self: Arc<Self>, live: Arc<Live>) {
        let tools = live.capability("tools");
        let changes = tools.and_then(|tools| tools.get("listChanged"));
        if changes != Some(&Value::Bool(true)) {
            return;
        }
        let listening = async {
            loop {
                let wanted = json!({"toolsListChanged": true});
                let params = Object::from_iter([("notifications".to_owned(), wanted)]);
                let params = live.addressed(Some(params), &self.greeting);
                let asked = live.peer.request((), "subscriptions/listen", params);
                match asked.await {
                    Ok(Outcome::Error(_)) | Err(_) => return,
                    Ok(Outcome::Result(_)) => sleep(REST).await,
                }
            }
        };
        tokio::select! {
            () = listening => {}
            () = self.state.over(&live) => {}
        }
    }
}

/// Answers a request of the server: there is nobody here to ask.
async fn answer(peer: &Peer, request: Request) {
    let outcome = if request.method == "ping" {
        Outcome::result(&json!({}))
    } else {
        Outcome::error(METHOD_NOT_FOUND, "nobody is here who could be asked")
    };
    peer.send(Envelope::response(request.id, outcome))
        .await
        .ok();
}
