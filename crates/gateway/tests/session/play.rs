//! Plays a transcript: sends its lines and compares the received messages.

use std::{collections::HashMap, sync::Arc, time::Duration};

use interlock_gateway::{
    channel::Channel,
    govern::Caller,
    message::{Envelope, Frame, Message, read_client, read_server},
    notes::Notes,
    session::{Bounds, Gateway},
    upstream::{ConnectOptions, Connection, Dial, Dialing, Fate, Running, Server},
};
use interlock_project::Asks;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};

use crate::governed::{Scene, Scripted, Told};

/// Time limit for an expected message.
const PATIENCE: Duration = Duration::from_secs(20);

/// Connects the other end of each connection to the transcript.
#[derive(Debug)]
struct Stage {
    dialed: mpsc::UnboundedSender<(Channel, Fate)>,
}

impl Dial for Stage {
    fn dial<'a>(&'a self, _around: &'a ConnectOptions) -> Dialing<'a> {
        Box::pin(async move {
            let (link, far) = Channel::pair();
            let fate = Fate::default();
            self.dialed.send((far, fate.clone())).unwrap();
            Ok(Connection { link, fate })
        })
    }
}

/// A server of the transcript.
struct Actor {
    name: String,
    dialed: mpsc::UnboundedReceiver<(Channel, Fate)>,
    link: Option<(Channel, Fate)>,
}

impl Actor {
    async fn link(&mut self) -> &mut Channel {
        if self.link.is_none() {
            let dialed = timeout(PATIENCE, self.dialed.recv()).await;
            self.link = Some(
                dialed
                    .unwrap_or_else(|_| panic!("{} is not called", self.name))
                    .unwrap(),
            );
        }
        &mut self.link.as_mut().unwrap().0
    }
}

/// All participants.
struct Play {
    client: Option<Channel>,
    actors: Vec<Actor>,
    names: HashMap<String, Value>,
    /// The capabilities of the client and of the servers.
    can: (Value, Value),
    told: Told,
    heard: usize,
}

/// Plays a whole transcript.
pub(crate) async fn play(text: &str) {
    let mut scene = Scene::default();
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<&str> = lines.filter(|line| !scene.take(line)).collect();
    if scene.servers.is_empty() {
        scene.servers.push("server".to_owned());
    }
    if scene.servers == ["none"] {
        scene.servers.clear();
    }
    let (mut servers, mut actors) = (Vec::new(), Vec::new());
    for name in &scene.servers {
        let (dialed, taken) = mpsc::unbounded_channel();
        let known = if name == "server" { "" } else { name };
        let mut server = Server::new(known, Box::new(Stage { dialed }));
        let may = |what: &str| scene.refused.iter().all(|refused| refused != what);
        server.asks = Asks {
            elicitation: may("elicitation"),
            sampling: may("sampling"),
            roots: may("roots"),
        };
        servers.push(server);
        actors.push(Actor {
            name: name.clone(),
            dialed: taken,
            link: None,
        });
    }
    let told = Told::default();
    let can = (scene.client.clone(), scene.server.clone());
    let (scene, heard) = (scene, Arc::clone(&told));
    let appoint = Arc::new(move |_: &Caller| {
        Box::new(Scripted {
            scene: scene.clone(),
            told: Arc::clone(&heard),
            moved: false,
        }) as _
    });
    let (running, mut ended) = Running::new();
    let (notes, _read) = Notes::to_channel();
    let gateway = Gateway::new(servers, Bounds::default(), notes, running, appoint);
    let mut play = Play {
        client: Some(gateway.open(Caller::Stdio).unwrap()),
        actors,
        names: HashMap::new(),
        can,
        told,
        heard: 0,
    };
    for line in lines {
        play.line(line).await;
    }
    play.nothing_more().await;
    drop(play);
    gateway.end();
    drop(gateway);
    timeout(PATIENCE, ended.recv())
        .await
        .unwrap_or_else(|_| panic!("something does not end"));
}

