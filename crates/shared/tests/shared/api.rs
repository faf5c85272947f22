//! A server of a log as a process of its own, and a plain client for it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use interlock_core::names::RunId;
use interlock_shared::{Database, Role, SharedRuns};
use interlock_store::RunStore as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    server::{ROLE, Server, server},
    world::{World, propose},
};

/// A workflow with an approval at its end.
const WORKFLOW: &str = "id: fix
initial: working
states:
  working:
    allowed_tools: [Read, Edit]
    max_iterations: 1000
    on:
      DONE: {target: done, requires_approval: true}
      NOTE: working
  done: {type: final}
";

/// A reply of the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Returns the code of the error.
    pub(crate) fn code(&self) -> String {
        let code = &self.json()["error"]["code"];
        code.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn is_repeated(&self) -> bool {
        self.head.contains("idempotent-replayed: true")
    }
}

/// A running server; killed when dropped.
pub(crate) struct Served {
    process: Child,
    at: String,
    _state: TempDir,
    errors: PathBuf,
}

impl Served {
    /// Starts the program with the database at `words`.
    pub(crate) fn start(words: &str) -> Self {
        Self::start_with(words, &[])
    }

    /// Starts the program with more options.
    pub(crate) fn start_with(words: &str, options: &[&str]) -> Self {
        let state = TempDir::new().unwrap();
        let errors = state.path().join("errors");
        let mut process = command(words, &state)
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{line}{}", std::fs::read_to_string(&errors).unwrap()));
        let at = said["url"].as_str().unwrap().replace("http://", "");
        Self {
            process,
            at,
            _state: state,
            errors,
        }
    }

    /// Kills the server at once.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Sends a signal to the server.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Returns the address that it listens on.
    pub(crate) fn address(&self) -> &str {
        &self.at
    }

    /// Returns what the server has written to standard error.
    pub(crate) fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    /// Sends the bytes of a request and returns the reply; `None` if the connection ended without one.
    pub(crate) fn send(&self, request: &str) -> Option<Reply> {
        send_to(&self.at, request)
    }

    /// Sends a request with `headers`.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[String], body: &str) -> Reply {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.at
        );
        for header in headers {
            request.push_str(header);
            request.push_str("\r\n");
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        self.send(&request).unwrap()
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> Reply {
        self.ask("GET", path, &[bearer(token)], "")
    }

    /// Returns the lines that a reply is sent in, as far as it was sent.
    pub(crate) fn get_lines(&self, token: &str, path: &str) -> String {
        let url = format!("http://{}{path}", self.at);
        let mut command = Command::new("curl");
        let said = command
            .args(["-sS", "-H", &bearer(token), &url])
            .output()
            .unwrap();
        String::from_utf8(said.stdout).unwrap()
    }

    pub(crate) fn post(&self, token: &str, path: &str, key: &str, body: &Value) -> Reply {
        self.post_text(token, path, key, &body.to_string())
    }

    pub(crate) fn post_text(&self, token: &str, path: &str, key: &str, body: &str) -> Reply {
        let headers = [
            bearer(token),
            format!("Idempotency-Key: {key}"),
            "Content-Type: application/json".to_owned(),
        ];
        self.ask("POST", path, &headers, body)
    }

    /// Starts a run and returns its id.
    pub(crate) fn run(&self, token: &str) -> String {
        let key = crate::server::new_name("k");
        let reply = self.post(token, "/v1/runs", &key, &start_body());
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["run"].as_str().unwrap().to_owned()
    }

    /// Sends a command that must be decided, and returns the decision.
    #[track_caller]
    pub(crate) fn decide(&self, token: &str, run: &str, key: &str, command: Value) -> Value {
        let reply = self.command(token, run, key, command);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    pub(crate) fn command(&self, token: &str, run: &str, key: &str, command: Value) -> Reply {
        let body = json!({ "command": command });
        self.post(token, &format!("/v1/runs/{run}/commands"), key, &body)
    }

    pub(crate) fn answer(&self, token: &str, run: &str, request: &Value, seen: &Value) -> Reply {
        let body = json!({ "request": request, "yes": true, "seen": seen });
        let key = crate::server::new_name("a");
        self.post(token, &format!("/v1/runs/{run}/answers"), &key, &body)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A database of its own with the tenant `acme`, and a server for it.
pub(crate) struct Fleet<'a> {
    pub(crate) server: &'a Server,
    pub(crate) name: String,
    pub(crate) acme: Database,
    pub(crate) served: Served,
}

impl Fleet<'_> {
    pub(crate) fn new() -> Option<Self> {
        let server = server()?;
        let name = server.new_database();
        let acme = server.tenant_in(&name, "acme");
        let served = Served::start(&server.words(&name, ROLE));
        Some(Self {
            server,
            name,
            acme,
            served,
        })
    }

    pub(crate) fn token(&self, role: Role, subject: &str) -> String {
        token(&self.acme, role, subject)
    }

    /// Checks the whole log of a run and returns the number of its events.
    pub(crate) fn verified(&self, run: &str) -> u64 {
        let world = World::new();
        let runs = SharedRuns::new(self.acme.clone(), world.home.path(), None);
        let run = RunId::new(run);
        runs.open_run(&run).unwrap().verify().unwrap()
    }
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        self.served.kill();
        self.server.drop_database(&self.name);
    }
}

/// Sends the bytes of a request and returns the whole reply; `None` if there was none.
pub(crate) fn send_to(address: &str, request: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).ok()?;
    // The server may refuse the head and close before it has read the body.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, text) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let head = head.to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    // A server may be killed while it answers.
    let is_whole = length.is_none_or(|length| length.parse() == Ok(text.len()));
    is_whole.then(|| Reply {
        status,
        head,
        text: text.to_owned(),
    })
}

/// Returns the program with the database at `words`.
pub(crate) fn command(words: &str, state: &TempDir) -> Command {
    let mut command = Command::new(crate::programs::shared());
    command
        .env_clear()
        .env("XDG_STATE_HOME", state.path())
        .env("HOME", state.path())
        .env("INTERLOCK_DATABASE", words);
    command
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

pub(crate) fn start_body() -> Value {
    json!({ "workflow": { "name": "fix.yaml", "text": WORKFLOW }, "name": "a fix" })
}

/// Returns a command that has a call of `tool` judged.
pub(crate) fn proposal(id: &str, tool: &str) -> Value {
    let interlock_core::command::CommandKind::Propose(mut call) = propose(id).kind else {
        panic!("a proposal");
    };
    call.tool = tool.to_owned();
    json!({ "propose": call })
}

pub(crate) fn done() -> Value {
    json!({ "transition": { "event": "DONE" } })
}

pub(crate) fn token(database: &Database, role: Role, subject: &str) -> String {
    database.make_token(role, subject, 1).unwrap().1
}
