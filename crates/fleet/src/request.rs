//! Requests and answers, and how they are passed on between two processes of this machine.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use reqwest::StatusCode;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// How long a request may take: a hook that has no verdict after two seconds refuses by itself, and could not say why.
pub(crate) const REQUEST_TIME: Duration = Duration::from_millis(1_500);
/// Maximum size of an answer in bytes.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum size of what is said about a request or an answer, in bytes.
const HEAD_MAX: usize = 64 * 1024;

/// A request to a server.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) path: &'a str,
    /// The key and the body of what is posted; `None`: it only reads.
    pub(crate) posted: Option<(&'a str, &'a [u8])>,
}

/// What a server has answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
}

/// What is said about a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestHead {
    pub(crate) token: String,
    pub(crate) path: String,
    /// The key of what is posted; `None`: it only reads.
    pub(crate) key: Option<String>,
}

/// What is said about an answer: its status; or `None`, if there is none.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResponseHead {
    pub(crate) status: Option<u16>,
}

pub(crate) fn write(to: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let mut bytes = Vec::with_capacity(8 + head.len() + body.len());
    for part in [&head[..], body] {
        let length = u32::try_from(part.len()).map_err(io::Error::other)?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(part);
    }
    to.write_all(&bytes)
}

pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<(T, Vec<u8>)> {
    let head = part(from, HEAD_MAX)?;
    let body = part(from, BYTES_MAX)?;
    Ok((serde_json::from_slice(&head)?, body))
}

fn part(from: &mut impl Read, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if usize::try_from(length).is_ok_and(|length| length > bytes_max) {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() != length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
