//! A model on 127.0.0.1 that follows a [`Script`], whatever the client speaks.
//!
//! Stateless between requests: the turn is the number of results in the request.

pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod responses;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::http::HttpRequest;
use crate::proposal::{Proposal, Script};
use crate::server::{Answer, Server};

/// The most requests answered from the script; past it every answer ends the turn.
const REQUESTS_MAX: usize = 200;

/// A tool call in the client's own words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// A function with arguments, perhaps within a namespace.
    Function {
        namespace: Option<String>,
        name: String,
        arguments: Value,
    },
    /// A tool that takes plain text.
    Plain { name: &'static str, input: String },
    /// No call, but words of the model.
    Words(String),
}

impl Said {
    /// A function of no namespace.
    pub(crate) fn function(name: impl Into<String>, arguments: Value) -> Said {
        let (namespace, name) = (None, name.into());
        Said::Function {
            namespace,
            name,
            arguments,
        }
    }
}

/// One protocol between clients and models.
pub(crate) trait Wire: Send + Sync + 'static {
    /// Whether the request asks the model to go on.
    fn asks(&self, asked: &HttpRequest) -> bool;

    /// What any other request gets.
    fn aside(&self, asked: &HttpRequest) -> Answer;

    /// Whether the request offers tools; titles and the like do not.
    fn offers(&self, body: &Value) -> bool;

    /// Whether the request offers the tool that is called.
    fn offers_call(&self, body: &Value, said: &Said) -> bool;

    /// The results of tool calls in the request, as the model reads them, in order.
    fn results(&self, body: &Value) -> Vec<String>;

    /// What the model says at `turn`: a call, or that it is done.
    fn say(&self, asked: &HttpRequest, body: &Value, turn: usize, said: Option<&Said>) -> Answer;
}

/// A running scripted model; it stops when dropped.
#[derive(Debug)]
pub(crate) struct Endpoint {
    server: Server,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Endpoint {
    /// Starts a model that speaks `wire` and proposes by `script` in the client's `words`.
    pub(crate) fn start<W: Wire>(
        wire: W,
        script: Script,
        words: impl Fn(&Proposal) -> Said + Send + Sync + 'static,
        only_offered: bool,
    ) -> io::Result<Endpoint> {
        let bodies: Arc<Mutex<Vec<Value>>> = Arc::default();
        let seen = Arc::clone(&bodies);
        let propose = move |wire: &_, body: &Value, turn| {
            let said = script.turn(turn).as_ref().map(&words)?;
            let refused = only_offered && !W::offers_call(wire, body, &said);
            Some(if refused { not_offered(&said) } else { said })
        };
        let server = Server::start(move |asked| respond(asked, &wire, &propose, &mut lock(&seen)))?;
        Ok(Endpoint { server, bodies })
    }

    /// Where a client finds it.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Every request that offered tools, in order of arrival.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        lock(&self.bodies).clone()
    }
}

fn lock(bodies: &Mutex<Vec<Value>>) -> MutexGuard<'_, Vec<Value>> {
    bodies.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the model says where it may not propose a call.
fn not_offered(said: &Said) -> Said {
    Said::Words(format!("this client offers no tool for {said:?}"))
}

fn respond<W: Wire>(
    asked: &HttpRequest,
    wire: &W,
    propose: &impl Fn(&W, &Value, usize) -> Option<Said>,
    seen: &mut Vec<Value>,
) -> io::Result<Answer> {
    if !wire.asks(asked) {
        return Ok(wire.aside(asked));
    }
    let body: Value = serde_json::from_slice(&asked.body).map_err(io::Error::other)?;
    let turn = wire.results(&body).len();
    let mut said = None;
    if wire.offers(&body) {
        seen.push(body.clone());
        if seen.len() <= REQUESTS_MAX {
            said = propose(wire, &body, turn);
        }
    }
    Ok(wire.say(asked, &body, turn, said.as_ref()))
}

/// All text in a result, which is a string or a list of blocks.
fn text_of(content: &Value) -> String {
    let part = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let parts: Vec<String> = blocks.iter().filter_map(part).collect();
            parts.join("\n")
        }
        other => other.to_string(),
    }
}

/// The model's words where it calls nothing.
fn text_said(said: Option<&Said>) -> &str {
    match said {
        Some(Said::Words(text)) => text,
        _ => "done",
    }
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let items = value.get(key).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
