//! A model that says what the test wrote: the Anthropic Messages endpoint on 127.0.0.1.
//!
//! Stateless between requests: what to answer is a function of the request, so a client that repeats a request gets the
//! same answer again.

mod request;
mod wire;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

pub use request::{Call, Request, ToolResult, calls};

use crate::http::HttpRequest;
use crate::server::{Answer, Server};

/// The most requests answered from the script; past it every answer ends the turn.
const REQUESTS_MAX: usize = 200;

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

type Saying = dyn Fn(&Request) -> Vec<Block> + Send + Sync;

/// What the model answers to each request that offers tools.
#[derive(Clone)]
pub struct Script(Arc<Saying>);

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
    server: Server,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    requests: Mutex<Vec<Request>>,
}

impl Model {
    /// Starts an endpoint on a free port of 127.0.0.1.
    pub fn start(script: Script) -> io::Result<Model> {
        let shared = Arc::new(Shared {
            script,
            requests: Mutex::default(),
        });
        let answering = Arc::clone(&shared);
        let server = Server::start(move |asked| respond(asked, &answering))?;
        Ok(Model { server, shared })
    }

    /// Where a client finds it, for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Every message request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().clone()
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

fn respond(asked: &HttpRequest, shared: &Shared) -> io::Result<Answer> {
    let path = asked.path.split('?').next().unwrap_or_default();
    let answer = match (asked.method.as_str(), path) {
        ("HEAD", _) => Answer::empty(),
        ("POST", "/v1/messages") => {
            let body: Value = serde_json::from_slice(&asked.body).map_err(io::Error::other)?;
            let streams = body.get("stream") == Some(&Value::Bool(true));
            let request = Request::new(body);
            let turn = request.turn();
            let blocks = shared.reply(request.clone());
            let message = wire::message(&request, &blocks, turn);
            if streams {
                Answer::events(wire::events(&message))
            } else {
                Answer::json(&message)
            }
        }
        ("POST", "/v1/messages/count_tokens") => Answer::json(&json!({"input_tokens": 10})),
        ("GET", "/v1/models") => Answer::json(&json!({"data": [], "has_more": false})),
        _ => Answer::missing(
            &json!({"type": "error", "error": {"type": "not_found_error", "message": "scripted"}}),
        ),
    };
    Ok(answer)
}
