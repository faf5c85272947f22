//! The connection that one process keeps for the others of this machine.
//!
//! The process of a session's gateway listens on a socket in the run's folder, and sends the requests of hooks to the
//! server over a connection that it already has. Whoever asks has to have the token for the run, as without this
//! process: a request for another run, or with another token, is not forwarded. Nothing is remembered and nothing is
//! decided here. Where nobody listens, a hook connects by itself.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::{
        fs::{OpenOptionsExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use interlock_core::names::RunId;
use interlock_store::{ChainHash, JoinedRun};
use reqwest::StatusCode;
use rustix::{
    io::{FdFlags, fcntl_setfd, ioctl_fionbio},
    net::{self, AddressFamily, SocketAddrUnix, SocketType},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::client::{Answer, BYTES_MAX, REQUEST_TIME, Request, Server};

/// Name of the socket in the run's folder. A path that is too long for a socket is not used.
const SOCKET: &str = "server.sock";
/// Name of the file that the listening process has locked.
const LOCK: &str = "server.lock";
/// Maximum size of what is said about a request or an answer, in bytes.
const HEAD_MAX: usize = 64 * 1024;
/// The number of processes that are answered at once; others connect by themselves.
const CALLERS_MAX: usize = 32;
/// How long a process may take to ask and to read its answer.
const CALLER_TIME: Duration = Duration::from_secs(10);

/// What is said about a request.
#[derive(Debug, Serialize, Deserialize)]
struct RequestHead {
    token: String,
    path: String,
    /// The key of what is posted; `None`: it only reads.
    key: Option<String>,
}

/// What is said about an answer: its status; or `None`, if there is none.
#[derive(Debug, Serialize, Deserialize)]
struct ResponseHead {
    status: Option<u16>,
}

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

/// Keeps a connection to the server of `run` for the hooks of this machine, on a thread of its own, as long as this process
/// runs. If another process does so already, this one takes its place when that ends.
///
/// `folder` is the run's folder, and `joined` reads how the run is joined at the moment.
pub fn keep_connection(
    run: RunId,
    folder: PathBuf,
    joined: impl Fn() -> Option<JoinedRun> + Send + Sync + 'static,
) {
    let kept = KeptConnection {
        run,
        folder,
        joined: Box::new(joined),
        callers: AtomicUsize::new(0),
        server: Mutex::new(None),
    };
    // Without the thread, hooks connect by themselves.
    let _ = thread::Builder::new()
        .name("forward".to_owned())
        .spawn(move || Arc::new(kept).listen());
}

struct KeptConnection {
    run: RunId,
    folder: PathBuf,
    joined: Box<dyn Fn() -> Option<JoinedRun> + Send + Sync>,
    callers: AtomicUsize,
    /// The server, as long as the run is joined in the same way.
    server: Mutex<Option<(JoinedRun, Arc<Server>)>>,
}

impl KeptConnection {
    fn listen(self: &Arc<Self>) -> io::Result<()> {
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join(LOCK))?;
        lock.lock()?;
        let socket = self.folder.join(SOCKET);
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Nobody else may enter the folder.
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
        loop {
            let (stream, _) = listener.accept()?;
            let Some(place) = CallerSlot::taken(self) else {
                continue;
            };
            let serve = move || place.0.serve(stream);
            let _ = thread::Builder::new()
                .name("forwarded".to_owned())
                .spawn(serve);
        }
    }

    /// Answers one process until it leaves.
    fn serve(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(CALLER_TIME))?;
        stream.set_write_timeout(Some(CALLER_TIME))?;
        loop {
            let (asked, body): (RequestHead, Vec<u8>) = read(&mut stream)?;
            let answer = self.answer(&asked, &body);
            let status = answer.as_ref().map(|answer| answer.status.as_u16());
            let body = answer.map(|answer| answer.body).unwrap_or_default();
            write(&mut stream, &ResponseHead { status }, &body)?;
        }
    }

    /// Sends a request on, if it is about this run and has its token.
    fn answer(&self, asked: &RequestHead, body: &[u8]) -> Option<Answer> {
        let rest = asked.path.strip_prefix("v1/runs/")?;
        let rest = rest.strip_prefix(self.run.as_str())?;
        if !rest.starts_with('/') || rest.contains("..") || rest.contains(['%', '\\']) {
            return None;
        }
        let server = self.server_for(&asked.token)?;
        let request = Request {
            path: &asked.path,
            posted: asked.key.as_deref().map(|key| (key, body)),
        };
        server.raw(&request, REQUEST_TIME).ok()
    }

    /// Returns the server, if `token` is the one with which the run is joined.
    fn server_for(&self, token: &str) -> Option<Arc<Server>> {
        let joined = (self.joined)()?;
        let hash = |token: &str| ChainHash::of_parts(&[token.as_bytes()]);
        if hash(token) != hash(&joined.token) {
            return None;
        }
        let mut kept = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, server)) = &*kept
            && *of == joined
        {
            return Some(Arc::clone(server));
        }
        let server = Arc::new(Server::new(&joined.server, &joined.token).ok()?);
        *kept = Some((joined, Arc::clone(&server)));
        Some(server)
    }
}

/// One of the places for processes that are answered at once; given back when dropped.
struct CallerSlot(Arc<KeptConnection>);

impl CallerSlot {
    fn taken(of: &Arc<KeptConnection>) -> Option<Self> {
        let place = Self(Arc::clone(of));
        let before = of.callers.fetch_add(1, Ordering::Relaxed);
        (before < CALLERS_MAX).then_some(place)
    }
}

impl Drop for CallerSlot {
    fn drop(&mut self) {
        self.0.callers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn write(to: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let mut bytes = Vec::with_capacity(8 + head.len() + body.len());
    for part in [&head[..], body] {
        let length = u32::try_from(part.len()).map_err(io::Error::other)?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(part);
    }
    to.write_all(&bytes)
}

fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<(T, Vec<u8>)> {
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
