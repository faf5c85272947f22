//! One runner per run: the holder of the lock carries out its effects.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// Name of the lock in a run's directory.
const FILE_NAME: &str = "runner.lock";
/// Maximum number of bytes read of a lock file.
const BYTES_MAX: u64 = 64 * 1024;
/// How often to retry a lock that another process holds.
const LOOKS_MAX: u32 = 10;
/// Interval of these retries.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The exclusive right to carry out a run's effects, until it is dropped.
///
/// Dropping it without [`Lease::release`] tells the next runner that this one crashed, so that its effects were interrupted.
#[derive(Debug)]
pub struct Lease {
    file: File,
    path: PathBuf,
    before: Before,
}

/// How the previous runner ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// There was none, or it released the run.
    Released,
    /// It crashed; `None` if it is unknown who it was.
    Died(Option<Holder>),
}

/// The holder of a run's lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Name of the machine.
    pub host: String,
    /// Start time in milliseconds since 1970.
    pub since_ms: u64,
}

/// Why a lease cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another process holds it.
    #[error("{}: wait for it, or end it with `interlock cancel`", held(.0.as_ref()))]
    Held(Option<Holder>),
    /// The lock file cannot be used.
    #[error("cannot lock `{path}`: {source}")]
    Io {
        /// The lock.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
}

fn held(holder: Option<&Holder>) -> String {
    holder.map_or_else(
        || "another process carries this run out".to_owned(),
        |holder| {
            format!(
                "process {} on `{}` carries this run out",
                holder.pid, holder.host
            )
        },
    )
}

/// Contents of a lock file that nobody holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Text {
    Held(Holder),
    Released,
}

impl Lease {
    /// Takes the lease of the run in `directory`.
    ///
    /// # Errors
    /// Another process holds it, which is named; or the lock file cannot be created.
    pub fn take(directory: &Path, now_ms: u64) -> Result<Self, LeaseError> {
        let path = directory.join(FILE_NAME);
        let failed = |source| LeaseError::Io {
            path: path.clone(),
            source,
        };
        let mut file = open(&path).map_err(failed)?;
        if !lock(&file).map_err(failed)? {
            let holder = match read(&mut file) {
                Some(Text::Held(holder)) => Some(holder),
                _ => None,
            };
            return Err(LeaseError::Held(holder));
        }
        let before = match read(&mut file) {
            Some(Text::Released) => Before::Released,
            Some(Text::Held(holder)) => Before::Died(Some(holder)),
            // The process or the system died while it wrote its name.
            None => Before::Died(None),
        };
        let mut lease = Self { file, path, before };
        let holder = Holder {
            pid: std::process::id(),
            host: host(),
            since_ms: now_ms,
        };
        lease
            .write(&Text::Held(holder))
            .map_err(|source| LeaseError::Io {
                path: lease.path.clone(),
                source,
            })?;
        Ok(lease)
    }

    /// Returns how the previous runner ended.
    #[must_use]
    pub const fn before(&self) -> &Before {
        &self.before
    }

    /// Releases the lease completely.
    ///
    /// # Errors
    /// The lock cannot be written: the next runner will assume that this one crashed.
    pub fn release(mut self) -> io::Result<()> {
        self.write(&Text::Released)
    }

    // Overwritten, not replaced: the lock is on this file.
    fn write(&mut self, text: &Text) -> io::Result<()> {
        let bytes = serde_json::to_vec(text)?;
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }
}

/// Returns the holder of the lease of the run in `directory`; `None` if nobody holds it.
#[must_use]
pub fn holder(directory: &Path) -> Option<Holder> {
    let mut file = File::open(directory.join(FILE_NAME)).ok()?;
    match file.try_lock_shared() {
        // Released at once, with the file.
        Ok(()) | Err(TryLockError::Error(_)) => None,
        Err(TryLockError::WouldBlock) => match read(&mut file)? {
            Text::Held(holder) => Some(holder),
            Text::Released => None,
        },
    }
}

/// Opens the lock file, creating it as one that nobody holds.
///
/// It appears with its text: an empty file belongs to a runner that crashed while writing it.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let text = serde_json::to_vec(&Text::Released)?;
    let mut fresh = options.clone();
    fresh.create(true).truncate(true);
    let made = fresh
        .open(&beside)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| match fs::hard_link(&beside, path) {
            // Another runner was first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
    // A temporary file that stays next to the lock is never read.
    let _ = fs::remove_file(&beside);
    made.and_then(|()| options.open(path))
}

/// Locks the file; returns `false` if another process keeps holding it for a while.
fn lock(file: &File) -> io::Result<bool> {
    // A process that only checks holds it for a moment.
    for _ in 0..LOOKS_MAX {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK_EVERY),
        }
    }
    Ok(false)
}

fn read(file: &mut File) -> Option<Text> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
#[expect(clippy::panic, clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::fs;

    use super::{Before, FILE_NAME, Lease, LeaseError, holder};

    #[test]
    fn a_run_is_held_by_one() {
        let room = tempfile::tempdir().unwrap();
        let lease = Lease::take(room.path(), 7).unwrap();
        assert_eq!(*lease.before(), Before::Released);
        let LeaseError::Held(Some(other)) = Lease::take(room.path(), 8).unwrap_err() else {
            panic!("the holder is not named");
        };
        assert_eq!((other.pid, other.since_ms), (std::process::id(), 7));
        assert_eq!(holder(room.path()), Some(other));
        lease.release().unwrap();
        assert_eq!(holder(room.path()), None);
        let again = Lease::take(room.path(), 9).unwrap();
        assert_eq!(*again.before(), Before::Released);
    }

    #[test]
    fn who_holds_a_run_is_named_where_it_is_known() {
        let room = tempfile::tempdir().unwrap();
        let _lease = Lease::take(room.path(), 7).unwrap();
        let held = Lease::take(room.path(), 8).unwrap_err().to_string();
        let own = format!(
            "process {} on `{}` carries",
            std::process::id(),
            super::host()
        );
        assert!(held.starts_with(&own), "{held}");
        // It is locked, and its name is not written yet.
        fs::write(room.path().join(FILE_NAME), "{\"held\":{\"pi").unwrap();
        let held = Lease::take(room.path(), 8).unwrap_err().to_string();
        assert!(held.starts_with("another process carries"), "{held}");
        assert_eq!(holder(room.path()), None);
    }

    #[test]
    fn one_that_was_not_given_back_has_died() {
        let room = tempfile::tempdir().unwrap();
        drop(Lease::take(room.path(), 7).unwrap());
        let lease = Lease::take(room.path(), 8).unwrap();
        let Before::Died(Some(dead)) = lease.before() else {
            panic!("{:?}", lease.before());
        };
        assert_eq!(dead.since_ms, 7);
        drop(lease);
        for text in ["", "{\"held\":{\"pi"] {
            fs::write(room.path().join(FILE_NAME), text).unwrap();
            let lease = Lease::take(room.path(), 9).unwrap();
            assert_eq!(*lease.before(), Before::Died(None), "{text}");
        }
    }
}
