//! Servers addressed by URL: both transports, with headers, a token and templates in them.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use interlock_testkit::{
    programs,
    provider::{Reply, call, text},
};
use serde_json::{Value, json};

use crate::codemie_tools::{
    configure, made,
    place::{INTERLOCK, Place},
    run, write,
};

/// A request as received.
#[derive(Debug, Clone)]
struct Asked {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

/// An MCP server over HTTP that behaves as `way` says.
struct Far {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One address, with responses in place.
    Streamable,
    /// An event stream, and separate posts.
    Sse,
    /// Unavailable for this many calls of the tool.
    Busy(usize),
}

impl Far {
    fn start(way: Way) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let kept = Arc::clone(&asked);
        let stream: Arc<Mutex<Option<TcpStream>>> = Arc::default();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (kept, stream) = (Arc::clone(&kept), Arc::clone(&stream));
                // A broken connection is the client's concern.
                thread::spawn(move || serve(connection.ok()?, way, &kept, &stream));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    fn calls(&self) -> usize {
        let asked = self.asked();
        let calls = asked
            .iter()
            .filter(|one| one.body["method"] == "tools/call");
        calls.count()
    }
}

fn serve(
    connection: TcpStream,
    way: Way,
    kept: &Mutex<Vec<Asked>>,
    stream: &Mutex<Option<TcpStream>>,
) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    loop {
        let asked = read(&mut reader)?;
        let mut all = kept.lock().unwrap();
        all.push(asked.clone());
        let calls = all.iter().filter(|one| one.body["method"] == "tools/call");
        let calls = calls.count();
        drop(all);
        let busy = matches!(way, Way::Busy(most) if calls <= most);
        let mut to = connection.try_clone().ok()?;
        match (asked.method.as_str(), way) {
            ("GET", Way::Sse) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                to.write_all(head.as_bytes()).ok()?;
                to.write_all(b"event: endpoint\ndata: /post\n\n").ok()?;
                *stream.lock().unwrap() = Some(to);
                // The stream stays open as long as the client wants it.
                std::io::copy(&mut reader, &mut std::io::sink()).ok()?;
                return None;
            }
            ("POST", _) if busy && asked.body["method"] == "tools/call" => {
                plain(&mut to, "503 Service Unavailable", "")?;
            }
            ("POST", _) => match (answer(&asked.body), way) {
                (Some(answer), Way::Sse) => {
                    plain(&mut to, "202 Accepted", "")?;
                    let mut open = stream.lock().unwrap();
                    let event = format!("event: message\ndata: {answer}\n\n");
                    open.as_mut()?.write_all(event.as_bytes()).ok()?;
                }
                (Some(answer), _) => plain(&mut to, "200 OK", &answer.to_string())?,
                (None, _) => plain(&mut to, "202 Accepted", "")?,
            },
            _ => plain(&mut to, "405 Method Not Allowed", "")?,
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length");
    let length = length.map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Asked {
        method,
        path,
        headers,
        body,
    })
}

fn plain(to: &mut TcpStream, status: &str, body: &str) -> Option<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    to.write_all(head.as_bytes()).ok()
}

/// Returns the answer of an MCP server; `None` if the message was not a request.
fn answer(asked: &Value) -> Option<Value> {
    let id = asked.get("id")?;
    let result = match asked["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "far", "version": "1"},
        }),
        "tools/list" => json!({"tools": [
            {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}},
        ]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "far away"}]}),
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Returns a workflow with an agent that has the server at an address, and a tool state that has it, too.
fn workflow(config: &Value) -> Value {
    let zoo = json!({"name": "far", "config": config});
    json!({
        "retry_policy": {"initial_interval": 0.01},
        "assistants": [{"id": "a", "system_prompt": "x", "mcp_servers": [zoo]}],
        "tools": [{"id": "t", "tool": "look", "mcp_server": zoo, "tool_args": {"n": 1}}],
        "states": [
            {"id": "one", "assistant_id": "a", "next": {"state_id": "two"}},
            {"id": "two", "tool_id": "t", "next": {"state_id": "end"}},
        ],
    })
}

