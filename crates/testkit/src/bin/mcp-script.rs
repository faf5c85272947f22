//! A scriptable MCP server over stdio, for behavior that well-behaved servers never show.
//!
//! Its one argument is a JSON object ([`Settings`]). Calls of the tool `do` contain the `steps` to perform; all other
//! requests get a short answer. A request whose method begins with `echo/` is answered with the request itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, OpenOptions},
    io::{self, BufRead, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use serde_json::{Map, Value, json};

/// The settings of the server.
#[derive(Debug, Default)]
struct Settings {
    /// The file to which every received line is appended.
    log: Option<File>,
    /// Tools besides `do`.
    tools: Vec<Value>,
    /// Number of tools per page.
    page: usize,
    /// Fixed results of methods.
    results: Map<String, Value>,
    /// Methods that are never answered.
    mute: BTreeSet<String>,
    /// Steps to perform when a client has connected.
    greeting: Vec<Value>,
    /// Whether the server supports only the protocol version without sessions.
    is_modern: bool,
}

#[derive(Debug, Default)]
struct Server {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    settings: Settings,
    /// Ids of calls that the client has cancelled, as JSON.
    cancelled: BTreeSet<String>,
    /// Answers from the client, by the id of the question.
    answers: BTreeMap<String, Value>,
    asked: u64,
    /// Number of requests for the list of tools that fail.
    lists_failing: usize,
    /// Number of calls that wait for each other, and the one whose turn it is.
    gathered: usize,
    turn: usize,
}

fn main() -> io::Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "{}".to_owned());
    let server = Arc::new(Server::default());
    server.lock().settings = Settings::read(&argument)?;
    let mut lines = io::stdin().lock();
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        server.take(&line)?;
        line.clear();
    }
    Ok(())
}

impl Settings {
    fn read(text: &str) -> io::Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let list = |name: &str| value.get(name).and_then(Value::as_array).cloned();
        let log = match value.get("log").and_then(Value::as_str) {
            Some(path) => Some(OpenOptions::new().create(true).append(true).open(path)?),
            None => None,
        };
        let many = number(value.get("many")).unwrap_or(0);
        let mut tools = list("tools").unwrap_or_default();
        tools.extend((0..many).map(|index| tool(&format!("tool_{index:04}"))));
        let mute = list("mute").unwrap_or_default();
        Ok(Self {
            log,
            tools,
            page: number(value.get("page")).unwrap_or(usize::MAX),
            results: value
                .get("results")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            mute: mute
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            greeting: list("greeting").unwrap_or_default(),
            is_modern: value.get("era") == Some(&json!("modern")),
        })
    }
}

