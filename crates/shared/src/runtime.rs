//! The runtime of the connections, on a thread of its own, so that callers do not need one.

use std::{
    future::Future,
    io,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use tokio::{runtime::Handle, sync::oneshot};

/// A runtime on its own thread; dropping it ends everything that still runs on it.
#[derive(Debug)]
pub(crate) struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || {
                // It ends when dropped or sent.
                let _ = runtime.block_on(stopped);
            })?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Runs a future and waits for its result; `None` if it was abandoned with the runtime.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = answer.send(future.await);
        });
        answered.recv().ok()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
