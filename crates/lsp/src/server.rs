//! The server: messages in, messages out, one at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use interlock_formats::{Diagnostic, Source};
use serde_json::{Value, json};

use crate::{
    complete, definition, diagnostics,
    document::Document,
    hover,
    message::{ErrorCode, Incoming, RequestError, notification, position, response, text},
    symbols,
};

/// Finds everything that is wrong with a file.
pub type Check = Box<dyn Fn(&Source) -> Vec<Diagnostic>>;

/// A language server for one client.
///
/// Requests come before diagnostics: a document is checked once no message waits, and only as it is then.
pub struct Server {
    check: Check,
    phase: Phase,
    has_ended: bool,
    inbox: VecDeque<Incoming>,
    outbox: Vec<Value>,
    documents: BTreeMap<String, Document>,
    /// Documents that have changed since they were checked.
    unchecked: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Created,
    Initialized,
    ShutDown,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("phase", &self.phase)
            .field("documents", &self.documents.len())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Makes a server that checks files with `check`.
    #[must_use]
    pub fn new(check: Check) -> Self {
        Self {
            check,
            phase: Phase::Created,
            has_ended: false,
            inbox: VecDeque::new(),
            outbox: Vec::new(),
            documents: BTreeMap::new(),
            unchecked: BTreeSet::new(),
        }
    }

    /// Takes a message in; a request that is cancelled before its turn is answered at once.
    pub fn receive(&mut self, message: Value) {
        let message = Incoming::from(message);
        match &message {
            Incoming::Notification { method, params } if method == "$/cancelRequest" => {
                if let Some(id) = params.get("id") {
                    self.cancel(id);
                }
            }
            _ => self.inbox.push_back(message),
        }
    }

    fn cancel(&mut self, wanted: &Value) {
        let is_it =
            |message: &Incoming| matches!(message, Incoming::Request { id, .. } if id == wanted);
        let Some(at) = self.inbox.iter().position(is_it) else {
            return;
        };
        self.inbox.remove(at);
        let error = RequestError::new(ErrorCode::RequestCancelled, "the request was cancelled");
        self.outbox.push(response(wanted, Err(error)));
    }

