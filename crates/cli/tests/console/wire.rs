//! Requests that no browser sends: what an agent or a foreign page may send to the port.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
};

use serde_json::{Value, json};

use crate::console::{World, page::Console};

/// Requests that the connection is closed after the response.
const LAST: &str = "Connection: close\r\n";

/// A console with a paired page, and a pending transition.
struct Wire {
    world: World,
    console: Console,
    bearer: String,
    ask: Value,
}

impl Wire {
    fn new() -> Self {
        let world = World::new();
        world.asks();
        let mut console = Console::open(&world.room);
        let bearer = console.pair();
        let ask = console.get("inbox", &bearer).json()["requests"][0].clone();
        Self {
            world,
            console,
            bearer,
            ask,
        }
    }

    /// Returns the head of an otherwise valid request.
    fn head(&self, method: &str, path: &str) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in self.console.headers(method, Some(&self.bearer)) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text
    }

    /// Sends raw bytes; returns all responses until the connection is closed.
    fn sends(&self, text: &str) -> String {
        answered(self.connected(text))
    }

    /// Sends bytes, and closes its side of the connection.
    fn sends_and_ends(&self, text: &str) -> String {
        let stream = self.connected(text);
        stream.shutdown(Shutdown::Write).unwrap();
        answered(stream)
    }

    fn connected(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.console.port)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Returns the path and the body of a yes to the pending request.
    fn yes(&self) -> (String, String) {
        let ask = &self.ask;
        let body = json!({
            "request": ask["id"], "decision": "yes", "digest": ask["digest"], "seen_seq": ask["seen_seq"],
        });
        let path = format!("/api/v1/runs/{}/answers", self.world.run);
        (path, body.to_string())
    }

    fn is_unanswered(&self) -> bool {
        self.world.events("ApprovalGranted").is_empty()
    }
}

/// Reads the responses; a broken connection ends them.
fn answered(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns the status codes of the responses on one connection.
fn statuses(said: &str) -> Vec<&str> {
    let lines = said.split("HTTP/1.1 ").skip(1);
    lines.map(|line| line.get(..3).unwrap_or(line)).collect()
}

#[test]
fn a_connection_that_was_refused_is_closed() {
    let wire = Wire::new();
    let first = wire.head("GET", "/api/v1/inbox");
    let last = format!("{first}{LAST}\r\n");
    let both = wire.sends(&format!("{first}\r\n{last}"));
    assert_eq!(statuses(&both), ["200", "200"], "{both}");
    let own = format!("Host: localhost:{}", wire.console.port);
    for foreign in ["Host: evil.example", "Host: "] {
        let refused = first.replace(&own, foreign);
        let said = wire.sends(&format!("{refused}\r\n{last}"));
        assert_eq!(statuses(&said), ["403"], "{said}");
        assert!(said.contains("connection: close"), "{said}");
    }
}

#[test]
fn a_body_is_what_its_length_says_and_nothing_else() {
    let wire = Wire::new();
    let (path, yes) = wire.yes();
    let head = wire.head("POST", &path) + LAST;
    let length = yes.len();
    let (shorter, longer) = (length - 1, length + 1);
    let chunks = format!("{length:x}\r\n{yes}\r\n");
    for (name, rest) in [
        ("no length", format!("\r\n{yes}")),
        (
            "two lengths",
            format!("Content-Length: 2\r\nContent-Length: {length}\r\n\r\n{yes}"),
        ),
        ("a sign", format!("Content-Length: +{length}\r\n\r\n{yes}")),
        (
            "too short",
            format!("Content-Length: {shorter}\r\n\r\n{yes}"),
        ),
        (
            "a blank in the name",
            format!("Transfer-Encoding : chunked\r\n\r\n{chunks}0\r\n\r\n"),
        ),
        (
            "another coding",
            format!("Transfer-Encoding: chunked, identity\r\n\r\n{chunks}0\r\n\r\n"),
        ),
        (
            "a folded line",
            format!("X: a\r\n b\r\nContent-Length: {length}\r\n\r\n{yes}"),
        ),
    ] {
        let said = wire.sends(&format!("{head}{rest}"));
        let codes = statuses(&said);
        let refused = codes.len() == 1 && codes.iter().all(|code| code.starts_with('4'));
        assert!(refused, "{name}: {said}");
        assert!(wire.is_unanswered(), "{name}: {said}");
    }
    for (name, rest) in [
        ("too long", format!("Content-Length: {longer}\r\n\r\n{yes}")),
        (
            "no end",
            format!("Transfer-Encoding: chunked\r\n\r\n{chunks}"),
        ),
    ] {
        let said = wire.sends_and_ends(&format!("{head}{rest}"));
        assert!(!said.contains("200 OK"), "{name}: {said}");
        assert!(wire.is_unanswered(), "{name}: {said}");
    }
    // A length beside chunks is ignored.
    let rest = format!("Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    let said = wire.sends(&format!("{head}Content-Length: 2\r\n{rest}"));
    assert_eq!(statuses(&said), ["200"], "{said}");
}

#[test]
fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
    let wire = Wire::new();
    let (path, yes) = wire.yes();
    let twice = yes.replace("\"decision\"", "\"decision\": \"no\", \"decision\"");
    let data = ", \"data\": {\"a\": 1, \"b\": [{\"c\": 1, \"c\": 2}]}}";
    let within = yes.replace('}', data);
    for (body, said) in [(twice, "duplicate field"), (within, "stands twice")] {
        let headers = wire.console.headers("POST", Some(&wire.bearer));
        let answer = wire.console.send("POST", &path, &headers, &body);
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.body.contains(said), "{answer:?}");
    }
    assert!(wire.is_unanswered());
}

