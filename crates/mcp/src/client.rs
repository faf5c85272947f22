//! A client of one server: connected, introduced, and reconnected when the connection is lost.
//!
//! It is for callers without a person to ask: it declares no capability, and refuses whatever a server asks.

mod inbound;
mod tools;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    era::{Era, Introduced, LEGACY, result_to_legacy},
    fields::Fields,
    handshake::Eras,
    message::{Envelope, INTERNAL_ERROR, Outcome},
    peer::Peer,
    reconnect::{Introduction, Reconnect, ServerState, capability},
    transport::{ConnectOptions, Dial, Fate},
};
use tools::ToolList;

pub use tools::Definitions;

/// How often one call may ask for more input.
const ROUNDS_MAX: usize = 32;

/// A server that is kept up until [`McpClient::close`].
pub struct McpClient {
    dial: Box<dyn Dial>,
    greeting: Introduced,
    eras: Eras,
    state: ServerState<Live>,
    tools: ToolList,
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient")
            .field("label", &self.state.label())
            .finish_non_exhaustive()
    }
}

/// A connected and introduced server.
#[derive(Debug)]
pub struct Live {
    peer: Arc<Peer>,
    era: Era,
    /// Result of `initialize` or `server/discover`.
    about: Object,
    /// Why the connection ended, once it has.
    fate: Fate,
    /// Whether it has answered anything since.
    answered: AtomicBool,
}

impl Live {
    /// Returns a capability that the server declared.
    fn capability(&self, name: &str) -> Option<&Value> {
        capability(&self.about, name)
    }

    /// Adds to parameters what this server must know of the client.
    fn addressed(&self, params: Option<Object>, greeting: &Introduced) -> Option<Object> {
        match self.era {
            Era::Legacy => params,
            Era::Modern => Some(greeting.to_meta(params)),
        }
    }
}

impl McpClient {
    /// Begins to keep a server up; needs a `tokio` runtime.
    #[must_use]
    pub fn connect(dial: Box<dyn Dial>, options: ConnectOptions) -> Arc<Self> {
        let client = Arc::new(Self {
            dial,
            greeting: nobody(),
            eras: Eras::default(),
            state: ServerState::new(options),
            tools: ToolList::default(),
        });
        ServerState::keep(&client);
        client
    }

    /// Ends the connection permanently.
    pub fn close(&self) {
        if let Some(live) = self.state.close() {
            live.peer.close();
        }
    }

    /// Calls a tool; dropping it before the end cancels the call at the server.
    pub async fn call(&self, tool: &str, arguments: Object) -> Outcome {
        let live = match self.state.live().await {
            Ok(live) => live,
            Err(outcome) => return outcome,
        };
        let params = Object::from_iter([
            ("name".to_owned(), json!(tool)),
            ("arguments".to_owned(), Value::Object(arguments)),
        ]);
        match live.era {
            Era::Legacy => self.ask(&live, "tools/call", Some(params)).await,
            Era::Modern => self.call_in_rounds(&live, params).await,
        }
    }

    /// Calls a tool of a server of the modern protocol, which may ask for input first.
    async fn call_in_rounds(&self, live: &Live, params: Object) -> Outcome {
        let mut more = Object::new();
        for _ in 0..ROUNDS_MAX {
            let mut whole = params.clone();
            whole.extend(std::mem::take(&mut more));
            let reply = self.ask(live, "tools/call", Some(whole)).await;
            let Outcome::Result(result) = reply else {
                return reply;
            };
            let wanted = Fields::of(&result)
                .filter(|fields| fields.text("resultType").as_deref() == Some("input_required"))
                .map(|fields| (fields.value("inputRequests"), fields.value("requestState")));
            let Some((requests, state)) = wanted else {
                return Outcome::Result(result_to_legacy(result));
            };
            let requests = match requests {
                None => Object::new(),
                Some(Value::Object(requests)) => requests,
                Some(_) => {
                    let what = "`inputRequests` of the server is not an object";
                    return Outcome::error(INTERNAL_ERROR, what);
                }
            };
            if let Some(request) = requests.values().next() {
                let method = request.get("method").and_then(Value::as_str);
                let method = method.unwrap_or_default();
                let message =
                    format!("the server needs `{method}` of the client, which did not declare it");
                return Outcome::error(INTERNAL_ERROR, &message);
            }
            more.insert("inputResponses".to_owned(), json!({}));
            if let Some(state) = state {
                more.insert("requestState".to_owned(), state);
            }
        }
        Outcome::error(
            INTERNAL_ERROR,
            &format!("the server asked for more {ROUNDS_MAX} times and did not answer"),
        )
    }

    /// Sends a request to the server.
    async fn ask(&self, live: &Live, method: &str, params: Option<Object>) -> Outcome {
        let params = live.addressed(params, &self.greeting);
        let asked = live.peer.request((), method, params).await;
        asked.unwrap_or_else(|_| self.state.gone(&live.fate))
    }

    /// Returns why the server is unavailable; `None` if it is available.
    #[must_use]
    pub fn why_away(&self) -> Option<Outcome> {
        self.state.why_away()
    }
}

impl Reconnect for McpClient {
    type Tag = ();
    type Live = Live;
    type Held = ();

    fn state(&self) -> &ServerState<Live> {
        &self.state
    }

    fn dial(&self) -> &dyn Dial {
        &*self.dial
    }

    fn eras(&self) -> &Eras {
        &self.eras
    }

    fn greeting(&self) -> &Introduced {
        &self.greeting
    }

    fn own_tag(&self) {}

    async fn read(self: &Arc<Self>, peer: &Arc<Peer>, incoming: mpsc::Receiver<Envelope>) {
        self.take_messages(peer, incoming).await;
    }

    /// Reports to the server that the client is ready, and lets callers in.
    async fn settle(self: &Arc<Self>, introduced: Introduction<()>) -> (Arc<Live>, ()) {
        let live = Arc::new(Live {
            peer: introduced.peer,
            era: introduced.era,
            about: introduced.about,
            fate: introduced.fate,
            answered: AtomicBool::new(false),
        });
        if live.era == Era::Legacy {
            let ready = Envelope::notification("notifications/initialized", None);
            live.peer.send(ready).await.ok();
        }
        self.tools.spoil();
        self.state.open(&live);
        if live.era == Era::Modern {
            // It waits for an answer, which is read only after this.
            tokio::spawn(Arc::clone(self).listen_for_changes(Arc::clone(&live)));
        }
        (live, ())
    }

    fn has_answered(live: &Live) -> bool {
        live.answered.load(Ordering::Acquire)
    }
}

/// Introduces this program, through which nobody can be asked.
fn nobody() -> Introduced {
    let client = json!({"name": "interlock", "version": env!("CARGO_PKG_VERSION")});
    let version = LEGACY.first().copied().unwrap_or_default();
    let initialize = Object::from_iter([
        ("protocolVersion".to_owned(), json!(version)),
        ("capabilities".to_owned(), json!({})),
        ("clientInfo".to_owned(), client.clone()),
    ]);
    Introduced {
        era: Era::Legacy,
        version: version.to_owned(),
        capabilities: json!({}),
        client: Some(client),
        log_level: None,
        initialize,
    }
}

#[cfg(all(test, unix))]
mod tests;
