//! The disk, as far as facts need it.

mod given;
mod real;

use serde::{Deserialize, Serialize};

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

    /// Follows the links of each of `paths`; one that cannot be followed stays as it is.
    fn follow_each(&self, paths: &mut [&mut String]) {
        for path in paths {
            if let Ok(found) = self.real(path) {
                **path = found;
            }
        }
    }

    /// Tells what stands at `path`, links followed; `None` when nothing is seen there.
    fn look(&self, path: &str) -> Option<Seen>;

    /// Tells what would change with a change at `path` itself; `None` when nothing is seen there.
    fn stamp(&self, path: &str) -> Option<Stamp>;

    /// Lists names in a directory, at most `max`, in order; none where there is no directory.
    fn names(&self, directory: &str, max: usize) -> Vec<String>;
}

/// Writes what the disk says of a path in one word, to be compared with a later look.
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

/// What the system knows of a file without opening it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// What it is, links followed.
    pub kind: Kind,
    /// Where a link at the path itself leads, as it says.
    pub link: Option<String>,
    /// Identity, size and mode.
    pub numbers: [u64; 4],
    /// When it was last written, and when anything of it changed; nanoseconds since 1970.
    pub times: [i64; 2],
}

impl Stamp {
    /// Returns its size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.numbers[2]
    }

    /// Tells whether somebody may run it.
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.numbers[3] & 0o111 != 0
    }
}

/// What kind of thing stands at a path.
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
