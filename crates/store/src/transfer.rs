//! A run as one file, for transfer from one store to another with its hashes.
//!
//! The file consists of lines of JSON: `run` with the pin, each `event` with its recorded bytes, each `machine` that the run
//! could move to, each `message`, each `output` of a call, and `end` with the number of events, the last hash and the SHA-256
//! of all previous lines. The same run gives the same bytes, whatever store it is read from. Snapshots are not included,
//! because they can be made again from the log.

mod export;
mod import;
mod line;

use std::{
    io,
    path::{Path, PathBuf},
};

use interlock_core::names::{Digest, RunId};
use serde::Serialize;

use crate::{
    chain::ChainHash,
    durability::Durability,
    error::StoreError,
    home::Home,
    pin::Pin,
    rows::{Row, Rows},
    run_store::RunStore as _,
    sqlite_run::SqliteRun,
};

pub use export::export;
pub use import::import;

/// A run as recorded by its store.
pub trait Transfer: Rows {
    /// Returns the pin.
    ///
    /// # Errors
    /// The pin cannot be read or was changed.
    fn pinned(&self) -> Result<(Pin, Durability), StoreError>;

    /// Returns the bytes of each machine that the run could move to, by hash.
    ///
    /// # Errors
    /// The store cannot be read.
    fn machines(&self) -> Result<Vec<Vec<u8>>, StoreError>;

    /// Lists the digests of its messages, sorted.
    ///
    /// # Errors
    /// The store cannot be read.
    fn message_digests(&self) -> Result<Vec<Digest>, StoreError>;

    /// Returns one message.
    ///
    /// # Errors
    /// The message is missing, or does not match its digest.
    fn message(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;

    /// Returns the texts that calls returned, by the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The store cannot be read.
    fn outputs(&self) -> Result<Vec<(String, String)>, StoreError>;
}

/// A store that receives a run.
///
/// Nothing of the run is visible before the caller has read all of it.
pub trait Import {
    /// Stores the pin.
    ///
    /// # Errors
    /// The run exists already, or the store cannot be written.
    fn pin(&mut self, pin: &Pin, durability: Durability) -> Result<(), StoreError>;

    /// Stores the next event, with the previous hash.
    ///
    /// # Errors
    /// The store cannot be written.
    fn event(&mut self, row: Row, prev: ChainHash) -> Result<(), StoreError>;

    /// Stores a machine that the run could move to.
    ///
    /// # Errors
    /// The store cannot be written.
    fn machine(&mut self, hash: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Stores a message.
    ///
    /// # Errors
    /// The store cannot be written.
    fn message(&mut self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// Stores the text that a call returned, by the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The store cannot be written.
    fn output(&mut self, call: &str, text: &str) -> Result<(), StoreError>;
}

/// Summary of a transferred run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Id of the run.
    pub run: RunId,
    /// Number of events.
    pub events: u64,
    /// Hash of the last event; that of the pin if there is none.
    pub hash: ChainHash,
}

/// Why a run was not transferred.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The file cannot be read or written.
    #[error("cannot read or write `{file}`: {source}")]
    File {
        /// The file.
        file: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A line does not belong to an exported run.
    #[error("`{file}`, line {line}: {what}; nothing was imported: export the run again")]
    Line {
        /// The file.
        file: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Transfer for SqliteRun {
    fn pinned(&self) -> Result<(Pin, Durability), StoreError> {
        Ok((self.pin()?, self.durability()))
    }

    fn machines(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        self.kept_machines()
    }

    fn message_digests(&self) -> Result<Vec<Digest>, StoreError> {
        self.folder().message_digests()
    }

    fn message(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.messages().read(digest)
    }

    fn outputs(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.folder().outputs()
    }
}

impl Home {
    /// Writes a run from this machine's state directory to a file, as [`export`] does.
    ///
    /// # Errors
    /// Those of [`export`], or there is no such run.
    pub fn export_run(
        &self,
        run: &RunId,
        to: &mut dyn io::Write,
        file: &Path,
    ) -> Result<Imported, TransferError> {
        export(&self.local_run(run)?, to, file)
    }
}
