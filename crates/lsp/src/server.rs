//! The server: messages in, messages out, one at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use crate::{
    complete, definition, diagnostics,
    document::Document,
    hover,
    job::{Checked, Job},
    message::{ErrorCode, Incoming, RequestError, notification, position, response, text},
    symbols,
};

/// A language server for one client.
///
/// Requests come before diagnostics: [`Server::job`] returns a document only when no message waits, and the
/// results are published only if the document is still the same.
#[derive(Default)]
pub struct Server {
    phase: Phase,
    has_ended: bool,
    inbox: VecDeque<Incoming>,
    outbox: Vec<Value>,
    documents: BTreeMap<String, Document>,
    /// Documents that have changed since they were checked.
    unchecked: BTreeSet<String>,
    /// Whether a document is being checked.
    is_checking: bool,
    /// The number of changes of all documents so far.
    changes: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
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
    /// Makes a server.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Receives a message; a request that is cancelled before its turn is answered at once.
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

    /// Returns whether [`Server::step`] has nothing to do and nothing to send.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.inbox.is_empty() && self.outbox.is_empty()
    }

    /// Returns the next document to be checked; `None` if there is none, messages wait, or a check is running.
    pub fn job(&mut self) -> Option<Job> {
        if !self.is_idle() || self.is_checking {
            return None;
        }
        let uri = self.unchecked.pop_first()?;
        let document = self.documents.get(&uri)?;
        self.is_checking = true;
        Some(Job {
            edition: document.edition,
            source: document.source(),
            was_workflow: document.was_workflow(),
            uri,
        })
    }

    /// Receives the results of a check and publishes them.
    pub fn finish(&mut self, checked: Checked) {
        self.is_checking = false;
        let document = self.documents.get_mut(&checked.uri);
        // A document that has changed meanwhile is checked again.
        let Some(document) = document.filter(|one| one.edition == checked.edition) else {
            return;
        };
        document.learn(checked.is_workflow, checked.names);
        let message = diagnostics::publish(&checked.uri, document, &checked.found);
        self.outbox.push(message);
    }

    /// Returns whether the client has asked the server to end.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns whether the client has shut the server down, as it must before it asks it to end.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.phase == Phase::ShutDown
    }

    /// Does one piece of work, and returns the messages to be sent.
    pub fn step(&mut self) -> Vec<Value> {
        if let Some(message) = self.inbox.pop_front() {
            self.handle(message);
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
                let error = RequestError::new(ErrorCode::InvalidRequest, "this is not a message");
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
                self.touch(uri);
            }
            "textDocument/didChange" => self.change(params)?,
            "textDocument/didSave" => {
                // Another file may have changed meanwhile: the files that refer to it are checked again.
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
        self.touch(uri);
        Ok(())
    }

    /// Marks a document as unchecked.
    fn touch(&mut self, uri: &str) {
        self.changes += 1;
        if let Some(document) = self.documents.get_mut(uri) {
            document.edition = self.changes;
            self.unchecked.insert(uri.to_owned());
        }
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

/// Returns the capabilities of the server.
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
