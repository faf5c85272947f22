//! A model provider on 127.0.0.1 that speaks every model protocol, and fails as a test demands.
//!
//! The path of a request determines the protocol, so that one provider serves our own client and the real ones. The
//! answer is a function of the request: of its number, and of the messages in it, so that a client that repeats a
//! request can get the same answer again.

#![expect(
    clippy::indexing_slicing,
    reason = "absent keys of a JSON value are null"
)]

mod request;
mod wire;

use std::borrow::Borrow;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::{self, End};
use crate::server::{Answer, Server};

pub use request::{Call, ModelRequest, calls};
pub use wire::{Wire, stream};

/// Maximum number of requests answered from a script; any further one gets a permanent error.
const REQUESTS_MAX: usize = 10_000;
/// Maximum number of requests of a real client answered from a script; any further answer ends the turn.
const SESSION_REQUESTS_MAX: usize = 200;

/// A part of a model's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    /// Text.
    Text(String),
    /// Thinking, signed if the protocol signs it.
    Thinking(String),
    /// A call.
    Call {
        /// The tool.
        name: String,
        /// The arguments as text, which need not be JSON in protocols that send them as text.
        arguments: String,
        /// The kind of tool.
        tool: Tool,
    },
}

/// A kind of tool; only the Responses protocol distinguishes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tool {
    /// A function.
    Function,
    /// A function in this namespace.
    In(String),
    /// A tool that takes plain text.
    Text,
}

/// Returns a text part.
pub fn text(text: impl Into<String>) -> Say {
    Say::Text(text.into())
}

/// Returns a call of a tool.
pub fn call(name: impl Into<String>, arguments: impl Borrow<Value>) -> Say {
    let arguments: &Value = arguments.borrow();
    raw_call(name, arguments.to_string())
}

/// Returns a call of a tool with arguments exactly as written.
pub fn raw_call(name: impl Into<String>, arguments: impl Into<String>) -> Say {
    Say::Call {
        name: name.into(),
        arguments: arguments.into(),
        tool: Tool::Function,
    }
}

/// The reason why a message ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model is done, or waits for its tools.
    Done,
    /// The output limit was reached.
    Length,
    /// The provider refuses to generate the content.
    Refused,
}

/// The response to a request.
#[derive(Debug, Clone)]
pub struct Reply {
    what: What,
    conversation: String,
    headers: Vec<(String, String)>,
    piece_bytes: usize,
    cut: Option<(usize, End)>,
}

#[derive(Debug, Clone)]
enum What {
    Say(Vec<Say>, Stop),
    Status(u16, String),
    Raw(Vec<u8>),
}

impl Reply {
    fn new(what: What) -> Reply {
        Reply {
            what,
            conversation: String::new(),
            headers: Vec::new(),
            piece_bytes: usize::MAX,
            cut: None,
        }
    }

    /// Returns a complete message.
    pub fn say(said: Vec<Say>) -> Reply {
        Reply::stopped(said, Stop::Done)
    }

    /// Returns a complete message that ends for this reason.
    pub fn stopped(said: Vec<Say>, stop: Stop) -> Reply {
        Reply::new(What::Say(said, stop))
    }

    /// Returns an HTTP error with a JSON body.
    pub fn status(status: u16, body: &Value) -> Reply {
        Reply::new(What::Status(status, body.to_string()))
    }

    /// Returns an HTTP error with a body that is not JSON.
    pub fn page(status: u16, body: &str) -> Reply {
        Reply::new(What::Status(status, body.to_owned()))
    }

    /// Returns these bytes as a stream.
    pub fn raw(body: impl Into<Vec<u8>>) -> Reply {
        Reply::new(What::Raw(body.into()))
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in pieces of this many bytes.
    #[must_use]
    pub fn in_pieces(mut self, bytes: usize) -> Reply {
        self.piece_bytes = bytes.max(1);
        self
    }

    /// Breaks the connection after this many bytes.
    #[must_use]
    pub fn broken_at(mut self, bytes: usize) -> Reply {
        self.cut = Some((bytes, End::Broken));
        self
    }

    /// Ends the body after this many bytes as if it were complete.
    #[must_use]
    pub fn ended_at(mut self, bytes: usize) -> Reply {
        self.cut = Some((bytes, End::Whole));
        self
    }

    /// Sends nothing more after this many bytes.
    #[must_use]
    pub fn silent_at(mut self, bytes: usize) -> Reply {
        self.cut = Some((bytes, End::Silent));
        self
    }

    fn answer(self, asked: &ModelRequest) -> Answer {
        let (status, kind, body) = match self.what {
            What::Say(said, stop) => {
                let message = wire::Message {
                    model: asked.model(),
                    conversation: &self.conversation,
                    turn: asked.turn,
                    said: &said,
                    stop,
                };
                let (kind, body) = asked.wire.write(asked.wants_stream(), &message);
                (200, kind, body.into_bytes())
            }
            What::Raw(body) => (200, asked.wire.stream_type(), body),
            What::Status(status, body) => (status, "application/json", body.into_bytes()),
        };
        let mut headers = self.headers;
        if !headers.iter().any(|(name, _)| name == "content-type") {
            headers.push(("content-type".to_owned(), kind.to_owned()));
        }
        let (bytes, end) = self.cut.unwrap_or((usize::MAX, End::Whole));
        let body = body.get(..bytes).unwrap_or(&body);
        Answer::Pieces {
            status: format!("{status} Scripted"),
            headers,
            pieces: body
                .chunks(self.piece_bytes.min(body.len().max(1)))
                .map(<[u8]>::to_vec)
                .collect(),
            end,
        }
    }
}

impl From<Vec<Say>> for Reply {
    fn from(said: Vec<Say>) -> Reply {
        Reply::say(said)
    }
}

type Replying = dyn Fn(&ModelRequest) -> Reply + Send + Sync;

/// A function that gives the response to each request.
#[derive(Clone)]
pub struct Script(Arc<Replying>);

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script(..)")
    }
}

