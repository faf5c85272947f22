//! Requests over the connection that another process of this machine keeps.
//!
//! Where nobody listens, or has no answer in time, a hook connects by itself.

use std::{
    io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use reqwest::StatusCode;
use rustix::{
    io::{FdFlags, fcntl_setfd, ioctl_fionbio},
    net::{self, AddressFamily, SocketAddrUnix, SocketType},
};

use crate::request::{Answer, Request, RequestHead, ResponseHead, read, write};

/// Name of the socket in the run's folder. A path that is too long for a socket is not used.
pub(crate) const SOCKET: &str = "server.sock";

/// The process that may be connected already, as one that asks it sees it.
#[derive(Debug)]
pub(crate) struct Forwarder {
    socket: PathBuf,
    stream: Option<UnixStream>,
}

impl Forwarder {
    /// Looks for it in the folder of the run.
    pub(crate) fn of(folder: &Path) -> Self {
        Self {
            socket: folder.join(SOCKET),
            stream: None,
        }
    }

    /// Has a request forwarded; `None`: there is no such process, or it has no answer.
    pub(crate) fn send(
        &mut self,
        token: &str,
        request: &Request<'_>,
        time: Duration,
    ) -> Option<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connected(&self.socket).ok()?,
        };
        let answer = asked(&mut stream, token, request, time).ok()?;
        self.stream = Some(stream);
        let status = StatusCode::from_u16(answer.0.status?).ok()?;
        let body = answer.1;
        Some(Answer { status, body })
    }
}

/// Connects at once or not at all: a process that is stopped accepts nobody, and would be waited for.
fn connected(socket: &Path) -> io::Result<UnixStream> {
    let fd = net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&fd, true)?;
    net::connect(&fd, &SocketAddrUnix::new(socket)?)?;
    ioctl_fionbio(&fd, false)?;
    Ok(UnixStream::from(fd))
}

fn asked(
    stream: &mut UnixStream,
    token: &str,
    request: &Request<'_>,
    time: Duration,
) -> io::Result<(ResponseHead, Vec<u8>)> {
    stream.set_read_timeout(Some(time))?;
    stream.set_write_timeout(Some(time))?;
    let head = RequestHead {
        token: token.to_owned(),
        path: request.path.to_owned(),
        key: request.posted.map(|(key, _)| key.to_owned()),
    };
    let body = request.posted.map_or(&[][..], |(_, body)| body);
    write(stream, &head, body)?;
    read(stream)
}
