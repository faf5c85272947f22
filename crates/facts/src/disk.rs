//! The disk, as far as facts need it.

mod given;
mod real;

use serde::{Deserialize, Serialize};

pub use given::GivenDisk;
pub use real::RealDisk;

/// Access to a disk. Paths are absolute.
pub trait Disk {
    /// Reads an entire regular file; returns `None` if it does not exist.
    ///
    /// # Errors
    /// It is not a regular file, has more than `bytes_max` bytes, or cannot be read.
    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, DiskError>;

    /// Returns the real path: links of the longest existing part are resolved.
    ///
    /// # Errors
    /// Links form a circle, lead through a process, or cannot be read.
    fn real(&self, path: &str) -> Result<String, DiskError>;

    /// Resolves the links of each of `paths`; one that cannot be resolved stays unchanged.
    fn follow_each(&self, paths: &mut [&mut String]) {
        for path in paths {
            if let Ok(found) = self.real(path) {
                **path = found;
            }
        }
    }

    /// Describes what is at `path`, following links; returns `None` if nothing is visible there.
    fn look(&self, path: &str) -> Option<Seen>;

    /// Returns what would change with a change at `path` itself; `None` if nothing is visible there.
    fn stamp(&self, path: &str) -> Option<Stamp>;

    /// Lists names in a directory, at most `max`, sorted; empty if there is no directory.
    fn names(&self, directory: &str, max: usize) -> Vec<String>;
}

/// Describes the state of a path in one word, for a later comparison.
#[must_use]
pub fn state_of(path: &str, disk: &dyn Disk) -> String {
    match disk.stamp(path) {
        None => "absent".to_owned(),
        Some(stamp) => {
            let [device, file, size, mode] = stamp.numbers;
            let [written, changed] = stamp.times;
            format!("{device}:{file}:{size}:{mode}:{written}:{changed}")
        }
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Kind of the file.
    pub kind: Kind,
    /// Device and inode, if it has any.
    pub id: Option<(u64, u64)>,
    /// Number of hard links.
    pub links: u64,
}

/// What the system knows of a file without opening it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Kind of the file, following links.
    pub kind: Kind,
    /// Target of the link at the path itself.
    pub link: Option<String>,
    /// Identity, size and mode.
    pub numbers: [u64; 4],
    /// Times of the last write and of the last change of any attribute, in nanoseconds since 1970.
    pub times: [i64; 2],
}

impl Stamp {
    /// Returns the size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.numbers[2]
    }

    /// Returns whether it is executable for anybody.
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.numbers[3] & 0o111 != 0
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Links form a circle.
    #[error("its links lead in a circle")]
    Circle,
    /// The path leads through a link of a process, which differs between processes.
    #[error("it leads through a process")]
    Process,
    /// A name on the path is not UTF-8.
    #[error("a name on the way is not UTF-8")]
    NotText,
    /// The path is not a regular file.
    #[error("it is not a regular file")]
    NotAFile,
    /// The file is too large to be read here.
    #[error("it has {0} bytes")]
    TooLarge(u64),
    /// The system refuses.
    #[error("it cannot be read: {0}")]
    Refused(String),
}