    /// Tells whether there is nothing to do before another message comes.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.inbox.is_empty() && self.outbox.is_empty() && self.unchecked.is_empty()
    }

    /// Tells whether the client has asked the server to end.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Tells whether the client has shut the server down, as it has to before it asks it to end.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.phase == Phase::ShutDown
    }

    /// Does one piece of work, and returns what is to be sent.
    pub fn step(&mut self) -> Vec<Value> {
        if let Some(message) = self.inbox.pop_front() {
            self.handle(message);
        } else if let Some(uri) = self.unchecked.pop_first() {
            self.publish(&uri);
        }
        std::mem::take(&mut self.outbox)
    }

    fn handle(&mut self, message: Incoming) {
        match message {
            Incoming::Request { id, method, params } => {
                let result = self.answer(&method, &params);
                self.outbox.push(response(&id, result));
            }
            Incoming::Notification { method, params } => {
                if let Err(error) = self.notice(&method, &params) {
                    let message = response(&Value::Null, Err(error));
                    let text = message.pointer("/error/message").and_then(Value::as_str);
                    let text = format!("{method}: {}", text.unwrap_or_default());
                    let params = json!({ "type": 2, "message": text });
                    self.outbox.push(notification("window/logMessage", params));
                }
            }
            Incoming::Response => {}
            Incoming::Invalid(id) => {
                let error = RequestError::new(ErrorCode::InvalidRequest, "this is no message");
                self.outbox.push(response(&id, Err(error)));
            }
        }
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, RequestError> {
        match (self.phase, method) {
            (Phase::Created, "initialize") => {
                self.phase = Phase::Initialized;
                Ok(capabilities())
            }
            (Phase::Created, _) => Err(RequestError::new(
                ErrorCode::ServerNotInitialized,
                "the first request is `initialize`",
            )),
            (Phase::ShutDown, _) => Err(RequestError::new(
                ErrorCode::InvalidRequest,
                "the server is shut down",
            )),
            (Phase::Initialized, "shutdown") => {
                self.phase = Phase::ShutDown;
                Ok(Value::Null)
            }
            (Phase::Initialized, "initialize") => Err(RequestError::new(
                ErrorCode::InvalidRequest,
                "the server is initialized already",
            )),
            (Phase::Initialized, method) => self.ask(method, params),
        }
    }

    /// Answers a question about a document.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, RequestError> {
        if !ANSWERED.contains(&method) {
            let message = format!("there is no method `{method}`");
            return Err(RequestError::new(ErrorCode::MethodNotFound, message));
        }
        let uri = text(params, "/textDocument/uri")?;
        let Some(document) = self.documents.get_mut(uri) else {
            let message = format!("`{uri}` is not open");
            return Err(RequestError::new(ErrorCode::InvalidParams, message));
        };
        if !document.is_answered() {
            return Ok(Value::Null);
        }
        if method == "textDocument/documentSymbol" {
            return Ok(symbols::symbols(document));
        }
        let byte = document.text.byte(position(params, "/position")?);
        Ok(match method {
            "textDocument/completion" => complete::complete(document, byte),
            "textDocument/hover" => hover::hover(document, byte),
            _ => definition::definition(uri, document, byte),
        })
    }

    fn notice(&mut self, method: &str, params: &Value) -> Result<(), RequestError> {
        match method {
            "exit" => self.has_ended = true,
            _ if self.phase != Phase::Initialized => {}
            "textDocument/didOpen" => {
                let uri = text(params, "/textDocument/uri")?;
                let document =
                    Document::new(uri, version(params), text(params, "/textDocument/text")?);
                self.documents.insert(uri.to_owned(), document);
                self.unchecked.insert(uri.to_owned());
            }
            "textDocument/didChange" => self.change(params)?,
            "textDocument/didSave" => {
                // Another file may have changed meanwhile: what names it is checked again.
                self.unchecked.extend(self.documents.keys().cloned());
            }
            "textDocument/didClose" => {
                let uri = text(params, "/textDocument/uri")?;
                self.unchecked.remove(uri);
                if self.documents.remove(uri).is_some() {
                    self.outbox.push(diagnostics::clear(uri));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn change(&mut self, params: &Value) -> Result<(), RequestError> {
        let uri = text(params, "/textDocument/uri")?;
        let document = self
            .documents
            .get_mut(uri)
            .ok_or_else(|| RequestError::params("/textDocument/uri"))?;
        let changes = params.get("contentChanges").and_then(Value::as_array);
        for change in changes.into_iter().flatten() {
            let range = match change.get("range") {
                None | Some(Value::Null) => None,
                Some(_) => Some((
                    position(change, "/range/start")?,
                    position(change, "/range/end")?,
                )),
            };
            document.change(range, text(change, "/text")?);
        }
        document.version = version(params);
        self.unchecked.insert(uri.to_owned());
        Ok(())
    }

    fn publish(&mut self, uri: &str) {
        let Some(document) = self.documents.get_mut(uri) else {
            return;
        };
        let found = match document.is_workflow() {
            true => (self.check)(&document.source()),
            false => Vec::new(),
        };
        // Names are read while nobody waits, so that the next completion finds them.
        document.names();
        self.outbox
            .push(diagnostics::publish(uri, document, &found));
    }
}

/// The methods that are answered about a document.
const ANSWERED: [&str; 4] = [
    "textDocument/completion",
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/documentSymbol",
];

fn version(params: &Value) -> i64 {
    params
        .pointer("/textDocument/version")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Says what the server can do.
fn capabilities() -> Value {
    json!({
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {
                "openClose": true,
                "change": 2,
                "save": { "includeText": false },
            },
            "completionProvider": { "triggerCharacters": [":", " ", "\"", "[", "{", ","] },
            "hoverProvider": true,
            "definitionProvider": true,
            "documentSymbolProvider": true,
        },
        "serverInfo": { "name": "interlock", "version": env!("CARGO_PKG_VERSION") },
    })
}
