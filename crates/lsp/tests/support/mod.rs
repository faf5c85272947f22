//! A client that talks to a server in the same process.

use interlock_formats::{NoWorkflows, check};
use interlock_lsp::{Position, Server, Text};
use serde_json::{Value, json};

pub(crate) const URI: &str = "file:///p/.interlock/workflows/flow.yaml";

pub(crate) const FLOW: &str = "id: flow
initial: draft
context: {checked: false}
states:
  draft:
    allowed_tools: [Read, TodoWrite]
    max_iterations: 3
    on:
      SHIP: {target: done, guard: checked, requires_approval: true, approval_message: Ship it?}
      CHECK: draft
      DROP: failed
  done: {type: final}
  failed: {type: final}
guards:
  checked: {field: checked, op: eq, value: true}
";

pub(crate) struct Client {
    server: Server,
    received: Vec<Value>,
    next: u64,
}

impl Client {
    /// Starts a server and initializes it.
    pub(crate) fn new() -> Self {
        let mut client = Self {
            server: Server::new(),
            received: Vec::new(),
            next: 0,
        };
        client.request("initialize", &json!({ "capabilities": {} }));
        client.notify("initialized", &json!({}));
        client
    }

    pub(crate) fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Runs the server until no work is left.
    pub(crate) fn settle(&mut self) {
        loop {
            while !self.server.is_idle() {
                self.received.extend(self.server.step());
            }
            let Some(job) = self.server.job() else {
                return;
            };
            let checked = job.run(&|source| check(source, &NoWorkflows));
            self.server.finish(checked);
        }
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.server
            .receive(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns the result.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.server
            .receive(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.settle();
        let answers = self.received.iter().filter(|one| one["id"] == id);
        let answers: Vec<&Value> = answers.collect();
        assert_eq!(answers.len(), 1, "one answer to {method}: {answers:?}");
        assert!(
            answers[0].get("error").is_none(),
            "{method}: {}",
            answers[0]
        );
        answers[0]["result"].clone()
    }

    /// Opens a document and returns its diagnostics.
    pub(crate) fn open(&mut self, uri: &str, text: &str) -> Value {
        let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        self.published(uri)["diagnostics"].clone()
    }

    /// Opens a document and returns the position of `|` in it, which is removed.
    pub(crate) fn open_at(&mut self, uri: &str, text: &str) -> (usize, usize) {
        let at = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        self.open(uri, &text);
        let Position { line, character } = Text::new(text).position(at);
        (line, character)
    }

    /// Sends a request about a position in a document.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        uri: &str,
        (line, character): (usize, usize),
    ) -> Value {
        let position = json!({ "line": line, "character": character });
        let document = json!({ "uri": uri });
        self.request(
            method,
            &json!({ "textDocument": document, "position": position }),
        )
    }

    /// Returns the latest diagnostics of a document.
    pub(crate) fn published(&mut self, uri: &str) -> Value {
        self.settle();
        let said = self.received.iter().rev().find(|one| {
            one["method"] == "textDocument/publishDiagnostics" && one["params"]["uri"] == uri
        });
        said.unwrap_or_else(|| panic!("nothing was said about {uri}"))["params"].clone()
    }
}
