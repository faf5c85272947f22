//! The pipes of a program, read and written without blocking.

use std::{
    io::{self, Read as _, Write as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    process::ChildStdin,
};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The number of bytes read at a time.
const CHUNK: usize = 64 * 1024;
/// The number of chunks read before other pipes are served.
const CHUNKS_MAX: usize = 16;

/// An output of a program.
#[derive(Debug)]
pub struct OutputPipe {
    pipe: Option<std::fs::File>,
}

impl OutputPipe {
    /// Takes the end of a pipe; `None` counts as a pipe that has ended.
    ///
    /// # Errors
    /// The system refuses to make it non-blocking.
    pub fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            pipe: pipe.map(std::fs::File::from),
        })
    }

    /// Returns the descriptor to poll for reading; `None` once the pipe has ended.
    #[must_use]
    pub fn waits(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Reads what is available; returns whether there may be more at once.
    pub fn drain(&mut self, buffer: &mut Vec<u8>, mut take: impl FnMut(&[u8])) -> bool {
        buffer.resize(CHUNK, 0);
        let Some(pipe) = &mut self.pipe else {
            return false;
        };
        for _ in 0..CHUNKS_MAX {
            match pipe.read(buffer) {
                Ok(count @ 1..) => take(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Ok(0) | Err(_) => {
                    self.pipe = None;
                    return false;
                }
            }
        }
        true
    }
}

/// The input of a program.
#[derive(Debug)]
pub struct InputPipe<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl<'a> InputPipe<'a> {
    /// Takes the end of a pipe and the bytes to be written to it.
    ///
    /// # Errors
    /// The system refuses to make it non-blocking.
    pub fn new(pipe: Option<ChildStdin>, bytes: &'a [u8]) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe, rest: bytes })
    }

    /// Returns the descriptor to poll for writing; `None` once everything is written.
    #[must_use]
    pub fn waits(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Writes as much as the pipe takes.
    pub fn fill(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            if self.rest.is_empty() {
                self.pipe = None;
                return;
            }
            match pipe.write(self.rest) {
                Ok(count) => self.rest = self.rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It does not read any more; what it makes of that is its own affair.
                Err(_) => self.pipe = None,
            }
        }
    }
}
