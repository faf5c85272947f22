//! A server that listens, and a client that sends arbitrary requests.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use interlock_gateway::{
    metrics::Metrics,
    serve::{Access, Limits, ServeSettings, SessionFactory, listen},
};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use crate::http::far_end::{Script, Seen};

/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) client: Client,
    pub(crate) seen: mpsc::UnboundedReceiver<Seen>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

pub(crate) struct Rules {
    pub(crate) listen: &'static str,
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    pub(crate) grace: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0",
            access: Access::default(),
            limits: Limits {
                // A stream is begun only if another message precedes the answer.
                hold: PATIENCE,
                ..Limits::default()
            },
            grace: PATIENCE,
        }
    }
}

/// Returns the result within the time limit, or fails.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what).await.expect("in time")
}

pub(crate) async fn serve(
    rules: Rules,
    factory: Arc<dyn SessionFactory>,
) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let settings = ServeSettings {
        listen: rules.listen.parse().unwrap(),
        access: rules.access,
        limits: rules.limits,
        grace: rules.grace,
        verbose: false,
        log: None,
    };
    let listening = listen(settings, factory, Metrics::default()).await.unwrap();
    let address = listening.address();
    let (stop, stopped) = oneshot::channel();
    let running = tokio::spawn(listening.run(async {
        stopped.await.ok();
    }));
    (address, stop, running)
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Rules::default()).await
    }

    pub(crate) async fn with(rules: Rules) -> Self {
        let (script, seen) = Script::new();
        let (address, stop, running) = serve(rules, script).await;
        Self {
            address,
            client: Client::builder()
                .no_proxy()
                .tls_backend_preconfigured(no_tls())
                .build()
                .unwrap(),
            seen,
            stop: Some(stop),
            running,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.address.port())
    }

    /// Sends a request unchanged.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Response {
        let mut request = self.client.request(method, self.url(path)).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        soon(request.send()).await.unwrap()
    }

    /// Posts a message like a client with a session.
    pub(crate) async fn post(&self, session: Option<&str>, message: &Value) -> Response {
        let mut headers = vec![
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ];
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        self.send(Method::POST, "/mcp", &headers, message.to_string())
            .await
    }

    /// Begins a session and returns its id.
    pub(crate) async fn session(&self, version: &str) -> String {
        let response = self.post(None, &initialize(version)).await;
        assert_eq!(response.status(), StatusCode::OK);
        let id = response.headers()["mcp-session-id"].to_str().unwrap();
        id.to_owned()
    }

    /// Posts a request like a client without sessions.
    pub(crate) async fn post_modern(&self, message: &Value) -> Response {
        let method = message["method"].as_str().unwrap();
        let params = &message["params"];
        let name = params["name"].as_str().or(params["uri"].as_str());
        let mut headers = vec![
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        headers.extend(name.map(|name| ("mcp-name", name)));
        self.send(Method::POST, "/mcp", &headers, message.to_string())
            .await
    }

    /// Waits until the script has received something.
    pub(crate) async fn until(&mut self, seen: &Seen) {
        loop {
            let next = soon(self.seen.recv()).await.expect("the script is there");
            if next == *seen {
                return;
            }
        }
    }

    /// Asks the server to end.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).ok();
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&mut self) {
        soon(&mut self.running).await.unwrap();
    }
}

/// Only 127.0.0.1 is contacted, without TLS.
pub(crate) fn no_tls() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    })
}

pub(crate) fn call(id: impl Into<Value>, tool: &str) -> Value {
    let id = id.into();
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"of": id}}})
}

/// Adds the fields that every request of 2026-07-28 requires.
pub(crate) fn modern(mut message: Value) -> Value {
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    message
}

/// An event stream, as a client reads it.
pub(crate) struct Stream {
    response: Response,
    text: String,
}

/// An event: its id and its data.
pub(crate) type Event = (Option<String>, String);

impl Stream {
    pub(crate) fn of(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            response,
            text: String::new(),
        }
    }

    /// Returns the next event with data; `None` if the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let Some((event, rest)) = self.text.split_once("\n\n") else {
                let piece = soon(self.response.chunk()).await.ok()??;
                self.text.push_str(std::str::from_utf8(&piece).unwrap());
                continue;
            };
            let field = |name: &str| {
                let mut lines = event.lines();
                lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
            };
            let (id, data) = (field("id: "), field("data: "));
            self.text = rest.to_owned();
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return Some((id, data));
            }
        }
    }

    /// Returns the next message.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        let (_, data) = self.next().await?;
        Some(serde_json::from_str(&data).unwrap())
    }
}

pub(crate) async fn json_of(response: Response) -> Value {
    soon(response.json()).await.unwrap()
}
