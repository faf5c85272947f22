//! Writing a run of the log into a file, with its hashes.

use std::{io::Write, path::Path};

use interlock_core::names::{Digest, RunId};
use interlock_store::{
    Durability, RunStore as _, StoreError,
    record::{self, Imported, Pin, Rows as _, Transfer, TransferError},
};

use crate::{run::SharedRun, runs::SharedRuns};

impl SharedRuns {
    /// Writes a run into a file, with its hashes.
    ///
    /// # Errors
    /// There is no such run, it is damaged, or the file cannot be written.
    pub fn export(
        &self,
        run: &RunId,
        to: &mut dyn Write,
        file: &Path,
    ) -> Result<Imported, TransferError> {
        record::export(&self.open_run(run)?, to, file)
    }
}

impl Transfer for SharedRun {
    fn pinned(&self) -> Result<(Pin, Durability), StoreError> {
        Ok((self.checked_pin()?, self.durability()))
    }

    fn machines(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        Ok(self.database.machines(self.run())?)
    }

    fn message_digests(&self) -> Result<Vec<Digest>, StoreError> {
        let digests = self.database.message_digests(self.run())?;
        Ok(digests.into_iter().map(Digest::new).collect())
    }

    fn message(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.messages().read(digest)
    }

    fn outputs(&self) -> Result<Vec<(String, String)>, StoreError> {
        let outputs = self.database.outputs(self.run())?;
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).map_err(|_| self.log_of().damaged("an output is not text"))
        };
        outputs
            .into_iter()
            .map(|(call, bytes)| Ok((call, text(bytes)?)))
            .collect()
    }
}
