//! One server, called directly: connected, introduced, and connected anew when it is gone.
//!
//! For a caller whom nobody can be asked through: it declares no capability, and whatever a server asks is refused.

mod inbound;
mod tools;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle, time::sleep};

use crate::{
    era::{Era, Introduced, LEGACY, result_to_legacy},
    fields::Fields,
    handshake::{Eras, Handshake, TriedEra, shake},
    message::{Envelope, INTERNAL_ERROR, Outcome},
    peer::Peer,
    transport::{ConnectOptions, Dial, Fate},
};
use tools::ToolList;

pub use tools::Definitions;

/// How long a server that worked is left alone before it is started again.
const SOON: Duration = Duration::from_millis(100);
/// The same after its first failure to start; doubled with each.
const LATER: Duration = Duration::from_millis(250);
/// The longest pause between two tries.
const LATEST: Duration = Duration::from_secs(30);
/// How often one call may come back for more input.
const ROUNDS_MAX: usize = 32;

/// A server that is kept up; it is ended by [`McpClient::close`].
pub struct McpClient {
    dial: Box<dyn Dial>,
    greeting: Introduced,
    options: ConnectOptions,
    eras: Eras,
    tried: TriedEra,
    standing: watch::Sender<Standing>,
    tools: ToolList,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient")
            .field("label", &self.options.label)
            .finish_non_exhaustive()
    }
}

/// How a server stands.
#[derive(Debug, Clone)]
enum Standing {
    Starting,
    Up(Arc<Live>),
    /// It is tried again; meanwhile this is the answer.
    Down(Outcome),
}

/// A server that is connected and introduced.
#[derive(Debug)]
struct Live {
    peer: Arc<Peer>,
    era: Era,
    /// The result of `initialize` or `server/discover`.
    about: Object,
    /// Why it ended, once it has.
    fate: Fate,
    /// Whether it answered anything since.
    answered: AtomicBool,
}

impl Live {
    /// Returns a capability that the server declared.
    fn capability(&self, name: &str) -> Option<&Value> {
        let capabilities = self.about.get("capabilities")?;
        capabilities.get(name).filter(|value| value.is_object())
    }

    /// Adds to parameters what this server must know of us.
    fn addressed(&self, params: Option<Object>, greeting: &Introduced) -> Option<Object> {
        match self.era {
            Era::Legacy => params,
            Era::Modern => Some(greeting.to_meta(params)),
        }
    }
}

impl McpClient {
    /// Begins to keep a server up; needs a runtime of `tokio`.
    #[must_use]
    pub fn connect(dial: Box<dyn Dial>, options: ConnectOptions) -> Arc<Self> {
        let client = Arc::new(Self {
            dial,
            greeting: nobody(),
            options,
            eras: Eras::default(),
            tried: TriedEra::default(),
            standing: watch::Sender::new(Standing::Starting),
            tools: ToolList::default(),
            keeper: Mutex::default(),
        });
        let keeper = tokio::spawn(Arc::clone(&client).keep_up());
        *lock(&client.keeper) = Some(keeper);
        client
    }

    /// Ends the connection for good.
    pub fn close(&self) {
        if let Some(keeper) = lock(&self.keeper).take() {
            keeper.abort();
        }
        if let Standing::Up(live) = &*self.standing.borrow() {
            live.peer.close();
        }
        let message = format!("{} is closed", self.options.label);
        let down = Standing::Down(Outcome::error(INTERNAL_ERROR, &message));
        self.standing.send_replace(down);
    }

