//! Serves a shared log over HTTP, for the machines and people of a team.
//!
//! Whoever sends a command needs a token, which says the tenant, the role and the person. Commands of one run are decided
//! here, under the lock of its row, with the same `decide` as everywhere. Any number of servers may use one database.
//!
//! **Invariant.** A command with its key is recorded once, with its reply. No token of an agent answers a request, and
//! nobody answers who started the run or does its work. An error says nothing about runs of other tenants.

mod asked;
mod audit;
mod batch;
mod bundles;
mod graph;
mod handle;
mod listed;
mod origin;
mod page;
mod page_sign_in;
mod people;
mod problem;
mod read;
mod routes;
mod sent;
mod sign_in;
mod standing;
mod start;
mod state;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{Router, extract::Request, routing::on};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use interlock_attest::{PublicKey, SecretKey};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::sleep,
};

use self::{routes::ROUTES, state::ServerState};
use crate::{database::Database, error::SharedError, sign_in::SignIn, tenant::Tenant};

/// Maximum number of open connections.
const CONNECTIONS_MAX: usize = 512;
/// Time limit for receiving the head of a request, also of the next one on a connection.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// Maximum size in bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of threads that wait for the database.
const THREADS_MAX: usize = 64;
/// Delay after the system refuses to accept a connection.
const NO_MORE_TIME: Duration = Duration::from_millis(100);

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Whether a proxy in front of the server encrypts connections from other machines.
    pub behind_proxy: bool,
    /// The state directory of this machine.
    pub state: PathBuf,
    /// The keys that bundles of each tenant must be signed with; a tenant occurs once.
    pub bundle_keys: Vec<(Tenant, Vec<PublicKey>)>,
    /// The key that signs what happened in a tenant, before it is read.
    pub audit_key: Option<Arc<SecretKey>>,
    /// The issuers whose ID tokens are exchanged for tokens of the server.
    pub sign_in: SignIn,
}

/// Why a log cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Tokens would cross a network in the clear.
    #[error(
        "{0} can be reached from other machines, and tokens would be sent in the clear: listen on 127.0.0.1 behind a proxy that encrypts, or add `--behind-proxy` if one does that for this address"
    )]
    InTheClear(SocketAddr),
    /// The address is not available.
    #[error("{address} cannot be listened on: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The system provides no threads or no event queue.
    #[error("the server cannot start: {0}")]
    Start(#[source] io::Error),
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] SharedError),
}

/// Serves the log of `database`, for all of its tenants, until the process ends.
///
/// `ready` is called with the address once connections are accepted. Whatever was acknowledged before the process is
/// killed is in the log; whoever got no answer sends the request again with its key.
///
/// # Errors
/// The address is not available or not safe, or the log cannot be used.
pub fn serve(
    database: Database,
    settings: &ServeSettings,
    ready: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<(), ServeError> {
    if !settings.listen.ip().is_loopback() && !settings.behind_proxy {
        return Err(ServeError::InTheClear(settings.listen));
    }
    database.readiness()?;
    let state = ServerState::new(database, folders(&settings.state), settings.sign_in.clone())?;
    let state = Arc::new(state.with_keys(&settings.bundle_keys, settings.audit_key.clone()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(THREADS_MAX)
        .enable_all()
        .build()
        .map_err(ServeError::Start)?;
    runtime.block_on(async {
        let listen = |source| ServeError::Listen {
            address: settings.listen,
            source,
        };
        let listener = TcpListener::bind(settings.listen).await.map_err(listen)?;
        ready(listener.local_addr().map_err(listen)?).map_err(ServeError::Start)?;
        accept(listener, router(state)).await
    })
}

fn folders(state: &Path) -> PathBuf {
    state.join("served")
}

fn router(state: Arc<ServerState>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.method() {
            axum::http::Method::POST => axum::routing::MethodFilter::POST,
            _ => axum::routing::MethodFilter::GET,
        };
        let handler = move |state, request: Request| handle::handle(state, route, request);
        router = router.route(route.path, on(filter, handler));
    }
    for path in page::paths() {
        router = router.route(path, axum::routing::get(page::file));
    }
    router
        .fallback(handle::unknown_address)
        .method_not_allowed_fallback(handle::unknown_method)
        .with_state(state)
}

async fn accept(listener: TcpListener, app: Router) -> Result<(), ServeError> {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Before accepting: further connections wait in the system's queue.
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
            return Ok(());
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let app = app.clone();
                tokio::spawn(async move {
                    serve_connection(stream, app).await;
                    drop(permit);
                });
            }
            Err(_) => sleep(NO_MORE_TIME).await,
        }
    }
}

async fn serve_connection(stream: TcpStream, app: Router) {
    // A reply of one packet must not wait for the acknowledgement of another.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(app);
    // A broken connection is the client's concern.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
