//! As much of GitHub's API as comments need, served locally.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// The token with write permission.
pub(crate) const TOKEN: &str = "ghs_writes";

/// The comments of one pull request.
pub(crate) struct GitHub {
    pub(crate) address: String,
    comments: Arc<Mutex<Vec<Value>>>,
}

impl GitHub {
    /// Starts listening, with these comments.
    pub(crate) fn with(comments: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let comments = Arc::new(Mutex::new(comments));
        let shared = Arc::clone(&comments);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &mut shared.lock().unwrap());
            }
        });
        Self { address, comments }
    }

    /// Changes the address to one where nobody listens.
    pub(crate) fn away(self) -> Self {
        Self {
            address: "http://127.0.0.1:9".to_owned(),
            ..self
        }
    }

    pub(crate) fn comments(&self) -> Vec<Value> {
        self.comments.lock().unwrap().clone()
    }
}

/// Returns a comment in GitHub's format.
pub(crate) fn comment(id: usize, login: &str, body: &str) -> Value {
    json!({ "id": id, "user": { "login": login }, "body": body })
}

fn answer(mut stream: TcpStream, comments: &mut Vec<Value>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let (mut length, mut token) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => value.clone_into(&mut token),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let words: Vec<&str> = first.split(' ').collect();
    let (status, told) = match token == format!("Bearer {TOKEN}") {
        true => done(words[0], words[1], &body, comments),
        false => (
            "403 Forbidden",
            json!({ "message": "Resource not accessible" }),
        ),
    };
    let told = told.to_string();
    let length = told.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all((head + &told).as_bytes()).unwrap();
}

fn done(
    method: &str,
    path: &str,
    body: &Value,
    comments: &mut Vec<Value>,
) -> (&'static str, Value) {
    let text = body["body"].as_str().unwrap_or_default();
    let base = "/repos/ana/shop/issues";
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    match (method, path.strip_prefix(base)) {
        ("GET", Some("/7/comments")) => {
            let page = query
                .split_once("page=")
                .and_then(|_| query.rsplit('=').next());
            let page: usize = page.unwrap().parse().unwrap();
            let shown = comments.iter().skip((page - 1) * 100).take(100);
            ("200 OK", shown.cloned().collect())
        }
        ("POST", Some("/7/comments")) => {
            let made = comment(comments.len() + 1, "github-actions[bot]", text);
            comments.push(made.clone());
            ("201 Created", made)
        }
        ("PATCH", Some(path)) => {
            let id: usize = path.rsplit('/').next().unwrap().parse().unwrap();
            let found = comments.iter_mut().find(|one| one["id"] == id).unwrap();
            found["body"] = text.into();
            ("200 OK", found.clone())
        }
        _ => ("500 Internal Server Error", json!({})),
    }
}