impl Script {
    /// Replies by a function of the request.
    pub fn new<R: Into<Reply>>(
        reply: impl Fn(&ModelRequest) -> R + Send + Sync + 'static,
    ) -> Script {
        Script(Arc::new(move |asked| reply(asked).into()))
    }

    /// Sends the given messages, by the number of the model's messages in the request; then `done`.
    pub fn turns(turns: Vec<Vec<Say>>) -> Script {
        Script::new(move |asked| {
            let said = turns.get(asked.turn).cloned();
            Reply::say(said.unwrap_or_else(|| vec![text("done")]))
        })
    }

    /// Makes the given calls, the next one after each round of results; then `done`.
    pub fn calls(calls: Vec<Say>) -> Script {
        Script::new(move |asked| {
            let call = calls.get(asked.rounds()).cloned();
            vec![call.unwrap_or_else(|| text("done"))]
        })
    }

    /// Sends the given replies, by the number of the request; then repeats the last.
    pub fn replies(replies: Vec<Reply>) -> Script {
        Script::new(move |asked| {
            let reply = replies.get(asked.number).or_else(|| replies.last());
            reply
                .cloned()
                .unwrap_or_else(|| Reply::say(vec![text("done")]))
        })
    }

    /// Sends these replies to the first requests instead.
    #[must_use]
    pub fn after(self, first: Vec<Reply>) -> Script {
        Script::new(move |asked| match first.get(asked.number) {
            Some(reply) => reply.clone(),
            None => (self.0)(asked),
        })
    }

    /// Adapts the script to a session of a real client.
    ///
    /// A request without tools is a side request and gets a short answer, an endless session is ended, and each
    /// conversation of Claude Code has unique call ids.
    #[must_use]
    pub fn in_session(self) -> Script {
        Script::new(move |asked| {
            let mut reply = if asked.number >= SESSION_REQUESTS_MAX {
                Reply::say(vec![text("the script is over")])
            } else if asked.offers_tools() {
                (self.0)(asked)
            } else {
                Reply::say(vec![text(asked.wire.side_answer())])
            };
            reply.conversation = asked.conversation();
            reply
        })
    }
}

/// A running provider; it stops when dropped.
#[derive(Debug)]
pub struct Provider {
    server: Server,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Provider {
    /// Starts a provider on a free port of 127.0.0.1.
    pub fn start(script: Script) -> io::Result<Provider> {
        let asked: Arc<Mutex<Vec<ModelRequest>>> = Arc::default();
        let seen = Arc::clone(&asked);
        let server = Server::start(move |request| respond(request, &script, &seen))?;
        Ok(Provider { server, asked })
    }

    /// Returns its address, for environment variables that set a base URL.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Returns every request for a message so far, in order of arrival.
    pub fn asked(&self) -> Vec<ModelRequest> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn respond(
    request: &http::HttpRequest,
    script: &Script,
    seen: &Mutex<Vec<ModelRequest>>,
) -> io::Result<Answer> {
    let Some(wire) = Wire::of(&request.method, &request.path) else {
        return Ok(wire::other_request(&request.method, &request.path));
    };
    let body: Value = serde_json::from_slice(&request.body).map_err(io::Error::other)?;
    let mut all = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = ModelRequest {
        wire,
        path: request.path.clone(),
        headers: request.headers.clone(),
        turn: wire.turn(&body),
        body,
        bytes: request.body.clone(),
        number: all.len(),
    };
    all.push(asked.clone());
    let is_over = all.len() > REQUESTS_MAX;
    drop(all);
    if is_over {
        let over = json!({"error": {"message": "scripted: the script is over"}});
        return Ok(Reply::status(400, &over).answer(&asked));
    }
    Ok((script.0)(&asked).answer(&asked))
}
