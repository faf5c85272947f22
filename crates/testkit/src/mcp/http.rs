//! A client of an MCP server over streamable HTTP, with its own connection.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client and its connection, which is reused for later requests.
#[derive(Debug)]
pub struct Client {
    address: String,
    path: String,
    stream: Option<BufReader<TcpStream>>,
    session: Option<String>,
    version: Option<String>,
    /// The `_meta` of each request, in the protocol version without sessions.
    meta: Option<Value>,
    asked: u64,
}

/// The response to a request.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The messages in the body: one, or a stream.
    pub messages: Vec<Value>,
}

impl Answer {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Client {
    /// Returns a client for a URL such as `http://127.0.0.1:8080/mcp`; it connects with its first request.
    ///
    /// # Errors
    /// The URL does not have that form.
    pub fn new(url: &str) -> io::Result<Client> {
        let rest = url.trim().strip_prefix("http://");
        let rest = rest.ok_or_else(|| io::Error::other(format!("`{url}` is not an http URL")))?;
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Client {
            address: address.to_owned(),
            path: format!("/{path}"),
            stream: None,
            session: None,
            version: None,
            meta: None,
            asked: 0,
        })
    }

    /// Uses the protocol version without sessions.
    #[must_use]
    pub fn in_newer_era(mut self, capabilities: &Value) -> Client {
        let version = "2026-07-28";
        self.version = Some(version.to_owned());
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "scripted", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        self
    }

    /// Opens a session and returns the result of `initialize`.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn open(&mut self, version: &str, capabilities: &Value) -> io::Result<Value> {
        let hello = json!({
            "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "scripted", "version": "1"},
        });
        let answer = self
            .post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))?;
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        self.version = Some(version.to_owned());
        let said = answer
            .messages
            .into_iter()
            .find(|message| message.get("id") == Some(&json!(0)));
        let said = said.ok_or_else(|| {
            io::Error::other(format!("no answer to `initialize`: {}", answer.status))
        })?;
        self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(said)
    }

    /// Sends a request and returns its answer, a whole message with `result` or `error`.
    ///
    /// # Errors
    /// The server cannot be reached, or no message in the response has the request's id.
    pub fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.asked += 1;
        let id = json!(self.asked);
        let mut params = params.clone();
        if let (Some(meta), Some(fields)) = (&self.meta, params.as_object_mut()) {
            fields.insert("_meta".to_owned(), meta.clone());
        }
        let answer =
            self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let status = answer.status;
        let mut answers = answer.messages.into_iter();
        let found = answers
            .find(|message| message.get("id") == Some(&id) && message.get("method").is_none());
        found.ok_or_else(|| io::Error::other(format!("no answer to request {id}: HTTP {status}")))
    }

    /// Calls a tool and returns the answer.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Ends the session.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn delete(&mut self) -> io::Result<u16> {
        Ok(self.exchange("DELETE", None, &[])?.status)
    }

    /// Posts a message and reads the whole response.
    ///
    /// # Errors
    /// The server cannot be reached or does not respond with HTTP.
    pub fn post(&mut self, message: &Value) -> io::Result<Answer> {
        let mut more = Vec::new();
        if self.meta.is_some() {
            let method = message
                .get("method")
                .and_then(Value::as_str)
                .unwrap_or_default();
            more.push(("Mcp-Method".to_owned(), method.to_owned()));
            let named = |field: &str| message.pointer(field).and_then(Value::as_str);
            if let Some(name) = named("/params/name").or(named("/params/uri")) {
                more.push(("Mcp-Name".to_owned(), name.to_owned()));
            }
        }
        self.exchange("POST", Some(message), &more)
    }

    fn exchange(
        &mut self,
        method: &str,
        body: Option<&Value>,
        more: &[(String, String)],
    ) -> io::Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            self.path,
            self.address,
            body.len()
        );
        let own = [
            ("Mcp-Session-Id", &self.session),
            ("MCP-Protocol-Version", &self.version),
        ];
        for (name, value) in own {
            if let Some(value) = value {
                head += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in more {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let whole = [head.as_bytes(), body.as_bytes()].concat();
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        // A reused connection may have been closed in the meantime, before anything was sent.
        let begun = stream
            .get_mut()
            .write_all(&whole)
            .and_then(|()| read_line(&mut stream));
        let (mut stream, status) = match begun {
            Ok(status) if !status.is_empty() => (stream, status),
            _ => {
                let mut stream = self.connect()?;
                stream.get_mut().write_all(&whole)?;
                let status = read_line(&mut stream)?;
                (stream, status)
            }
        };
        let answer = read_answer(&mut stream, &status)?;
        if answer.header("connection") != Some("close") {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(BufReader::new(stream))
    }
}

fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn read_answer(stream: &mut impl BufRead, status: &str) -> io::Result<Answer> {
    let code = status
        .split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok());
    let status = code.ok_or_else(|| io::Error::other(format!("`{status}` is not a status")))?;
    let mut answer = Answer {
        status,
        headers: Vec::new(),
        messages: Vec::new(),
    };
    loop {
        let line = read_line(stream)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        answer
            .headers
            .push((name.to_lowercase(), value.trim().to_owned()));
    }
    let body = read_body(stream, &answer)?;
    let kind = answer.header("content-type").unwrap_or_default();
    let text = String::from_utf8(body).map_err(io::Error::other)?;
    answer.messages = if kind.starts_with("text/event-stream") {
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    } else {
        serde_json::from_str(&text).into_iter().collect()
    };
    Ok(answer)
}

fn read_body(stream: &mut impl BufRead, answer: &Answer) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if answer.header("transfer-encoding") == Some("chunked") {
        loop {
            let size = read_line(stream)?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            let mut chunk = vec![0; size];
            stream.read_exact(&mut chunk)?;
            read_line(stream)?;
            if size == 0 {
                return Ok(body);
            }
            body.append(&mut chunk);
        }
    }
    let length = answer
        .header("content-length")
        .and_then(|length| length.parse().ok());
    body.resize(length.unwrap_or(0), 0);
    stream.read_exact(&mut body)?;
    Ok(body)
}
