//! Listens on a socket in a run's folder, and sends the requests of hooks to the server over one connection.
//!
//! Whoever asks has to have the token for the run, as without this process: a request for another run, or with another
//! token, is not sent on. Nothing is remembered and nothing is decided here.

use std::{
    fs::{self, File},
    io,
    os::unix::{
        fs::{OpenOptionsExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use interlock_core::names::RunId;
use interlock_store::{ChainHash, JoinedRun};

use crate::{
    client::Server,
    forward::SOCKET,
    request::{Answer, REQUEST_TIME, Request, RequestHead, ResponseHead, read, write},
};

/// Name of the file that the listening process has locked.
const LOCK: &str = "server.lock";
/// The number of processes that are answered at once; others connect by themselves.
const CALLERS_MAX: usize = 32;
/// How long a process may take to ask and to read its answer.
const CALLER_TIME: Duration = Duration::from_secs(10);

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
