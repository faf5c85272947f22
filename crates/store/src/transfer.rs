//! A run as one file, to be carried from one store to another with its hashes.
//!
//! Lines of JSON: `run` with what is pinned, each `event` with its bytes as they were written, each
//! `machine` that the run could move to, each `message`, each `output` of a call, and `end` with the
//! number of events, the last hash and the SHA-256 of all lines before it. The same run gives the same
//! bytes, whatever store it is read from. Snapshots are not carried: the log makes them again.

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

/// A run as its store has written it down.
pub trait Transfer: Rows {
    /// Returns what is pinned.
    ///
    /// # Errors
    /// It cannot be read or was changed.
    fn pinned(&self) -> Result<(Pin, Durability), StoreError>;

    /// Returns the bytes of each machine that the run could move to, by its hash.
    ///
    /// # Errors
    /// The store cannot be read.
    fn machines(&self) -> Result<Vec<Vec<u8>>, StoreError>;

    /// Lists the digests of its messages, in their order.
    ///
    /// # Errors
    /// The store cannot be read.
    fn message_digests(&self) -> Result<Vec<Digest>, StoreError>;

    /// Returns one message.
    ///
    /// # Errors
    /// It is not there, or is not what its digest says.
    fn message(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;

    /// Returns the texts that calls returned, by the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The store cannot be read.
    fn outputs(&self) -> Result<Vec<(String, String)>, StoreError>;
}

/// A store that takes a run over.
///
/// Nothing of it is to be found before the caller has seen all of it.
pub trait Import {
    /// Takes what is pinned.
    ///
    /// # Errors
    /// The run is there already, or the store cannot be written.
    fn pin(&mut self, pin: &Pin, durability: Durability) -> Result<(), StoreError>;

    /// Takes the next event with the hash before it.
    ///
    /// # Errors
    /// The store cannot be written.
    fn event(&mut self, row: Row, prev: ChainHash) -> Result<(), StoreError>;

    /// Takes a machine that the run could move to.
    ///
    /// # Errors
    /// The store cannot be written.
    fn machine(&mut self, hash: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Takes a message.
    ///
    /// # Errors
    /// The store cannot be written.
    fn message(&mut self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// Takes the text that a call returned, by the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The store cannot be written.
    fn output(&mut self, call: &str, text: &str) -> Result<(), StoreError>;
}

/// What was carried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The run.
    pub run: RunId,
    /// How many events it has.
    pub events: u64,
    /// The hash of the last of them; the pin's where there is none.
    pub hash: ChainHash,
}

/// Why a run was not carried over.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The file cannot be read or written.
    #[error("cannot read or write `{file}`: {source}")]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is not one of an exported run.
    #[error("`{file}`, line {line}: {what}; nothing was imported: export the run again")]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
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
    /// Writes a run of this machine's state directory into a file, as [`export`] does.
    ///
    /// # Errors
    /// Those of [`export`], and there is no such run.
    pub fn export_run(
        &self,
        run: &RunId,
        to: &mut dyn io::Write,
        file: &Path,
    ) -> Result<Imported, TransferError> {
        export(&self.local_run(run)?, to, file)
    }
}
