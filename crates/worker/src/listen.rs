//! Accepts the connections of Restate.

use std::{future::Ready, sync::Arc, time::Duration};

use hyper::{Request, Uri, body::Incoming, server::conn::http2, service::Service};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use restate_sdk::hyper::HyperEndpoint;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::sleep,
};

/// Maximum number of open connections.
const CONNECTIONS_MAX: usize = 256;
/// A connection whose other end does not answer for so long is closed.
const ALIVE_TIME: Duration = Duration::from_secs(20);
/// Delay after the system refuses to accept a connection.
const NO_MORE_TIME: Duration = Duration::from_millis(100);
/// Where a request is sent whose path the endpoint cannot take apart: an address that does not exist.
const NOWHERE: &str = "/there/is/none";

pub(crate) async fn accept(listener: TcpListener, endpoint: HyperEndpoint) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Before accepting: further connections wait in the system's queue.
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let endpoint = Paths(endpoint.clone());
                tokio::spawn(async move {
                    serve(stream, endpoint).await;
                    drop(permit);
                });
            }
            Err(_) => sleep(NO_MORE_TIME).await,
        }
    }
}

async fn serve(stream: TcpStream, endpoint: Paths) {
    // Otherwise each step waits for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    // A broken connection is Restate's concern: it connects again.
    let _ = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(ALIVE_TIME)
        .keep_alive_timeout(ALIVE_TIME)
        .serve_connection(TokioIo::new(stream), endpoint)
        .await;
}

/// An endpoint that is only given paths which it can take apart: it would panic on others.
#[derive(Clone)]
struct Paths(HyperEndpoint);

impl Service<Request<Incoming>> for Paths {
    type Response = <HyperEndpoint as Service<Request<Incoming>>>::Response;
    type Error = <HyperEndpoint as Service<Request<Incoming>>>::Error;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if !is_understood(request.uri().path()) {
            *request.uri_mut() = Uri::from_static(NOWHERE);
        }
        self.0.call(request)
    }
}

fn is_understood(path: &str) -> bool {
    path.split('/').count() >= 3 || matches!(path, "/discover" | "/health")
}

#[cfg(test)]
mod tests {
    use super::{NOWHERE, is_understood};

    #[test]
    fn a_path_that_is_too_short_goes_nowhere() {
        for path in ["/discover", "/health", "/invoke/Run/wake", NOWHERE] {
            assert!(is_understood(path), "{path}");
        }
        for path in ["", "/", "*", "/invoke", "invoke"] {
            assert!(!is_understood(path), "{path}");
        }
    }
}
