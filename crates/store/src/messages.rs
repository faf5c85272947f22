//! Messages of models and texts sent to them, by digest; most stores use files beside a run's log.

use std::{
    fmt::Debug,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use interlock_core::names::Digest;
use sha2::{Digest as _, Sha256};

use crate::{
    chain::hex,
    durability::Durability,
    error::StoreError,
    files::{self, Sync},
    folder::RunFolder,
    id,
};

/// Name of the folder in a run's directory.
const FOLDER: &str = "messages";
/// Length of a SHA-256 in hexadecimal digits.
const NAME_LENGTH: usize = 64;
/// Maximum size of such a file in bytes.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Data that belongs to one run's log, stored by digest, independent of the store.
pub trait Blobs: Debug + Send + std::marker::Sync {
    /// Stores `bytes` and returns their digest; equal bytes are stored once.
    ///
    /// # Errors
    /// They cannot be written.
    fn keep(&self, bytes: &[u8]) -> Result<Digest, StoreError>;

    /// Returns the bytes of a digest.
    ///
    /// # Errors
    /// The bytes are missing, cannot be read, or do not match the digest.
    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;
}

/// Messages of models in one run, and the texts sent to them, stored by digest.
///
/// They are as durable as the run's events.
#[derive(Debug, Clone)]
pub struct Messages(Arc<dyn Blobs>);

impl Messages {
    /// Uses `blobs` as the store.
    pub fn new(blobs: impl Blobs + 'static) -> Self {
        Self(Arc::new(blobs))
    }

    /// Stores `bytes`, as [`Blobs::keep`] does.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn keep(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        self.0.keep(bytes)
    }

    /// Returns the bytes of a digest, as [`Blobs::read`] does.
    ///
    /// # Errors
    /// The bytes are missing, cannot be read, or do not match the digest.
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.0.read(digest)
    }
}

/// Messages in a folder, each in a file that only its owner can read.
#[derive(Debug)]
struct MessageFiles {
    folder: PathBuf,
    sync: Sync,
}

impl RunFolder {
    /// Returns the messages stored in this folder.
    pub(crate) fn messages(&self) -> Messages {
        Messages::new(MessageFiles {
            folder: self.path().join(FOLDER),
            sync: match self.durability {
                Durability::Power => Sync::Now,
                Durability::Process => Sync::Later,
            },
        })
    }

    /// Lists the digests of the data in this folder, sorted.
    pub(crate) fn message_digests(&self) -> Result<Vec<Digest>, StoreError> {
        let folder = self.path().join(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| StoreError::io("read", &folder, error))?,
        };
        let mut digests = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| StoreError::io("read", &folder, error))?;
            // What was never finished has another name.
            let name = entry.file_name().into_string().ok();
            digests.extend(name.filter(|name| is_name(name)).map(Digest::new));
        }
        digests.sort_unstable();
        Ok(digests)
    }
}

impl Blobs for MessageFiles {
    fn keep(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = message_digest(bytes);
        let path = self.path(&digest)?;
        if fs::read(&path).is_ok_and(|found| found == bytes) {
            return Ok(digest);
        }
        files::make_directory(&self.folder)?;
        let beside = path.with_extension(format!("{}.new", hex(&id::random::<8>()?)));
        let written = self.write(&beside, bytes);
        let kept = written.and_then(|()| fs::rename(&beside, &path));
        if let Err(error) = kept {
            // Only our own unfinished file; the error that counts is the first.
            let _ = fs::remove_file(&beside);
            return Err(StoreError::io("write", &path, error));
        }
        if self.sync == Sync::Now {
            files::sync_directory(&path)?;
        }
        Ok(digest)
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let path = self.path(digest)?;
        let Some(bytes) = files::read_bytes(&path, BYTES_MAX)? else {
            return Err(StoreError::damaged(&path, "it is not there".to_owned()));
        };
        if message_digest(&bytes) != *digest {
            let what = "it is not what the log says it was".to_owned();
            return Err(StoreError::damaged(&path, what));
        }
        Ok(bytes)
    }
}

impl MessageFiles {
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(bytes)?;
        match self.sync {
            Sync::Now => file.sync_all(),
            Sync::Later => Ok(()),
        }
    }

    /// Returns the path of the bytes of a digest, which must not be a path itself.
    fn path(&self, digest: &Digest) -> Result<PathBuf, StoreError> {
        let name = digest.as_str();
        if is_name(name) {
            return Ok(self.folder.join(name));
        }
        let what = format!("`{name}` is the name of no message");
        Err(StoreError::damaged(&self.folder, what))
    }
}

fn is_name(name: &str) -> bool {
    name.len() == NAME_LENGTH && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns the lower-case hexadecimal SHA-256.
pub fn message_digest(bytes: &[u8]) -> Digest {
    Digest::new(hex(&Sha256::digest(bytes)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn room() -> (tempfile::TempDir, MessageFiles) {
        let room = tempfile::tempdir().unwrap();
        let messages = MessageFiles {
            folder: room.path().join(FOLDER),
            sync: Sync::Now,
        };
        (room, messages)
    }

    #[test]
    fn what_was_kept_is_read_again_by_its_owner_alone() {
        let (_room, messages) = room();
        let digest = messages.keep(b"{\"text\":\"hello\"}").unwrap();
        assert_eq!(messages.keep(b"{\"text\":\"hello\"}").unwrap(), digest);
        assert_eq!(messages.read(&digest).unwrap(), b"{\"text\":\"hello\"}");
        let path = messages.path(&digest).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let folder = messages.folder.metadata().unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&messages.folder).unwrap().count(), 1);
    }

    #[test]
    fn what_was_changed_or_is_gone_is_an_error() {
        let (_room, messages) = room();
        let digest = messages.keep(b"as it came").unwrap();
        let path = messages.path(&digest).unwrap();
        fs::write(&path, "as it came?").unwrap();
        assert!(messages.read(&digest).is_err());
        // Kept again, it is whole again.
        messages.keep(b"as it came").unwrap();
        assert_eq!(messages.read(&digest).unwrap(), b"as it came");
        fs::remove_file(&path).unwrap();
        assert!(messages.read(&digest).is_err());
        assert!(messages.read(&Digest::new("../../token.json")).is_err());
    }
}