    /// Calls a tool; dropped before it has ended, the call is cancelled at the server.
    pub async fn call(&self, tool: &str, arguments: Object) -> Outcome {
        let live = match self.live().await {
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

    /// Calls a tool of a server of the modern era, which may want input first.
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
                    let what = "`inputRequests` of the server is no object";
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

    /// Asks the server something.
    async fn ask(&self, live: &Live, method: &str, params: Option<Object>) -> Outcome {
        let params = live.addressed(params, &self.greeting);
        let asked = live.peer.request((), method, params).await;
        asked.unwrap_or_else(|_| {
            let fate = live.fate.said().unwrap_or("closed the connection");
            self.down(&format!("{fate} before it answered"))
        })
    }

    /// Waits until the server is up, or is known to be down.
    async fn live(&self) -> Result<Arc<Live>, Outcome> {
        let mut standing = self.standing.subscribe();
        let known = standing
            .wait_for(|standing| !matches!(standing, Standing::Starting))
            .await;
        match known.as_deref() {
            Ok(Standing::Up(live)) => Ok(Arc::clone(live)),
            Ok(Standing::Down(outcome)) => Err(outcome.clone()),
            Ok(Standing::Starting) | Err(_) => Err(self.down("is not there")),
        }
    }

    /// Returns why the server is away now; `None`: it is not.
    #[must_use]
    pub fn why_away(&self) -> Option<Outcome> {
        match &*self.standing.borrow() {
            Standing::Down(outcome) => Some(outcome.clone()),
            Standing::Starting | Standing::Up(_) => None,
        }
    }

    /// Returns the connection if there is one now.
    fn live_now(&self) -> Option<Arc<Live>> {
        match &*self.standing.borrow() {
            Standing::Up(live) => Some(Arc::clone(live)),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    fn down(&self, why: &str) -> Outcome {
        let message = format!("{} {why}; it is being restarted", self.options.label);
        Outcome::away(&message)
    }

    async fn keep_up(self: Arc<Self>) {
        let mut failures = 0_u32;
        loop {
            let (worked, why) = self.connect_once().await;
            failures = if worked {
                0
            } else {
                failures.saturating_add(1)
            };
            let Some(said) = why.error_message() else {
                continue;
            };
            self.options.notes.tell(&format!("interlock: {said}"));
            let pause = if worked {
                // It is back in a moment: who asks meanwhile waits that long.
                self.standing.send_replace(Standing::Starting);
                SOON
            } else {
                self.standing.send_replace(Standing::Down(why));
                LATER
                    .saturating_mul(1 << failures.min(10).saturating_sub(1))
                    .min(LATEST)
            };
            sleep(pause).await;
        }
    }

    /// Connects and stays until the connection is over; tells whether it was of any use, and why it ended.
    async fn connect_once(self: &Arc<Self>) -> (bool, Outcome) {
        let connection = match self.dial.dial(&self.options).await {
            Ok(connection) => connection,
            Err(why) => return (false, self.down(&format!("is down: {why}"))),
        };
        let peer = Peer::new(connection.link.outgoing);
        let fate = connection.fate;
        let reading = self.read(&peer, connection.link.incoming);
        tokio::pin!(reading);
        let shaken = tokio::select! {
            () = &mut reading => Handshake::Broken,
            shaken = shake(&peer, (), &self.greeting, (&self.eras, &self.tried)) => shaken,
        };
        let ended = match shaken {
            Handshake::Done(era, about) => {
                let live = Arc::new(Live {
                    peer: Arc::clone(&peer),
                    era,
                    about,
                    fate: fate.clone(),
                    answered: AtomicBool::new(false),
                });
                self.settle(&live).await;
                reading.await;
                let answered = live.answered.load(Ordering::Acquire);
                let fate = fate.said().unwrap_or("closed the connection");
                (answered, self.down(fate))
            }
            Handshake::Refused(outcome) => (false, outcome),
            Handshake::Broken => {
                // Some servers of the legacy era end at words they do not know.
                let probed = self.tried.take() == Some(Era::Modern);
                if probed && !self.eras.refused(Era::Modern) {
                    self.eras.refuses(Era::Modern);
                    return (true, self.down("ended at words of the modern era"));
                }
                let fate = fate.said().unwrap_or("closed the connection");
                let why = format!("is down: it {fate} before it was ready");
                (false, self.down(&why))
            }
        };
        peer.close();
        ended
    }

    /// Says that we are ready, and lets callers in.
    async fn settle(self: &Arc<Self>, live: &Arc<Live>) {
        if live.era == Era::Legacy {
            let ready = Envelope::notification("notifications/initialized", None);
            live.peer.send(ready).await.ok();
        }
        self.tools.spoil();
        self.standing.send_replace(Standing::Up(Arc::clone(live)));
        if live.era == Era::Modern {
            // It waits for an answer, which is read only after this.
            tokio::spawn(Arc::clone(self).listen_for_changes(Arc::clone(live)));
        }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half changed under one of them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
