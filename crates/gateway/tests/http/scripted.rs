//! A scripted server over HTTP, and a connection of the gateway to it.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::body::Body;
use futures_util::StreamExt as _;
use hyper::{
    Request, Response, body::Incoming, header::HeaderMap, server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use interlock_gateway::{
    channel::Channel,
    message::{Envelope, Id, Message, Outcome},
    notes::Notes,
    upstream::{
        ConnectOptions, Running,
        http::{HttpServer, Speaks},
    },
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};

use crate::http::world::soon;

/// A request to a server.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) http: String,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// A response of the server.
pub(crate) enum Says {
    Json(u16, Value),
    Events(&'static [&'static str], Then),
    Status(u16, &'static [(&'static str, &'static str)]),
    To(u16, String),
    Begun(&'static str, Value),
}

/// The fate of a stream after its last event.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Ends,
    Stays,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is(&self, method: &str) -> bool {
        self.body["method"] == method
    }
}

pub(crate) struct Server {
    address: SocketAddr,
    pub(crate) seen: mpsc::UnboundedReceiver<Asked>,
    /// Receives a message for every stream that the peer closed.
    pub(crate) closed: mpsc::UnboundedReceiver<()>,
}

impl Server {
    pub(crate) async fn play(script: impl Fn(&Asked) -> Says + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (see, seen) = mpsc::unbounded_channel();
        let (close, closed) = mpsc::unbounded_channel();
        let script = Arc::new(script);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (see, close, script) = (see.clone(), close.clone(), Arc::clone(&script));
                let service = service_fn(move |request| {
                    let (see, close, script) = (see.clone(), close.clone(), Arc::clone(&script));
                    async move {
                        let asked = asked(request).await;
                        see.send(asked.clone()).ok();
                        Ok::<_, Infallible>(said(script(&asked), close))
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self {
            address,
            seen,
            closed,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn connect(&self, speaks: Speaks) -> Channel {
        connect(&self.url(), &[], speaks).0
    }

    /// Waits for the next matching request.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Asked) -> bool) -> Asked {
        loop {
            let asked = soon(self.seen.recv()).await.unwrap();
            if fits(&asked) {
                return asked;
            }
        }
    }
}

async fn asked(request: Request<Incoming>) -> Asked {
    let (parts, body) = request.into_parts();
    let mut bytes = Vec::new();
    let mut pieces = Body::new(body).into_data_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        bytes.extend_from_slice(&piece);
    }
    Asked {
        http: parts.method.to_string(),
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
    }
}

/// Sends a message when it is dropped.
struct Closing(mpsc::UnboundedSender<()>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.send(()).ok();
    }
}

fn said(says: Says, close: mpsc::UnboundedSender<()>) -> Response<Body> {
    let json = "application/json";
    match says {
        Says::Json(status, value) => Response::builder()
            .status(status)
            .header("content-type", json)
            .body(value.to_string().into()),
        Says::Begun(session, value) => Response::builder()
            .header("content-type", json)
            .header("mcp-session-id", session)
            .body(value.to_string().into()),
        Says::Events(events, then) => {
            let first =
                futures_util::stream::iter(events.iter().map(|event| Ok::<_, Infallible>(*event)));
            let closing = Closing(close);
            let rest = futures_util::stream::once(async move {
                let _closing = closing;
                if matches!(then, Then::Stays) {
                    std::future::pending::<()>().await;
                }
                Ok("")
            });
            Response::builder()
                .header("content-type", "text/event-stream")
                .body(Body::from_stream(first.chain(rest)))
        }
        Says::Status(status, headers) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(*name, *value);
            }
            response.body(Body::empty())
        }
        Says::To(status, place) => Response::builder()
            .status(status)
            .header("location", place)
            .body(Body::empty()),
    }
    .unwrap()
}

pub(crate) fn connect(
    url: &str,
    headers: &[(&str, &str)],
    speaks: Speaks,
) -> (Channel, mpsc::Receiver<String>) {
    let (notes, told) = Notes::to_channel();
    let (running, _ended) = Running::new();
    let options = ConnectOptions {
        label: "the server `far`".to_owned(),
        bytes_max: 100_000,
        notes,
        running,
    };
    let server = HttpServer::new(url, headers.iter().copied(), speaks).unwrap();
    (server.connect(&options).link, told)
}

pub(crate) fn result(asked: &Asked, result: Value) -> Says {
    Says::Json(
        200,
        json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}),
    )
}

pub(crate) fn begun(asked: &Asked, session: &'static str) -> Says {
    let result =
        json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}}});
    Says::Begun(
        session,
        json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}),
    )
}

pub(crate) async fn ask(link: &Channel, id: u64, method: &str, params: Value) {
    let params = params.as_object().cloned();
    let envelope = Envelope::request(Id::from(id), method, params);
    link.outgoing.send(envelope).await.unwrap();
}

pub(crate) async fn tell(link: &Channel, method: &str, params: Value) {
    let envelope = Envelope::notification(method, params.as_object().cloned());
    link.outgoing.send(envelope).await.unwrap();
}

/// Returns the next message: its method, or its result or error.
pub(crate) async fn next(link: &mut Channel) -> Value {
    let envelope = soon(link.incoming.recv()).await.expect("a message");
    let text = match envelope.message {
        Message::Request(request) => return json!(request.method),
        Message::Notification(told) => return json!(told.method),
        Message::Response(answer) => match answer.outcome {
            Outcome::Result(text) | Outcome::Error(text) => text,
        },
    };
    serde_json::from_str(text.get()).unwrap()
}

/// Begins a session, and waits until the server has received it.
pub(crate) async fn begin(link: &mut Channel, server: &mut Server) {
    ask(
        link,
        1,
        "initialize",
        json!({"protocolVersion": "2025-06-18"}),
    )
    .await;
    assert_eq!(next(link).await["protocolVersion"], "2025-06-18");
    tell(link, "notifications/initialized", Value::Null).await;
    let asked = server
        .until(|asked| asked.is("notifications/initialized"))
        .await;
    assert_eq!(asked.header("mcp-session-id"), Some("first"));
    assert_eq!(asked.header("mcp-protocol-version"), Some("2025-06-18"));
}

pub(crate) fn modern(params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// Responds like a server with sessions; `says` answers the requests that are not part of their life cycle.
pub(crate) fn with_session(asked: &Asked, says: impl FnOnce(&Asked) -> Says) -> Says {
    match (asked.http.as_str(), asked.body["method"].as_str()) {
        ("GET", _) => Says::Status(405, &[]),
        ("DELETE", _) => Says::Status(200, &[]),
        (_, Some("initialize")) => begun(asked, "first"),
        (_, Some(method)) if method.starts_with("notifications/") => Says::Status(202, &[]),
        _ => says(asked),
    }
}
