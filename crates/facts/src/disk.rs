//! The disk, as far as facts need it.

mod given;
mod real;

pub use given::GivenDisk;
pub use real::RealDisk;

/// What facts ask of a disk. Paths are absolute.
pub trait Disk {
    /// Reads a regular file whole; `None` when there is nothing.
    ///
    /// # Errors
    /// It is no file, has more than `bytes_max` bytes, or cannot be read.
    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, DiskError>;

    /// Returns where the system would end up: links of the longest existing part are followed.
    ///
    /// # Errors
    /// The way leads in a circle, through a process, or where nothing can be seen.
    fn real(&self, path: &str) -> Result<String, DiskError>;

    /// Tells what stands at `path`, links followed; `None` when nothing is seen there.
    fn look(&self, path: &str) -> Option<Seen>;

    /// Lists names in a directory, at most `max`, in order; none where there is no directory.
    fn names(&self, directory: &str, max: usize) -> Vec<String>;
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// What it is.
    pub kind: Kind,
    /// Its identity on this machine, where it has one.
    pub id: Option<(u64, u64)>,
    /// Names it has.
    pub links: u64,
}

/// What kind of thing stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A device, a pipe, a socket.
    Other,
}

/// Why the disk could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// Links lead in a circle.
    #[error("its links lead in a circle")]
    Circle,
    /// The way leads through a link of a process, which is another one for each process.
    #[error("it leads through a process")]
    Process,
    /// A name on the way is not UTF-8.
    #[error("a name on the way is not UTF-8")]
    NotText,
    /// There is something else than a regular file.
    #[error("it is not a regular file")]
    NotAFile,
    /// The file is too large to be read here.
    #[error("it has {0} bytes")]
    TooLarge(u64),
    /// The system refuses.
    #[error("it cannot be read: {0}")]
    Refused(String),
}
