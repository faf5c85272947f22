//! A console at a terminal, and a page paired with it, on the level of HTTP.

use std::{
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    process::Command,
    time::Duration,
};

use interlock_testkit::{room::Room, terminal::Terminal};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::console::INTERLOCK;

/// Time limit for a response.
const PATIENCE: Duration = Duration::from_secs(60);
/// The page's secret, in hex.
const SECRET: &str = "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf";

/// A running console.
pub(crate) struct Console {
    pub(crate) terminal: Terminal,
    pub(crate) port: u16,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the code of the problem.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl Console {
    pub(crate) fn open(room: &Room) -> Self {
        let mut command = room.command(INTERLOCK);
        command.args(["console", "--no-open"]);
        Self::start(&mut command)
    }

    /// Starts a command that serves a console.
    pub(crate) fn start(command: &mut Command) -> Self {
        command.env("TERM", "xterm-256color");
        let terminal = Terminal::start(command, 40, 120).unwrap();
        let screen = terminal
            .wait_for("the address", |screen| {
                screen.contains("It ends with Ctrl-C")
            })
            .unwrap();
        let (_, rest) = screen.split_once("http://localhost:").unwrap();
        let (port, _) = rest.split_once('/').unwrap();
        let port = port.parse().unwrap();
        Self { terminal, port }
    }

    /// Requests pairing; returns the pairing's id and its number.
    pub(crate) fn knock(&self) -> (String, String) {
        let secret: Vec<u8> = bytes(SECRET);
        let key: String = Sha256::digest(secret)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let answer = self.post("pair", None, &json!({ "key": key }));
        assert_eq!(answer.status, 200, "{answer:?}");
        let text = |key: &str| answer.json()[key].as_str().unwrap().to_owned();
        (text("pairing"), text("number"))
    }

    /// Waits until the terminal asks about a number, and types an answer.
    pub(crate) fn types(&mut self, number: &str, answer: &str) {
        self.terminal
            .wait_for("the number", |screen| screen.contains(number))
            .unwrap();
        self.terminal.press(answer).unwrap();
    }

    pub(crate) fn finish(&self, pairing: &str) -> Answer {
        self.post(
            "pair/finish",
            None,
            &json!({ "pairing": pairing, "secret": SECRET }),
        )
    }

    /// Pairs a page, and returns its bearer.
    pub(crate) fn pair(&mut self) -> String {
        let (pairing, number) = self.knock();
        assert_eq!(self.finish(&pairing).status, 202);
        self.types(&number, "y\n");
        self.terminal
            .wait_for("the yes", |screen| screen.contains("The page is in"))
            .unwrap();
        let answer = self.finish(&pairing);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["bearer"].as_str().unwrap().to_owned()
    }

    /// Returns the headers that the page sends with each request.
    pub(crate) fn headers(&self, method: &str, bearer: Option<&str>) -> Vec<(String, String)> {
        let own = format!("localhost:{}", self.port);
        let mut headers = vec![
            ("Host".to_owned(), own.clone()),
            ("Sec-Fetch-Site".to_owned(), "same-origin".to_owned()),
        ];
        if method != "GET" {
            headers.push(("Origin".to_owned(), format!("http://{own}")));
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        headers
            .extend(bearer.map(|bearer| ("Authorization".to_owned(), format!("Bearer {bearer}"))));
        headers
    }

    pub(crate) fn get(&self, path: &str, bearer: &str) -> Answer {
        let headers = self.headers("GET", Some(bearer));
        self.send("GET", &format!("/api/v1/{path}"), &headers, "")
    }

    /// Reads a stream until it contains `wanted`; returns the text up to there.
    pub(crate) fn stream_until(&self, path: &str, bearer: &str, wanted: &str) -> String {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut stream = TcpStream::connect(SocketAddr::new(address, self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!("GET /api/v1/{path} HTTP/1.1\r\n");
        for (name, value) in self.headers("GET", Some(bearer)) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{text}\r\n").as_bytes()).unwrap();
        let (mut said, mut piece) = (String::new(), [0; 4_096]);
        while !said.contains(wanted) {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "it ended: {said}");
            said.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        said
    }

    pub(crate) fn post(&self, path: &str, bearer: Option<&str>, body: &Value) -> Answer {
        let headers = self.headers("POST", bearer);
        self.send(
            "POST",
            &format!("/api/v1/{path}"),
            &headers,
            &body.to_string(),
        )
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Answer {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        self.send_to(address, method, path, headers, body)
    }

    /// Sends a request without reading its response.
    pub(crate) fn begin(&self, method: &str, path: &str, bearer: &str, body: &str) -> TcpStream {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let headers = self.headers(method, Some(bearer));
        self.request_to(address, method, &format!("/api/v1/{path}"), &headers, body)
    }

    fn request_to(
        &self,
        address: IpAddr,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(SocketAddr::new(address, self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    pub(crate) fn send_to(
        &self,
        address: IpAddr,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Answer {
        let mut stream = self.request_to(address, method, path, headers, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }
}

/// Decodes hex.
fn bytes(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(hex.get(at..at + 2).unwrap(), 16).unwrap())
        .collect()
}
