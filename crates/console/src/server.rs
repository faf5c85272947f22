//! Listens on the loopback addresses, and serves connections within limits.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use interlock_store::{ServedPort, StoreError};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    sync::{Semaphore, mpsc},
    time::{sleep, timeout},
};

use crate::{
    api::router,
    pairing::PairingRequest,
    peer::{Connection, Peer},
    shared::{Settings, Shared, now_ms},
};

/// Maximum number of open connections of the person.
const CONNECTIONS_MAX: usize = 128;
/// Maximum number of connections whose process is looked up at once.
const LOOKUPS_MAX: usize = 4;
/// Maximum number of refused connections that get a response at once; more are closed without one.
const REFUSALS_MAX: usize = 8;
/// Time limit for one request on a connection that is not trusted.
const REFUSAL_TIME: Duration = Duration::from_secs(2);
/// Time limit for receiving the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Maximum size in bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Delay after the system refuses to accept a connection.
const NO_MORE_TIME: Duration = Duration::from_millis(100);
/// Maximum number of attempts to find a port that is free on both addresses.
const TRIES_MAX: u32 = 32;

/// Why a console cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// The port is not available.
    #[error("port {port} of this machine cannot be listened on: {source}")]
    Listen {
        /// The requested port.
        port: u16,
        /// The underlying error.
        source: io::Error,
    },
    /// The state directory cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system provides no threads or no event queue.
    #[error("the console cannot start: {0}")]
    Start(#[source] io::Error),
}

/// A console that runs until it is dropped.
#[derive(Debug)]
pub struct Console {
    // Never read: dropping it ends the tasks.
    _runtime: Runtime,
    // Confined lines of agents cannot reach the port as long as this exists.
    _served: ServedPort,
    port: u16,
    pairings: mpsc::Receiver<PairingRequest>,
}

impl Console {
    /// Starts listening and serving.
    ///
    /// # Errors
    /// The port is not available, or the system provides no threads.
    pub fn start(settings: Settings) -> Result<Self, ConsoleError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(ConsoleError::Start)?;
        let (listeners, port) =
            runtime
                .block_on(listen(settings.port))
                .map_err(|source| ConsoleError::Listen {
                    port: settings.port,
                    source,
                })?;
        let served = settings.home.serve_console(port)?;
        let (shared, pairings) = Shared::new(settings, port);
        let shared = Arc::new(shared);
        let limits = Limits {
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
        };
        for listener in listeners {
            runtime.spawn(accept(listener, Arc::clone(&shared), limits.clone()));
        }
        Ok(Self {
            _runtime: runtime,
            _served: served,
            port,
            pairings,
        })
    }

    /// Returns the address of the page. It contains no secret.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://localhost:{}/", self.port)
    }

    /// Waits for the next page that asks to be admitted; returns `None` if there will be none.
    pub fn next_pairing(&mut self) -> Option<PairingRequest> {
        self.pairings.blocking_recv()
    }
}

/// Listens on the same port of both loopback addresses.
///
/// Otherwise, another program on the other address would be `localhost`, too.
async fn listen(port: u16) -> io::Result<(Vec<TcpListener>, u16)> {
    let mut tries = 0;
    loop {
        tries += 1;
        let four = TcpListener::bind(loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), port)).await?;
        let found = four.local_addr()?.port();
        match TcpListener::bind(loopback(IpAddr::V6(Ipv6Addr::LOCALHOST), found)).await {
            Ok(six) => return Ok((vec![four, six], found)),
            // Without IPv6, nobody else can listen there.
            Err(error) if is_absent(&error) => return Ok((vec![four], found)),
            Err(_) if port == 0 && tries < TRIES_MAX => {}
            Err(error) => return Err(error),
        }
    }
}

const fn loopback(address: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(address, port)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported
    ) || error.raw_os_error() == Some(EAFNOSUPPORT)
}

/// Linux's number of "Address family not supported".
const EAFNOSUPPORT: i32 = 97;

/// The limits of concurrent work.
#[derive(Debug, Clone)]
struct Limits {
    connections: Arc<Semaphore>,
    lookups: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, limits: Limits) {
    let app = router(Arc::clone(&shared));
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let (shared, limits, app) = (Arc::clone(&shared), limits.clone(), app.clone());
                tokio::spawn(serve_peer(stream, peer, (shared, limits, app)));
            }
            Err(_) => sleep(NO_MORE_TIME).await,
        }
    }
}

/// Serves a connection, or refuses it with the reason.
///
/// INVARIANT: an agent's connections do not count towards the limit of served connections.
async fn serve_peer(
    stream: TcpStream,
    peer: SocketAddr,
    (shared, limits, app): (Arc<Shared>, Limits, Router),
) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let connection = Connection::new(peer, local);
    let Ok(looking) = limits.lookups.acquire_owned().await else {
        return;
    };
    let found = shared
        .blocking(move |shared| connection.peer(&shared.home, &shared.sessions, now_ms()))
        .await;
    drop(looking);
    let app = app.layer(Extension(connection));
    if !matches!(found, Ok(Peer::Other(_))) {
        if let Ok(_permit) = limits.refusals.try_acquire_owned() {
            // The gate gives and records the reason.
            let _ = timeout(REFUSAL_TIME, serve(stream, app, REFUSAL_TIME)).await;
        } else if let Ok(Peer::Agent(agent)) = found {
            let _ = shared
                .blocking(move |shared| {
                    shared.report(&agent, "a connection");
                    Ok(())
                })
                .await;
        }
        return;
    }
    if let Ok(_permit) = limits.connections.acquire_owned().await {
        serve(stream, app, HEAD_TIME).await;
    }
}

async fn serve(stream: TcpStream, app: Router, head_time: Duration) {
    let service = TowerToHyperService::new(app);
    // A broken connection is the client's concern.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
