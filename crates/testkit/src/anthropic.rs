//! A model that says what the test wrote: the Anthropic Messages endpoint on 127.0.0.1.
//!
//! Stateless between requests: what to answer is a function of the request, so a client that repeats a request gets the
//! same answer again.

mod request;
mod wire;

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

pub use request::{Call, Request, ToolResult, calls};

use crate::http;

/// The most requests answered from the script; past it every answer ends the turn.
const REQUESTS_MAX: usize = 200;
/// How long a connection may stay silent before it is closed.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// One block of what the model says.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Plain text.
    Text(String),
    /// A proposed tool call.
    ToolUse {
        /// The tool, in the client's own words.
        name: String,
        /// Its input, in the client's own shape.
        input: Value,
    },
}

/// Says plain text.
pub fn text(text: impl Into<String>) -> Block {
    Block::Text(text.into())
}

/// Proposes a tool call.
pub fn tool(name: impl Into<String>, input: Value) -> Block {
    let name = name.into();
    Block::ToolUse { name, input }
}

type Answer = dyn Fn(&Request) -> Vec<Block> + Send + Sync;

/// What the model answers to each request that offers tools.
#[derive(Clone)]
pub struct Script(Arc<Answer>);

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script(..)")
    }
}

impl Script {
    /// Says one message after the other, the next one whenever tool results came back, then `done`.
    pub fn turns(turns: Vec<Vec<Block>>) -> Script {
        Script::new(move |request| {
            let said = turns.get(request.turn()).cloned();
            said.unwrap_or_else(|| vec![text("done")])
        })
    }

    /// One tool call a message, then `done`.
    pub fn calls(calls: Vec<Block>) -> Script {
        Script::turns(calls.into_iter().map(|call| vec![call]).collect())
    }

    /// Answers by a function of the request.
    pub fn new(answer: impl Fn(&Request) -> Vec<Block> + Send + Sync + 'static) -> Script {
        Script(Arc::new(answer))
    }
}

/// The running endpoint; it stops when dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    requests: Mutex<Vec<Request>>,
    stopped: AtomicBool,
}

impl Model {
    /// Starts an endpoint on a free port of 127.0.0.1.
    pub fn start(script: Script) -> io::Result<Model> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            requests: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Ok(Model { address, shared })
    }

    /// Where a client finds it, for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every message request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees that it is over.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a request and says what the script wants.
    fn reply(&self, request: Request) -> Vec<Block> {
        let mut requests = self.lock();
        requests.push(request.clone());
        let exhausted = requests.len() > REQUESTS_MAX;
        drop(requests);
        if exhausted {
            return vec![text("the script is over")];
        }
        if request.tools().is_empty() {
            return vec![text("ok")];
        }
        (self.script.0)(&request)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A connection that breaks is the client's affair; the test sees a session that did not end well.
        thread::spawn(move || drop(converse(stream, &shared)));
    }
}

fn converse(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(asked) = http::read(&mut reader)? {
        respond(&mut stream, &asked, shared)?;
    }
    Ok(())
}

fn respond(stream: &mut TcpStream, asked: &http::Asked, shared: &Shared) -> io::Result<()> {
    let path = asked.path.split('?').next().unwrap_or_default();
    let json = |stream: &mut TcpStream, status: &str, body: Value| {
        let body = body.to_string();
        http::answer(stream, status, "application/json", body.as_bytes())
    };
    match (asked.method.as_str(), path) {
        ("HEAD", _) => http::answer(stream, "200 OK", "application/json", b""),
        ("POST", "/v1/messages") => {
            let body: Value = serde_json::from_slice(&asked.body).map_err(io::Error::other)?;
            let streams = body.get("stream") == Some(&Value::Bool(true));
            let request = Request::new(body);
            let turn = request.turn();
            let blocks = shared.reply(request.clone());
            let message = wire::message(&request, &blocks, turn);
            if streams {
                let events = wire::events(&message);
                http::answer(stream, "200 OK", "text/event-stream", events.as_bytes())
            } else {
                json(stream, "200 OK", message)
            }
        }
        ("POST", "/v1/messages/count_tokens") => {
            json(stream, "200 OK", json!({"input_tokens": 10}))
        }
        ("GET", "/v1/models") => json(stream, "200 OK", json!({"data": [], "has_more": false})),
        _ => json(
            stream,
            "404 Not Found",
            json!({"type": "error", "error": {"type": "not_found_error", "message": "scripted"}}),
        ),
    }
}
