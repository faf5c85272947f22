//! A connection that ends if its client reads nothing for too long.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// A connection with a limit of how long a write may make no progress.
#[derive(Debug)]
pub(crate) struct StallLimited<T> {
    inner: T,
    stall: Duration,
    /// Timer that runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> StallLimited<T> {
    /// Creates a connection that gives up after `stall` without progress.
    pub(crate) fn new(inner: T, stall: Duration) -> Self {
        Self {
            inner,
            stall,
            waiting: None,
        }
    }

    fn watch<R>(
        &mut self,
        context: &mut Context<'_>,
        done: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if done.is_ready() {
            self.waiting = None;
            return done;
        }
        let stall = self.stall;
        let sleep = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + stall)));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for StallLimited<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for StallLimited<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(context, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_flush(context);
        self.watch(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_shutdown(context);
        self.watch(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.watch(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (here, _there) = tokio::io::duplex(4);
        let mut patient = StallLimited::new(here, Duration::from_millis(1));
        let failed = patient.write_all(b"more than fits").await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_slow_client_gets_everything() {
        let (here, mut there) = tokio::io::duplex(1);
        let mut patient = StallLimited::new(here, Duration::from_secs(60));
        let reading = async {
            let mut read = Vec::new();
            for _ in 0..9 {
                read.push(there.read_u8().await.unwrap());
            }
            read
        };
        let (written, read) = tokio::join!(patient.write_all(b"in pieces"), reading);
        written.unwrap();
        assert_eq!(read, b"in pieces");
    }
}