impl Server {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles one line from the client.
    fn take(self: &Arc<Self>, line: &[u8]) -> io::Result<()> {
        if let Some(log) = &mut self.lock().settings.log {
            log.write_all(line)?;
        }
        let message: Value = serde_json::from_slice(line)?;
        let method = message
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let id = message.get("id").cloned();
        match (id, method.as_str()) {
            (None, "notifications/cancelled") => {
                let id = message
                    .pointer("/params/requestId")
                    .cloned()
                    .unwrap_or_default();
                self.lock().cancelled.insert(id.to_string());
                self.changed.notify_all();
            }
            (None, "notifications/initialized") => self.start(message, true),
            (None, _) => {}
            (Some(id), "") => {
                self.lock().answers.insert(id.to_string(), message);
                self.changed.notify_all();
            }
            (Some(_), "tools/call") => self.start(message, false),
            (Some(id), method) => {
                if let Some(answer) = self.short(method, &message) {
                    say(&with_id(answer, &id))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the answer to a request other than a call; `None` if it is never answered.
    fn short(&self, method: &str, message: &Value) -> Option<Value> {
        let mut state = self.lock();
        if state.settings.mute.contains(method) {
            return None;
        }
        if let Some(result) = state.settings.results.get(method) {
            return Some(json!({ "result": result }));
        }
        let is_modern = state.settings.is_modern;
        Some(match method {
            "initialize" if !is_modern => json!({"result": {
                "protocolVersion": message.pointer("/params/protocolVersion"),
                "capabilities": capabilities(),
                "serverInfo": {"name": "script", "version": "1", "unknown": {"kept": true}},
                "instructions": "Do as you are told.",
                "unknown": [1, 2.50, 12345678901234567890_u64],
            }}),
            "server/discover" if is_modern => json!({"result": {
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": ["2026-07-28"], "capabilities": capabilities(),
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "script", "version": "1"}},
            }}),
            "ping" if !is_modern => json!({"result": {}}),
            "tools/list" if state.lists_failing > 0 => {
                state.lists_failing -= 1;
                json!({"error": {"code": -32603, "message": "no list today"}})
            }
            "tools/list" => json!({"result": state.page(message)}),
            _ if method.starts_with("echo/") => json!({"result": {"echo": message}}),
            _ => {
                json!({"error": {"code": -32601, "message": "method not found", "data": {"method": method}}})
            }
        })
    }

    /// Performs the steps of a message on a separate thread.
    fn start(self: &Arc<Self>, message: Value, is_greeting: bool) {
        let server = Arc::clone(self);
        thread::spawn(move || {
            let steps = if is_greeting {
                server.lock().settings.greeting.clone()
            } else {
                let steps = message.pointer("/params/arguments/steps");
                steps.and_then(Value::as_array).cloned().unwrap_or_default()
            };
            let call = Call {
                server,
                message,
                answers: Vec::new(),
                answer: None,
            };
            // If the client has disconnected, the process ends anyway.
            drop(call.run(&steps, is_greeting));
        });
    }
}

impl State {
    fn page(&self, message: &Value) -> Value {
        let tools = [&[tool("do")], &self.settings.tools[..]].concat();
        let cursor = message.pointer("/params/cursor").and_then(Value::as_str);
        let from = cursor
            .and_then(|cursor| cursor.strip_prefix("from:")?.parse().ok())
            .unwrap_or(0);
        let mut tools = tools.into_iter().skip(from);
        let page: Vec<Value> = tools.by_ref().take(self.settings.page).collect();
        let next = from + page.len();
        let mut result = json!({"tools": page, "unknown": "kept"});
        if self.settings.is_modern {
            result = merged(
                result,
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
            );
        }
        if tools.next().is_some() {
            result = merged(result, json!({"nextCursor": format!("from:{next}")}));
        }
        result
    }
}

/// A call, or the greeting, whose steps are being performed.
struct Call {
    server: Arc<Server>,
    message: Value,
    answers: Vec<Value>,
    answer: Option<Value>,
}

impl Call {
    fn run(mut self, steps: &[Value], is_greeting: bool) -> io::Result<()> {
        let mut turn = None;
        for step in steps {
            for (name, value) in step.as_object().into_iter().flatten() {
                match name.as_str() {
                    "gather" => turn = Some(self.gather(number(Some(value)).unwrap_or(0))),
                    "hang" => return Ok(()),
                    _ => self.step(name, value)?,
                }
            }
        }
        if !is_greeting {
            let plain = self.plain();
            let id = self.message.get("id").cloned().unwrap_or_default();
            say(&with_id(self.answer.take().unwrap_or(plain), &id))?;
        }
        if turn.is_some() {
            let mut state = self.server.lock();
            state.turn = state.turn.saturating_sub(1);
            self.server.changed.notify_all();
        }
        Ok(())
    }

    /// Returns the default answer: the client's answers, the call's `_meta` and this process's id.
    fn plain(&self) -> Value {
        let meta = self.message.pointer("/params/_meta");
        let told = json!({"answers": self.answers, "meta": meta, "pid": std::process::id()});
        let content = json!([{"type": "text", "text": told.to_string()}]);
        let mut result = json!({"content": content, "structuredContent": told});
        if self.server.lock().settings.is_modern {
            result = merged(result, json!({"resultType": "complete"}));
        }
        json!({ "result": result })
    }

    fn step(&mut self, name: &str, value: &Value) -> io::Result<()> {
        match name {
            "send" => say(&self.filled(value))?,
            "raw" => say_bytes(value.as_str().unwrap_or_default().as_bytes())?,
            "bytes" => {
                let bytes: Vec<u8> = serde_json::from_value(value.clone())?;
                say_bytes(&bytes)?;
            }
            "flood" => {
                let times = number(value.get("times")).unwrap_or(0);
                let message = self.filled(value.get("message").unwrap_or(&Value::Null));
                for _ in 0..times {
                    say(&message)?;
                }
            }
            "ask" => {
                let answer = self.ask(&self.filled(value))?;
                self.answers.push(answer);
            }
            "until_cancelled" => self.until_cancelled(),
            "set_tools" => {
                self.server.lock().settings.tools = value.as_array().cloned().unwrap_or_default();
            }
            "fail_lists" => {
                self.server.lock().lists_failing = number(Some(value)).unwrap_or(0);
            }
            "exit" => std::process::exit(
                number(Some(value))
                    .and_then(|code| i32::try_from(code).ok())
                    .unwrap_or(1),
            ),
            "text" => {
                let text = "x".repeat(number(Some(value)).unwrap_or(0));
                self.answer =
                    Some(json!({"result": {"content": [{"type": "text", "text": text}]}}));
            }
            "echo" => {
                let text = self.message.to_string();
                self.answer =
                    Some(json!({"result": {"content": [{"type": "text", "text": text}]}}));
            }
            "result" => self.answer = Some(json!({ "result": self.filled(value) })),
            "error" => self.answer = Some(json!({ "error": self.filled(value) })),
            other => {
                let message = format!("`{other}` is not a step");
                self.answer = Some(json!({"error": {"code": -32602, "message": message}}));
            }
        }
        Ok(())
    }

    /// Sends a question to the client and waits for the answer.
    fn ask(&self, question: &Value) -> io::Result<Value> {
        let mut state = self.server.lock();
        state.asked += 1;
        let id = json!(format!("question-{}", state.asked));
        drop(state);
        say(&with_id(question.clone(), &id))?;
        let key = id.to_string();
        let state = self.server.lock();
        let waits = |state: &mut State| !state.answers.contains_key(&key);
        let waited = self.server.changed.wait_while(state, waits);
        let answer = waited
            .unwrap_or_else(PoisonError::into_inner)
            .answers
            .remove(&key);
        Ok(answer.unwrap_or_default())
    }

    fn until_cancelled(&self) {
        let id = self
            .message
            .get("id")
            .cloned()
            .unwrap_or_default()
            .to_string();
        let waits = |state: &mut State| !state.cancelled.contains(&id);
        drop(self.server.changed.wait_while(self.server.lock(), waits));
    }

    /// Waits until `count` calls wait here; then they continue one by one, the last first.
    fn gather(&self, count: usize) -> usize {
        let mut state = self.server.lock();
        state.gathered += 1;
        let own = state.gathered;
        if own == count {
            state.turn = count;
        }
        self.server.changed.notify_all();
        let waits = |state: &mut State| state.gathered < count || state.turn != own;
        drop(self.server.changed.wait_while(state, waits));
        own
    }

    /// Replaces `$id` and `$token` by the call's id and progress token.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text == "$id" => {
                self.message.get("id").cloned().unwrap_or_default()
            }
            Value::String(text) if text == "$token" => self
                .message
                .pointer("/params/_meta/progressToken")
                .cloned()
                .unwrap_or_default(),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(fields) => {
                let filled = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), self.filled(value)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }
}

fn tool(name: &str) -> Value {
    json!({
        "name": name, "description": format!("Is called {name}."), "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}, "_meta": {"kept": name}, "unknown": "kept",
    })
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "logging": {}, "experimental": {"unknown": {"kept": true}}})
}

fn number(value: Option<&Value>) -> Option<usize> {
    value?
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
}

fn merged(mut value: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
        fields.extend(more);
    }
    value
}

fn with_id(message: Value, id: &Value) -> Value {
    merged(json!({"jsonrpc": "2.0", "id": id}), message)
}

fn say(message: &Value) -> io::Result<()> {
    let whole = merged(json!({"jsonrpc": "2.0"}), message.clone());
    say_bytes(whole.to_string().as_bytes())
}

/// Writes one line in a single write, because other threads write, too.
fn say_bytes(line: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(&[line, b"\n"].concat())?;
    stdout.flush()
}
