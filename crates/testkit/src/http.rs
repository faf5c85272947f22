//! As much of HTTP/1.1 as a scripted model needs: whole requests in, whole responses out.

use std::io::{self, BufRead, Read as _, Write};
use std::net::{Shutdown, TcpStream};

/// Maximum size of a request body in bytes; a test's transcript is far smaller.
const BODY_BYTES_MAX: usize = 32 << 20;
/// Maximum number of header lines of a request.
const HEADERS_MAX: usize = 100;

/// A request as received.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Reads a request; returns `None` if the peer has closed the connection.
pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Option<HttpRequest>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::Error::other("a request line without method and path"));
    };
    let (headers, bytes) = headers(stream)?;
    let mut body = vec![0; bytes];
    stream.read_exact(&mut body)?;
    Ok(Some(HttpRequest {
        method,
        path,
        headers,
        body,
    }))
}

/// Reads the headers; returns them and the announced length of the body.
fn headers(stream: &mut impl BufRead) -> io::Result<(Vec<(String, String)>, usize)> {
    let mut bytes = 0;
    let mut headers = Vec::new();
    for _ in 0..HEADERS_MAX {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let line = line.trim();
        if line.is_empty() {
            return Ok((headers, bytes));
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(io::Error::other("a header line without a colon"));
        };
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(io::Error::other("a chunked request body"));
        }
        if name.eq_ignore_ascii_case("content-length") {
            bytes = value.trim().parse().map_err(io::Error::other)?;
        }
        if bytes > BODY_BYTES_MAX {
            return Err(io::Error::other("a request body over the limit"));
        }
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Err(io::Error::other("too many header lines"))
}

/// Writes a response and keeps the connection open for the next request.
pub(crate) fn answer(
    stream: &mut impl Write,
    status: &str,
    kind: &str,
    body: &[u8],
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nrequest-id: req_scripted\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// How a chunked response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Properly.
    Whole,
    /// The connection breaks.
    Broken,
    /// Nothing more is sent until the client disconnects.
    Silent,
}

/// Writes a response piece by piece; returns whether the connection can be reused.
pub(crate) fn answer_in_pieces(
    stream: &mut TcpStream,
    status: &str,
    headers: &[(String, String)],
    pieces: &[Vec<u8>],
    end: End,
) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    stream.write_all(head.as_bytes())?;
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        stream.write_all(piece)?;
        stream.write_all(b"\r\n")?;
        stream.flush()?;
    }
    match end {
        End::Whole => {
            stream.write_all(b"0\r\n\r\n")?;
            stream.flush()?;
            return Ok(true);
        }
        End::Broken => stream.shutdown(Shutdown::Both)?,
        End::Silent => while stream.read(&mut [0; 64])? > 0 {},
    }
    Ok(false)
}
