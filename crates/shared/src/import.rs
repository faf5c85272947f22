//! Imports a run from a file, in one transaction, with its hashes.

use std::{io::BufRead, path::Path, sync::Arc};

use interlock_core::names::{Digest, RunId};
use interlock_store::{
    ChainHash, Durability, RunStore as _, StoreError,
    record::{self, Import, Imported, Pin, Row, TransferError},
};

use crate::{
    append::Columns,
    database::{Leased, Value},
    error::SharedError,
    places::Places,
    runs::{INSERT_RUN, SharedRuns, Written, text},
};

/// The number of events that are sent at once.
const BATCH: usize = 256;

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportDone {
    /// The run did not exist and was made.
    Made(Imported),
    /// The run existed already.
    There(Imported),
}

impl SharedRuns {
    /// Imports a run from a file, all of it or nothing.
    ///
    /// Its project is at `project_root` on this machine.
    ///
    /// # Errors
    /// A line of the file is not as it was exported, another run has its id, or the database cannot be written.
    pub fn import(
        &self,
        from: &mut dyn BufRead,
        file: &Path,
        project_root: &Path,
        person_home: Option<&Path>,
    ) -> Result<ImportDone, TransferError> {
        let places = Places {
            project_root: text(project_root)?,
            person_home: person_home.map(text).transpose()?.unwrap_or_default(),
        };
        let mut taking = Taking {
            runs: self,
            places,
            session: None,
            waiting: Vec::new(),
            last_ms: 0,
        };
        let read = record::import(from, file, &mut taking)?;
        Ok(taking.end(read)?)
    }
}

/// A run that is being imported, in a transaction that stays open meanwhile.
struct Taking<'a> {
    runs: &'a SharedRuns,
    places: Places,
    session: Option<Session>,
    waiting: Vec<(Row, ChainHash)>,
    last_ms: u64,
}

/// The destination of what is read.
struct Session {
    /// The transaction; `None` if the run exists already, so that nothing is written.
    leased: Option<Arc<Leased>>,
    run: RunId,
    there: Option<(u64, ChainHash)>,
}

impl Taking<'_> {
    /// Writes one row of a table if the run does not exist already.
    fn put(&self, statement: &'static str, more: Vec<Value>) -> Result<(), StoreError> {
        let Some((leased, run)) = self.writing() else {
            return Ok(());
        };
        let database = self.runs.database();
        let mut values = vec![database.tenant().as_str().into(), run.as_str().into()];
        values.extend(more);
        let done = database.wait(async move { leased.query(statement, &values).await });
        Ok(done.map(drop)?)
    }

    fn writing(&self) -> Option<(Arc<Leased>, RunId)> {
        let session = self.session.as_ref()?;
        let leased = session.leased.as_ref()?;
        Some((Arc::clone(leased), session.run.clone()))
    }

    /// Sends the waiting events.
    fn send(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.waiting);
        let Some((leased, run)) = self.writing() else {
            return Ok(());
        };
        let database = self.runs.database();
        let tenant = database.tenant().as_str().to_owned();
        let mut columns = Columns::default();
        for (row, prev) in rows {
            columns.push(row, prev);
        }
        let sent =
            database.wait(async move { columns.insert(&leased, &tenant, run.as_str()).await });
        Ok(sent?)
    }

    /// Makes the run visible.
    fn end(mut self, read: Imported) -> Result<ImportDone, StoreError> {
        self.send()?;
        self.put(
            "UPDATE interlock.runs SET seq = $3, tip_hash = $4, last_ms = $5 \
             WHERE tenant = $1 AND run = $2",
            vec![
                read.events.into(),
                read.hash.as_bytes().to_vec().into(),
                self.last_ms.into(),
            ],
        )?;
        let database = self.runs.database();
        let Some(session) = self.session.take() else {
            return Err(database.no_run(&read.run).into());
        };
        let Some(leased) = session.leased else {
            return match session.there {
                Some((events, hash)) if events == read.events && hash == read.hash => {
                    self.write_places(&read.run)?;
                    Ok(ImportDone::There(read))
                }
                there => Err(SharedError::RunThere {
                    tenant: database.tenant().clone(),
                    run: read.run,
                    events: there.map_or(0, |(events, _)| events),
                }
                .into()),
            };
        };
        database.commit(leased)?;
        self.write_places(&read.run)?;
        Ok(ImportDone::Made(read))
    }

    /// Records where the run's paths lead on this machine, unless that is recorded already.
    fn write_places(&self, run: &RunId) -> Result<(), StoreError> {
        let log = self.runs.open_run(run)?;
        if Places::read(log.folder().path())?.is_none() {
            self.places.write(log.folder().path())?;
        }
        Ok(())
    }
}

impl Import for Taking<'_> {
    fn pin(&mut self, pin: &Pin, durability: Durability) -> Result<(), StoreError> {
        let database = self.runs.database();
        self.last_ms = pin.created_ms;
        let there = database.tip_of(&pin.run)?;
        let mut session = Session {
            leased: None,
            run: pin.run.clone(),
            there,
        };
        if there.is_none() {
            session.leased = Some(database.begin()?);
        }
        self.session = Some(session);
        let written = Written {
            pin: Pin {
                project_root: self.places.project_root.clone(),
                person_home: self.places.person_home.clone(),
                ..pin.clone()
            },
            durability,
            rows: Vec::new(),
            hash: pin.digest(),
        };
        let values = written.values(database.tenant().as_str());
        self.put(INSERT_RUN, values.into_iter().skip(2).collect())
    }

    fn event(&mut self, row: Row, prev: ChainHash) -> Result<(), StoreError> {
        self.last_ms = row.at_ms;
        self.waiting.push((row, prev));
        if self.waiting.len() < BATCH {
            return Ok(());
        }
        self.send()
    }

    fn machine(&mut self, hash: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO interlock.machines (tenant, run, hash, machine) VALUES ($1, $2, $3, $4)",
            vec![hash.into(), bytes.to_vec().into()],
        )
    }

    fn message(&mut self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO interlock.messages (tenant, run, digest, body) VALUES ($1, $2, $3, $4)",
            vec![digest.as_str().into(), bytes.to_vec().into()],
        )
    }

    fn output(&mut self, call: &str, text: &str) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO interlock.outputs (tenant, run, call, body) VALUES ($1, $2, $3, $4)",
            vec![call.into(), text.as_bytes().to_vec().into()],
        )
    }
}