fn place(config: &Value) -> Place {
    let place = made(
        &workflow(config),
        vec![
            Reply::say(vec![call("look", json!({}))]),
            Reply::say(vec![text("done")]),
        ],
    );
    configure(
        &place,
        "[integrations.far]\nenv = { FAR_TOKEN = 'very-secret-value' }\n",
    );
    place
}

#[test]
fn both_transports_are_spoken_with_headers_and_a_token() {
    for (way, kind) in [
        (Way::Streamable, json!("streamable-http")),
        (Way::Sse, Value::Null),
    ] {
        let far = Far::start(way);
        let mut config = json!({
            "url": format!("{}/mcp", far.address),
            "headers": {"X-Who": "{{ who }}", "X-Plain": "[name] $name"}, "auth_token": "{{ word }}",
        });
        if !kind.is_null() {
            config["type"] = kind;
        }
        let place = place(&config);
        let said = run(&place, "{\"who\": \"ana\", \"word\": \"let-me-in\"}").ended(0);
        assert_eq!(said.out.trim(), "far away", "{way:?}");
        assert_eq!(place.provider.asked()[1].results(), ["far away"]);
        assert_eq!(far.calls(), 2);
        for asked in far.asked() {
            let header = |name: &str| asked.headers.get(name).map(String::as_str);
            assert_eq!(header("x-who"), Some("ana"), "{way:?} {asked:?}");
            assert_eq!(header("x-plain"), Some("[name] $name"));
            assert_eq!(header("authorization"), Some("Bearer let-me-in"));
        }
        let opened = far.asked()[0].clone();
        let how = (opened.method.as_str(), opened.path.as_str());
        match way {
            Way::Sse => assert!(far.asked().iter().any(|one| one.path == "/post")),
            _ => assert_eq!(how, ("POST", "/mcp")),
        }
    }
}

#[test]
fn a_server_that_is_busy_is_called_again() {
    let far = Far::start(Way::Busy(2));
    let config = json!({"url": format!("{}/mcp", far.address), "type": "streamable-http"});
    let place = place(&config);
    run(&place, "go").ended(0);
    assert_eq!(far.calls(), 4);
    assert_eq!(place.provider.asked()[1].results(), ["far away"]);
}

#[test]
fn an_address_where_nobody_is_fails_the_state_by_name() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let config = json!({"url": format!("http://{at}/mcp"), "type": "streamable-http"});
    let mut workflow = workflow(&config);
    workflow["states"].as_array_mut().unwrap().remove(0);
    workflow["retry_policy"]["max_attempts"] = json!(3);
    let place = place(&config);
    write(&place, &workflow);
    run(&place, "go").ended(1).says(&[
        "tool_failed",
        "the server `far`",
        "cannot be reached",
        "3 attempts",
    ]);
    assert_eq!(place.count("AttemptFailed"), 2);
}

/// A server built with the protocol's own library.
struct Fixture(Child);

impl Fixture {
    fn start() -> (Self, String) {
        let program = programs::built("interlock-fixture", "mcp-fixture", INTERLOCK).unwrap();
        let mut command = Command::new(program);
        command.args(["--http", "0"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut address = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut address).unwrap();
        (Self(child), address.trim().to_owned())
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_server_of_the_protocols_own_library_is_called() {
    let (_fixture, address) = Fixture::start();
    let zoo = json!({"name": "far", "config": {"url": address, "type": "streamable-http"}});
    let workflow = json!({
        "tools": [{"id": "t", "tool": "test_simple_text", "mcp_server": zoo, "tool_args": {}}],
        "states": [{"id": "one", "tool_id": "t", "next": {"state_id": "end"}}],
    });
    let place = made(&workflow, Vec::new());
    let said = run(&place, "go").ended(0);
    assert!(said.out.contains("simple text"), "{said:?}");
}
