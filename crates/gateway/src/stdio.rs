//! The gateway on standard input and output, for the client that started it.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    signal::unix::{SignalKind, signal},
    time::timeout,
};

use crate::{
    downstream, error::GatewayError, govern::Caller, notes::Notes, server_set::ServerSet,
    session::Gateway, settings::Settings, streams, upstream::Running,
};

/// How long servers may take to end with the gateway; then they are left to the system.
const END_TIME: Duration = Duration::from_secs(4);

/// Serves the client that started this process until it leaves or the process is interrupted.
///
/// # Errors
/// The system provides no event loop, the settings cannot be used, or the streams cannot be read or written.
pub fn serve_stdio(settings: &Settings, behind: &ServerSet) -> Result<(), GatewayError> {
    // One thread is enough for messages and for the disk accesses of a call.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(GatewayError::Start)?;
    let served = runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate()).map_err(GatewayError::Start)?;
        let mut hung_up = signal(SignalKind::hangup()).map_err(GatewayError::Start)?;
        let (running, mut ended) = Running::new();
        let gateway = behind.gateway(settings, Notes::to_stderr(), running)?;
        let serving = serve(&gateway, streams::input(), streams::output());
        let served = tokio::select! {
            served = serving => served,
            _ = tokio::signal::ctrl_c() => Ok(()),
            _ = terminated.recv() => Ok(()),
            _ = hung_up.recv() => Ok(()),
        };
        gateway.end();
        drop(gateway);
        // Nothing is ever received: this returns when the last server is gone.
        timeout(END_TIME, ended.recv()).await.ok();
        served
    });
    // A pending read of stdin would keep the process alive.
    runtime.shutdown_background();
    served
}

/// Serves one client over two byte streams until it leaves.
///
/// # Errors
/// The streams cannot be read or written.
pub async fn serve(
    gateway: &Arc<Gateway>,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> Result<(), GatewayError> {
    let link = gateway
        .open(Caller::Stdio)
        .map_err(|error| GatewayError::Client(error.to_string()))?;
    let bytes_max = gateway.bounds().message_bytes_max;
    downstream::stdio::serve(reader, writer, link, bytes_max)
        .await
        .map_err(|error| GatewayError::Client(error.to_string()))
}
