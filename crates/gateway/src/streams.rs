//! Standard input and output, read and written in the thread that waits for them.
//!
//! The streams may be shared with other processes, so their flags stay unchanged: each read and write is made when the system
//! reports that it does not block. A separate thread would cost a call as much as everything else.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, unix::AsyncFd};

/// Maximum number of bytes written at once to a writable stream: every system accepts at least this many.
const WRITE_BYTES_MAX: usize = 4_096;

/// Returns standard input; anything other than a pipe, a socket or a terminal is read by another thread.
pub(crate) fn input() -> Box<dyn AsyncRead + Unpin> {
    match Stream::of(io::stdin(), Interest::READABLE) {
        Ok(stream) => Box::new(stream),
        Err(_) => Box::new(tokio::io::stdin()),
    }
}

/// Returns standard output; see [`input`].
pub(crate) fn output() -> Box<dyn AsyncWrite + Unpin> {
    match Stream::of(io::stdout(), Interest::WRITABLE) {
        Ok(stream) => Box::new(stream),
        Err(_) => Box::new(tokio::io::stdout()),
    }
}

/// A stream whose readiness the runtime monitors.
#[derive(Debug)]
struct Stream(AsyncFd<OwnedFd>);

impl Stream {
    /// Monitors a stream; a regular file cannot be monitored.
    #[expect(
        deprecated,
        reason = "what takes its place is unsafe for the sake of types that do not own what they name; this one does"
    )]
    fn of(stream: impl AsFd, interest: Interest) -> io::Result<Self> {
        let own = stream.as_fd().try_clone_to_owned()?;
        AsyncFd::with_interest(own, interest).map(Self)
    }

    /// Returns whether the system would not block now.
    fn is_ready(&self, flags: PollFlags) -> io::Result<bool> {
        let mut one = [PollFd::new(self.0.get_ref(), flags)];
        match poll(&mut one, Some(&Timespec::default())) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            found => Ok(found? > 0),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(context))?;
            if !self.is_ready(PollFlags::IN)? {
                guard.clear_ready();
                continue;
            }
            let read = rustix::io::read(self.0.get_ref(), buffer.initialize_unfilled());
            match read {
                Err(error) if is_early(error) => guard.clear_ready(),
                read => {
                    buffer.advance(read?);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(context))?;
            if !self.is_ready(PollFlags::OUT)? {
                guard.clear_ready();
                continue;
            }
            let some = bytes.get(..WRITE_BYTES_MAX).unwrap_or(bytes);
            match rustix::io::write(self.0.get_ref(), some) {
                Err(error) if is_early(error) => guard.clear_ready(),
                written => return Poll::Ready(Ok(written?)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Returns whether the stream has nothing now, but may later.
fn is_early(error: rustix::io::Errno) -> bool {
    matches!(error, rustix::io::Errno::AGAIN | rustix::io::Errno::INTR)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::{io::Write as _, os::unix::net::UnixStream, time::Duration};

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        time::timeout,
    };

    use super::*;

    fn reading(stream: impl AsFd) -> Stream {
        Stream::of(stream, Interest::READABLE).unwrap()
    }

    fn writing(stream: impl AsFd) -> Stream {
        Stream::of(stream, Interest::WRITABLE).unwrap()
    }

    /// There is no data and none will come: this is checked once, without blocking the runtime.
    const NOTHING: Duration = Duration::from_millis(20);

    #[tokio::test(flavor = "current_thread")]
    async fn what_comes_is_read_and_what_does_not_stalls_nobody() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut stream = reading(reader);
        let mut buffer = [0; 64];
        for word in ["one", "two"] {
            assert!(timeout(NOTHING, stream.read(&mut buffer)).await.is_err());
            writer.write_all(word.as_bytes()).unwrap();
            let read = stream.read(&mut buffer).await.unwrap();
            assert_eq!(buffer.get(..read), Some(word.as_bytes()));
        }
        drop(writer);
        assert_eq!(stream.read(&mut buffer).await.unwrap(), 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_reader_that_is_slow_gets_all_and_stalls_nobody() {
        let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let (reader, writer) = io::pipe().unwrap();
        let (near, far) = UnixStream::pair().unwrap();
        for (mut from, mut to) in [
            (reading(reader), writing(writer)),
            (reading(near), writing(far)),
        ] {
            let all = sent.clone();
            let written = tokio::spawn(async move { to.write_all(&all).await });
            let mut got = Vec::new();
            let mut buffer = vec![0; 65_536];
            while got.len() < sent.len() {
                let read = from.read(&mut buffer).await.unwrap();
                got.extend_from_slice(buffer.get(..read).unwrap_or_default());
            }
            written.await.unwrap().unwrap();
            assert!(got == sent);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_reader_that_is_gone_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error = writing(writer).write(b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_plain_file_is_left_to_another_thread() {
        let file = tempfile::tempfile().unwrap();
        assert!(Stream::of(file, Interest::READABLE).is_err());
    }
}
