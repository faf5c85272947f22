//! One request on a connection of its own.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

/// A reply.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
}

/// Sends the bytes of a request and reads the whole reply; `None` if there was none.
pub(crate) fn send_to(address: &str, request: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    Some(Reply { status })
}
