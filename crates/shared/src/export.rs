//! Exports a run of the log to a file, with its hashes.

use std::{io::Write, path::Path};

use interlock_core::names::{Digest, RunId};
use interlock_store::{
    Broken, ChainHash, Durability, FirstBroken, RunStore as _, StoreError,
    record::{self, Imported, Pin, Rows as _, Transfer, TransferError},
};

use crate::{run::SharedRun, runs::SharedRuns};

impl SharedRuns {
    /// Writes a run to a file, with its hashes.
    ///
    /// # Errors
    /// The run does not exist, is damaged, or the file cannot be written.
    pub fn export(
        &self,
        run: &RunId,
        to: &mut dyn Write,
        file: &Path,
    ) -> Result<Imported, TransferError> {
        record::export(&self.open_run(run)?, to, file)
    }
}

impl SharedRun {
    /// Describes how the last of `seq` events differs from the one with `hash`, which the run's row names.
    pub(crate) fn broken_tip(
        &self,
        seq: u64,
        hash: ChainHash,
    ) -> Result<Option<FirstBroken>, StoreError> {
        let Some(last) = seq.checked_sub(1) else {
            let (seq, broken) = (0, Broken::Hash);
            return Ok((hash != self.log_of().pin).then_some(FirstBroken { seq, broken }));
        };
        let broken = match record::row(self, last)? {
            Some(row) if row.hash == hash.as_bytes() => return Ok(None),
            Some(_) => Broken::Hash,
            None => Broken::Missing,
        };
        Ok(Some(FirstBroken { seq: last, broken }))
    }
}

impl Transfer for SharedRun {
    fn pinned(&self) -> Result<(Pin, Durability), StoreError> {
        // Without its last events, a run would be exported as a shorter one that looks complete.
        let tip = self.database.tip_of(self.run())?;
        let (seq, hash) = tip.ok_or_else(|| self.database.no_run(self.run()))?;
        if let Some(FirstBroken { seq, broken }) = self.broken_tip(seq, hash)? {
            return Err(self.log_of().broken(seq, &broken));
        }
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
