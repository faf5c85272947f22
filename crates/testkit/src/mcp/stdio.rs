//! A client of an MCP server process.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::processes;

/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server process and its messages.
#[derive(Debug)]
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    errors: Option<thread::JoinHandle<String>>,
    /// Messages that no test has taken yet.
    kept: Vec<Value>,
    asked: u64,
}

/// The result of a server process.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Messages that no test has taken.
    pub rest: Vec<Value>,
    /// Its standard error.
    pub stderr: String,
}

impl Client {
    /// Starts a server without sending anything.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command) -> io::Result<Client> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = processes::in_own_group(&mut command).spawn()?;
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                let mut stdout = BufReader::new(stdout);
                let mut line = Vec::new();
                while stdout
                    .read_until(b'\n', &mut line)
                    .is_ok_and(|read| read > 0)
                {
                    if sender.send(std::mem::take(&mut line)).is_err() {
                        return;
                    }
                }
            });
        }
        let errors = child.stderr.take().map(|mut stderr| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                drop(stderr.read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        let stdin = child.stdin.take();
        Ok(Client {
            child,
            stdin,
            lines,
            errors,
            kept: Vec::new(),
            asked: 0,
        })
    }

    /// Starts a server and opens a session; returns the client with the answer to `initialize`.
    ///
    /// # Errors
    /// It cannot be started or does not answer.
    pub fn open(
        command: Command,
        version: &str,
        capabilities: &Value,
    ) -> io::Result<(Client, Value)> {
        let mut client = Client::start(command)?;
        let hello = json!({
            "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "scripted", "version": "1"},
        });
        let id = client.ask("initialize", &hello)?;
        let answer = client.answer(&id)?;
        client.tell("notifications/initialized", &json!({}))?;
        Ok((client, answer))
    }

    /// Returns the process id of the server.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes raw bytes.
    ///
    /// # Errors
    /// The server does not accept input any more.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stdin = self.stdin.as_mut();
        let stdin = stdin.ok_or_else(|| io::Error::other("standard input is closed"))?;
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// Writes one message.
    ///
    /// # Errors
    /// The server does not accept input any more.
    pub fn send(&mut self, message: &Value) -> io::Result<()> {
        self.write(format!("{message}\n").as_bytes())
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// The server does not accept input any more.
    pub fn tell(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Sends a request with a new id and returns the id.
    ///
    /// # Errors
    /// The server does not accept input any more.
    pub fn ask(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.asked += 1;
        let id = json!(self.asked);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    /// Calls a tool and returns the id of the request.
    ///
    /// # Errors
    /// The server does not accept input any more.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request and waits for its answer, a whole message with `result` or `error`.
    ///
    /// # Errors
    /// The server ends or does not answer.
    pub fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let id = self.ask(method, params)?;
        self.answer(&id)
    }

    /// Waits for the answer to a request.
    ///
    /// # Errors
    /// The server ends or does not answer.
    pub fn answer(&mut self, id: &Value) -> io::Result<Value> {
        self.wait_for(|message| message.get("method").is_none() && message.get("id") == Some(id))
    }

    /// Waits for a request or notification from the server by its method.
    ///
    /// # Errors
    /// The server ends or sends none.
    pub fn incoming(&mut self, method: &str) -> io::Result<Value> {
        self.wait_for(|message| message.get("method").is_some_and(|found| found == method))
    }

    /// Waits for a message and takes it; others are kept for later.
    ///
    /// # Errors
    /// The server ends or sends none.
    pub fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> io::Result<Value> {
        if let Some(index) = self.kept.iter().position(&is_it) {
            return Ok(self.kept.remove(index));
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self
                .lines
                .recv_timeout(left)
                .map_err(|error| self.nothing(error))?;
            self.kept.extend(read(&line)?);
            if let Some(index) = self.kept.iter().position(&is_it) {
                return Ok(self.kept.remove(index));
            }
        }
    }

    /// Returns the messages received so far that no test has taken.
    pub fn kept(&self) -> &[Value] {
        &self.kept
    }

    /// Closes the server's standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes the server's standard input, unless it is closed, and waits for the server's end.
    ///
    /// # Errors
    /// It does not end in time; it is killed then.
    pub fn close(mut self) -> io::Result<Ended> {
        self.close_stdin();
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.kept.extend(read(&line)?),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(io::Error::other("the server does not end"));
                }
            }
        }
        let status = self.child.wait()?;
        let stderr = self.errors.take().and_then(|thread| thread.join().ok());
        let rest = std::mem::take(&mut self.kept);
        Ok(Ended {
            status,
            rest,
            stderr: stderr.unwrap_or_default(),
        })
    }

    fn nothing(&mut self, error: RecvTimeoutError) -> io::Error {
        processes::kill_group(self.child.id());
        let stderr = self.errors.take().and_then(|thread| thread.join().ok());
        io::Error::other(format!(
            "{error}; what came instead: {:?}; what was printed: {}",
            self.kept,
            stderr.unwrap_or_default()
        ))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        processes::kill_group(self.child.id());
        drop(self.child.wait());
    }
}

/// Parses the messages in a line: one, or those of a batch.
fn read(line: &[u8]) -> io::Result<Vec<Value>> {
    match serde_json::from_slice(line) {
        Ok(Value::Array(batch)) => Ok(batch),
        Ok(message) => Ok(vec![message]),
        Err(error) => {
            let start: String = String::from_utf8_lossy(line).chars().take(200).collect();
            let told = format!("a line that is not a message ({error}): {start}");
            Err(io::Error::other(told))
        }
    }
}
