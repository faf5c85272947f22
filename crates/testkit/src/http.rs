//! As much HTTP/1.1 as a scripted model needs: whole requests in, whole answers out.

use std::io::{self, BufRead, Write};

/// The largest request body read; a transcript of a test is far below it.
const BODY_BYTES_MAX: usize = 32 << 20;
/// The most header lines read of one request.
const HEADERS_MAX: usize = 100;

/// One request as it came over the wire.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// Reads one request; `None` when the peer has closed the connection.
pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::Error::other("a request line without method and path"));
    };
    let mut body = vec![0; body_bytes(stream)?];
    stream.read_exact(&mut body)?;
    Ok(Some(Asked { method, path, body }))
}

/// Reads the headers and returns the length of the body they announce.
fn body_bytes(stream: &mut impl BufRead) -> io::Result<usize> {
    let mut bytes = 0;
    for _ in 0..HEADERS_MAX {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let line = line.trim();
        if line.is_empty() {
            return Ok(bytes);
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
    }
    Err(io::Error::other("too many header lines"))
}

/// Writes one answer and leaves the connection open for the next request.
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