impl Play {
    async fn line(&mut self, line: &str) {
        if let Some(wanted) = line.strip_prefix("governed ") {
            return self.governed(wanted).await;
        }
        if let Some(version) = line.strip_prefix("open ") {
            return self.open(version).await;
        }
        if let Some(minutes) = line.strip_prefix("minutes ") {
            tokio::time::pause();
            let minutes: u64 = minutes.parse().unwrap();
            tokio::time::advance(Duration::from_secs(60 * minutes)).await;
            return tokio::time::resume();
        }
        if line == "client gone" {
            self.client.as_mut().unwrap().outgoing = mpsc::channel(1).0;
            return;
        }
        let (who, what) = line
            .split_once(' ')
            .unwrap_or_else(|| panic!("no line: {line}"));
        match (who.split_at(who.len() - 1), what) {
            (("client", ">"), text) => {
                let text = self.filled(text);
                let Ok(Frame::One(envelope)) = read_client(text.as_bytes()) else {
                    panic!("no message: {text}");
                };
                self.client
                    .as_ref()
                    .unwrap()
                    .outgoing
                    .send(envelope)
                    .await
                    .unwrap();
            }
            (("client", "<"), text) => {
                let link = self.client.as_mut().unwrap();
                let heard = timeout(PATIENCE, link.incoming.recv()).await;
                let heard =
                    heard.unwrap_or_else(|_| panic!("the client hears nothing, not {text}"));
                self.compare(
                    line,
                    text,
                    &heard.unwrap_or_else(|| panic!("the session ended before {line}")),
                );
            }
            ((name, ">"), text) => {
                let text = self.filled(text);
                let envelopes =
                    read_server(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
                let link = self.actor(name).link().await;
                for envelope in envelopes {
                    link.outgoing.send(envelope).await.unwrap();
                }
            }
            ((name, "<"), text) => {
                let link = self.actor(name).link().await;
                let heard = timeout(PATIENCE, link.incoming.recv()).await;
                let heard = heard.unwrap_or_else(|_| panic!("{name} hears nothing, not {text}"));
                self.compare(
                    line,
                    text,
                    &heard.unwrap_or_else(|| panic!("{name} is left before {line}")),
                );
            }
            (_, "gone") => {
                let (link, fate) = self.actor(who).link.take().unwrap();
                fate.say("ended (exit status: 3)".to_owned());
                drop(link);
            }
            (_, "back") => {
                let actor = self.actor(who);
                assert!(actor.link.is_none(), "{who} is not gone");
                actor.link().await;
            }
            _ => panic!("no line: {line}"),
        }
    }

    /// Plays the handshake of the protocol versions with sessions, with the scene's capabilities.
    async fn open(&mut self, version: &str) {
        let (client, server) = (self.can.0.clone(), self.can.1.clone());
        let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": client, "clientInfo": {"name": "c", "version": "1"},
        }});
        self.say("client", &hello).await;
        let names: Vec<String> = self.actors.iter().map(|actor| actor.name.clone()).collect();
        for name in &names {
            let id = self.hear(name).await["id"].clone();
            let result = json!({
                "protocolVersion": version, "capabilities": server, "serverInfo": {"name": name, "version": "1"},
            });
            self.say(name, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
                .await;
        }
        assert_eq!(self.hear("client").await["id"], "hello");
        self.say(
            "client",
            &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        )
        .await;
        for name in &names {
            assert_eq!(self.hear(name).await["method"], "notifications/initialized");
        }
    }

    async fn say(&mut self, who: &str, message: &Value) {
        Box::pin(self.line(&format!("{who}> {message}"))).await;
    }

    async fn hear(&mut self, who: &str) -> Value {
        let link = match who {
            "client" => self.client.as_mut().unwrap(),
            name => self.actor(name).link().await,
        };
        let heard = timeout(PATIENCE, link.incoming.recv()).await;
        let envelope = heard
            .unwrap_or_else(|_| panic!("{who} hears nothing"))
            .unwrap();
        let mut bytes = Vec::new();
        envelope.write(&mut bytes);
        serde_json::from_slice(&bytes).unwrap()
    }

    fn actor(&mut self, name: &str) -> &mut Actor {
        let found = self.actors.iter_mut().find(|actor| actor.name == name);
        found.unwrap_or_else(|| panic!("nobody is called {name}"))
    }

    /// Replaces each `$x` in a line by the value received before.
    fn filled(&self, text: &str) -> String {
        let mut value: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        self.fill(&mut value);
        value.to_string()
    }

    fn fill(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.starts_with('$') => {
                *value = self
                    .names
                    .get(text)
                    .unwrap_or_else(|| panic!("{text} was not heard"))
                    .clone();
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.fill(value)),
            _ => {}
        }
    }

    fn compare(&mut self, line: &str, text: &str, envelope: &Envelope) {
        let mut bytes = Vec::new();
        envelope.write(&mut bytes);
        let heard: Value = serde_json::from_slice(&bytes).unwrap();
        let wanted: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            self.fits(&wanted, &heard),
            "wanted: {line}\n heard: {heard}"
        );
        if let Message::Response(response) = &envelope.message {
            assert!(response.id.is_some(), "{heard}");
        }
    }

    /// Returns whether a received message matches the expected one, with fields in any order.
    fn fits(&mut self, wanted: &Value, heard: &Value) -> bool {
        match (wanted, heard) {
            (Value::String(name), heard) if name.starts_with('$') => {
                if let Some(known) = self.names.get(name) {
                    return known == heard;
                }
                self.names.insert(name.clone(), heard.clone());
                true
            }
            (Value::Array(wanted), Value::Array(heard)) => {
                wanted.len() == heard.len()
                    && wanted
                        .iter()
                        .zip(heard)
                        .all(|(wanted, heard)| self.fits(wanted, heard))
            }
            (Value::Object(wanted), Value::Object(heard)) => {
                wanted.len() == heard.len()
                    && wanted.iter().all(|(key, wanted)| {
                        heard.get(key).is_some_and(|heard| self.fits(wanted, heard))
                    })
            }
            (wanted, heard) => wanted == heard,
        }
    }

    /// Waits until the policy was asked this.
    async fn governed(&mut self, wanted: &str) {
        let told = Arc::clone(&self.told);
        let at = self.heard;
        let comes = async {
            loop {
                if let Some(line) = told.lock().unwrap().get(at).cloned() {
                    return line;
                }
                tokio::task::yield_now().await;
            }
        };
        let line = timeout(PATIENCE, comes)
            .await
            .unwrap_or_else(|_| panic!("never told: {wanted}"));
        assert_eq!(line, wanted);
        self.heard += 1;
    }

    /// Nobody may have received a message that the transcript does not contain.
    async fn nothing_more(&mut self) {
        if self.client.as_ref().unwrap().outgoing.is_closed() {
            return;
        }
        // All pending messages arrive before the answer to this one.
        self.say(
            "client",
            &json!({"jsonrpc": "2.0", "id": "the end", "method": "ping"}),
        )
        .await;
        let last = self.hear("client").await;
        assert_eq!(last["id"], "the end", "heard beside the transcript: {last}");
        let links = self
            .actors
            .iter_mut()
            .filter_map(|actor| actor.link.as_mut().map(|(link, _)| link));
        for link in links.chain(&mut self.client) {
            if let Ok(envelope) = link.incoming.try_recv() {
                panic!("heard beside the transcript: {envelope:?}");
            }
        }
        let told = self.told.lock().unwrap();
        assert_eq!(
            told[self.heard..].len(),
            0,
            "who governs was told more: {told:?}"
        );
    }
}
