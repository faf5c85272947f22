//! A plain HTTP/1.1 client that keeps its connection.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// An answer of a server.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Whether the command was recorded before.
    pub(crate) repeated: bool,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Returns the body as JSON; `null` if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the code of the error.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        json["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// A client of one server.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    patience: Duration,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Uses the server at `address`, which is connected to when the first request is sent.
    pub(crate) fn new(address: SocketAddr, patience: Duration) -> Self {
        Self {
            address,
            patience,
            stream: None,
        }
    }

    pub(crate) fn get(&mut self, path: &str, token: &str) -> io::Result<Answer> {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        ))
    }

    pub(crate) fn post(
        &mut self,
        path: &str,
        (token, key): (&str, &str),
        body: &str,
    ) -> io::Result<Answer> {
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// Sends a request once. After an error, nothing is known of it.
    fn send(&mut self, request: &str) -> io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect_timeout(&self.address, self.patience)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(self.patience))?;
                stream.set_write_timeout(Some(self.patience))?;
                BufReader::new(stream)
            }
        };
        stream.get_mut().write_all(request.as_bytes())?;
        let (answer, is_kept) = read(&mut stream)?;
        if is_kept {
            self.stream = Some(stream);
        }
        Ok(answer)
    }
}

/// Reads an answer, and whether the connection can be used again.
fn read(stream: &mut BufReader<TcpStream>) -> io::Result<(Answer, bool)> {
    let bad = || io::Error::other("not an answer");
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(bad)?;
    let (mut length, mut is_kept, mut repeated) = (0, true, false);
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(bad());
        }
        let header = line.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        match header.split_once(": ") {
            Some(("content-length", number)) => length = number.parse().map_err(|_| bad())?,
            Some(("connection", "close")) => is_kept = false,
            Some(("idempotent-replayed", "true")) => repeated = true,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let answer = Answer {
        status,
        repeated,
        body,
    };
    Ok((answer, is_kept))
}