#[test]
fn every_refusal_of_an_address_is_in_the_words_of_the_api() {
    let wire = Wire::new();
    let run = &wire.world.run;
    for (method, path, status) in [
        ("GET", "/api/v1/runs/%ff".to_owned(), 400),
        ("GET", format!("/api/v1/runs/{run}/events/-1"), 400),
        (
            "GET",
            format!("/api/v1/runs/{run}/events/99999999999999999999"),
            400,
        ),
        ("GET", "/api/v1/runs/..%2f..".to_owned(), 404),
        ("GET", "/api/v1/runs/%2e%2e".to_owned(), 404),
        (
            "GET",
            format!("/api/v1/runs/{run}/blobs/..%2f..%2frun.db"),
            404,
        ),
        (
            "GET",
            "/api/v1/workflows/files/..%2f..%2fetc%2fpasswd".to_owned(),
            404,
        ),
        ("GET", "/%61pi/v1/runs".to_owned(), 404),
        ("GET", "/api/v1/pair/../runs".to_owned(), 404),
        ("GET", format!("/api/v1/runs/{run}/pause"), 405),
        ("DELETE", "/api/v1/runs".to_owned(), 405),
        ("POST", "/".to_owned(), 405),
    ] {
        let headers = wire.console.headers(method, Some(&wire.bearer));
        let answer = wire.console.send(method, &path, &headers, "{}");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(
            answer.json()["error"]["message"].is_string(),
            "{path}: {answer:?}"
        );
    }
}

#[test]
fn a_page_is_no_other_protocol() {
    let wire = Wire::new();
    let right = wire.head("GET", "/api/v1/inbox");
    let upgrade = "Connection: close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    assert_eq!(statuses(&wire.sends(&(right.clone() + upgrade))), ["200"]);
    let said = wire.sends("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert!(!said.contains("200"), "{said}");
    // An authority in the request target counts, even with a valid `Host`.
    for elsewhere in [
        "http://evil.example",
        "http://localhost",
        "http://a@localhost",
        "http://127.0.0.1",
    ] {
        let port = wire.console.port;
        let other = right.replace("GET /", &format!("GET {elsewhere}:{}/", port ^ 1));
        assert_eq!(
            statuses(&wire.sends(&(other + "\r\n"))),
            ["403"],
            "{elsewhere}"
        );
    }
    let old = right
        .replace("HTTP/1.1", "HTTP/1.0")
        .replace("Host", "X-Host");
    assert!(wire.sends(&(old + "\r\n")).starts_with("HTTP/1.0 403"));
}
