//! What models said and what they were told: files beside a run's log, named by their digest.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
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
/// Characters of a SHA-256 in hexadecimal digits.
const NAME_LENGTH: usize = 64;
/// The most bytes of one such file.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What models said and what they were told in one run, each under the digest of its bytes.
///
/// Readable by the owner alone. What was kept survives what the run's events survive.
#[derive(Debug, Clone)]
pub struct Messages {
    folder: PathBuf,
    sync: Sync,
}

impl RunFolder {
    /// Returns what models said and what they were told in this run.
    #[must_use]
    pub fn messages(&self) -> Messages {
        Messages {
            folder: self.path().join(FOLDER),
            sync: match self.durability {
                Durability::Power => Sync::Now,
                Durability::Process => Sync::Later,
            },
        }
    }
}

impl Messages {
    /// Keeps `bytes` and returns their digest; kept twice, they are there once.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn keep(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = digest(bytes);
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

    /// Returns the bytes of a digest.
    ///
    /// # Errors
    /// They are not there, cannot be read, or are not what the digest is of.
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let path = self.path(digest)?;
        let Some(bytes) = files::read_bytes(&path, BYTES_MAX)? else {
            return Err(StoreError::damaged(&path, "it is not there".to_owned()));
        };
        if self::digest(&bytes) != *digest {
            let what = "it is not what the log says it was".to_owned();
            return Err(StoreError::damaged(&path, what));
        }
        Ok(bytes)
    }

    /// Returns where the bytes of a digest lie; a digest is no path.
    fn path(&self, digest: &Digest) -> Result<PathBuf, StoreError> {
        let name = digest.as_str();
        let is_name = name.len() == NAME_LENGTH && name.bytes().all(|b| b.is_ascii_hexdigit());
        if is_name {
            return Ok(self.folder.join(name));
        }
        let what = format!("`{name}` is the name of no message");
        Err(StoreError::damaged(&self.folder, what))
    }
}

/// Returns the lower-case hexadecimal SHA-256.
fn digest(bytes: &[u8]) -> Digest {
    Digest::new(hex(&Sha256::digest(bytes)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn room() -> (tempfile::TempDir, Messages) {
        let room = tempfile::tempdir().unwrap();
        let messages = Messages {
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
