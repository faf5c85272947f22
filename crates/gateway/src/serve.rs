//! `interlock serve`: listens, accepts connections within limits, and shuts down in order.

mod sessions;
mod stall;

use std::{io, net::SocketAddr, num::NonZero, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use self::{sessions::GatewaySessions, stall::StallLimited};
pub use crate::downstream::http::{Access, Limits, Resource, SessionFactory};
use crate::{
    downstream::http::{ServerState, router},
    error::GatewayError,
    metrics::Metrics,
    notes::Notes,
    server_set::ServerSet,
    settings::Settings,
    upstream::Running,
};

/// How long servers may take to end with the gateway; then they are left to the system.
const END_TIME: Duration = Duration::from_secs(4);
/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long a client may leave written data unread.
const STALL_TIME: Duration = Duration::from_secs(60);
/// Interval of the search for idle sessions.
const TIDY_EVERY: Duration = Duration::from_secs(15);
/// Delay if the system provides no more connections.
const NO_MORE_TIME: Duration = Duration::from_millis(100);

/// Address, access and limits of a server.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    /// Address to listen on; port 0: any free port.
    pub listen: SocketAddr,
    /// Who may use the server.
    pub access: Access,
    /// Limits of the server.
    pub limits: Limits,
    /// How long open requests may continue at shutdown.
    pub grace: Duration,
    /// Whether each request is logged to standard error.
    pub verbose: bool,
    /// Further destination of the log.
    pub log: Option<Notes>,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Others could reach the server without any authentication.
    #[error(
        "`{0}` is reached from other machines, so a token is needed: give it with `--token-file`"
    )]
    NoToken(SocketAddr),
    /// The address cannot be bound.
    #[error("`{address}` cannot be listened on: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The underlying error.
        source: io::Error,
    },
    /// The system provides no threads or no event loop.
    #[error("the server cannot start: {0}")]
    Start(#[source] io::Error),
    /// The configured servers cannot be used.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The caller could not be notified that the server is ready.
    #[error("the address cannot be reported: {0}")]
    Untold(String),
}

/// Serves the servers `behind` until the process is interrupted or terminated.
///
/// `ready` is called once the server listens.
///
/// # Errors
/// The server cannot listen, the settings cannot be used, or the caller cannot be notified.
pub fn serve_http(
    settings: &Settings,
    behind: &ServerSet,
    mut serving: ServeSettings,
    ready: impl FnOnce(SocketAddr) -> Result<(), String>,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .enable_all()
        .build()
        .map_err(ServeError::Start)?;
    let served = runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate()).map_err(ServeError::Start)?;
        let mut interrupted = signal(SignalKind::interrupt()).map_err(ServeError::Start)?;
        let notes = Notes::to_stderr();
        let (running, mut ended) = Running::new();
        let gateway = behind.gateway(settings, notes.clone(), running)?;
        let notes = Some(notes).filter(|_| serving.verbose);
        serving.log = serving.log.take().or(notes);
        let sessions = GatewaySessions {
            gateway: Arc::clone(&gateway),
            home: settings.environment.home.clone(),
        };
        let listening = listen(serving, Arc::new(sessions), behind.metrics.clone()).await?;
        ready(listening.address()).map_err(ServeError::Untold)?;
        let stop = Notify::new();
        let serving = listening.run(stop.notified());
        tokio::pin!(serving);
        // The first signal ends it in order, the second at once.
        for _ in 0..2 {
            tokio::select! {
                () = &mut serving => break,
                _ = terminated.recv() => stop.notify_one(),
                _ = interrupted.recv() => stop.notify_one(),
            }
        }
        gateway.end();
        drop(gateway);
        // Nothing is ever received: this returns when the last server is gone.
        timeout(END_TIME, ended.recv()).await.ok();
        Ok(())
    });
    runtime.shutdown_background();
    served
}

/// Chooses the number of threads that carry messages: half of the cores.
///
/// Clients and servers are on this machine as well, and every message that passes from one thread to another waits for the other
/// to wake.
fn threads() -> usize {
    let all = std::thread::available_parallelism().map_or(1, NonZero::get);
    (all / 2).max(1)
}

/// A server that listens.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    house: Arc<ServerState>,
    connections_max: usize,
    grace: Duration,
}

/// Binds the address; requests are answered by [`Listening::run`].
///
/// # Errors
/// The address cannot be bound, or would be open to everybody.
pub async fn listen(
    settings: ServeSettings,
    sessions: Arc<dyn SessionFactory>,
    metrics: Metrics,
) -> Result<Listening, ServeError> {
    let address = settings.listen;
    if !address.ip().is_loopback() && settings.access.token.is_none() {
        return Err(ServeError::NoToken(address));
    }
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let connections_max = settings.limits.connections_max;
    let house = ServerState::new(
        sessions,
        address,
        &settings.access,
        settings.limits,
        metrics,
        settings.log,
    );
    Ok(Listening {
        listener,
        address,
        house: Arc::new(house),
        connections_max,
        grace: settings.grace,
    })
}

impl Listening {
    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, then drains open requests within the grace period.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let permits = Arc::new(Semaphore::new(self.connections_max));
        let service = router(Arc::clone(&self.house));
        let tidying = tokio::spawn(tidy(Arc::clone(&self.house)));
        tokio::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                (stream, permit) = accept(&self.listener, &permits) => {
                    answer(stream, permit, service.clone(), &graceful);
                }
            }
        }
        drop(self.listener);
        tidying.abort();
        self.house.wind_down();
        // Both end the same way: what is still open is closed.
        let ended = timeout(self.grace, graceful.shutdown()).await;
        self.house.close();
        drop(ended);
    }
}

async fn tidy(house: Arc<ServerState>) {
    let mut every = tokio::time::interval(TIDY_EVERY);
    loop {
        every.tick().await;
        house.tidy();
    }
}

/// Waits for a connection; the system may have none to offer for a while.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so there is always one sooner or later.
    let permit = Arc::clone(permits).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => tokio::time::sleep(NO_MORE_TIME).await,
        }
    }
}

fn answer(
    stream: TcpStream,
    permit: Option<OwnedSemaphorePermit>,
    service: Router,
    graceful: &GracefulShutdown,
) {
    // A small answer must not wait for the next one.
    stream.set_nodelay(true).ok();
    let io = TokioIo::new(StallLimited::new(stream, STALL_TIME));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(100)
        .max_buf_size(65_536)
        .serve_connection(io, TowerToHyperService::new(service));
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        // A client that disconnected is not a failure of the server.
        connection.await.ok();
        drop(permit);
    });
}
