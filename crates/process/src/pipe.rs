//! The pipes of a program, read and written without ever waiting for it.

use std::{
    io::{self, Read as _, Write as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    process::ChildStdin,
};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Bytes taken at one time.
const CHUNK: usize = 64 * 1024;
/// Chunks taken before others are looked at.
const CHUNKS_MAX: usize = 16;

/// One output of a program.
#[derive(Debug)]
pub struct OutputPipe {
    pipe: Option<std::fs::File>,
}

impl OutputPipe {
    /// Takes the end of a pipe; none is one that has ended.
    ///
    /// # Errors
    /// The system refuses to read it without waiting.
    pub fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            pipe: pipe.map(std::fs::File::from),
        })
    }

    /// Returns what becomes readable; `None` once it has ended.
    #[must_use]
    pub fn waits(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Takes what is there; tells whether there may be more at once.
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
    /// Takes the end of a pipe and what is to go into it.
    ///
    /// # Errors
    /// The system refuses to write it without waiting.
    pub fn new(pipe: Option<ChildStdin>, bytes: &'a [u8]) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe, rest: bytes })
    }

    /// Returns what becomes writable; `None` once all is written.
    #[must_use]
    pub fn waits(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Writes what goes in.
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
                // It reads no more; what it makes of that is its own.
                Err(_) => self.pipe = None,
            }
        }
    }
}
