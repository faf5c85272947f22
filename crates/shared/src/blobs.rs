//! The messages of a run, each under the digest of its bytes.

use std::path::PathBuf;

use interlock_core::names::{Digest, RunId};
use interlock_store::{Blobs, StoreError, record};

use crate::database::Database;

/// The maximum number of bytes of a message.
const BYTES_MAX: usize = 256 * 1024 * 1024;

/// The messages of a run in a shared log.
#[derive(Debug)]
pub(crate) struct SharedMessages {
    pub(crate) database: Database,
    pub(crate) run: RunId,
    /// The run's address, for messages.
    pub(crate) place: PathBuf,
}

impl Blobs for SharedMessages {
    fn keep(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        if bytes.len() > BYTES_MAX {
            return Err(StoreError::Unwritable {
                path: self.place.clone(),
                what: format!("a message of {} bytes", bytes.len()),
            });
        }
        let digest = record::message_digest(bytes);
        self.database
            .keep_message(&self.run, digest.as_str(), bytes.to_vec())?;
        Ok(digest)
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let damaged = |what: &str| StoreError::Damaged {
            path: self.place.clone(),
            what: format!("message `{digest}` {what}"),
        };
        let found = self.database.message(&self.run, digest.as_str())?;
        let bytes = found.ok_or_else(|| damaged("is not there"))?;
        if record::message_digest(&bytes) == *digest {
            Ok(bytes)
        } else {
            Err(damaged("is not what the log says it was"))
        }
    }
}
