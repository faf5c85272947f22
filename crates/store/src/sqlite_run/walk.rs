//! Reading a log: its rows, and the events they hold.

use std::fmt::Display;

use interlock_core::event::Event;

use super::SqliteRun;
use crate::{broken::Broken, chain::ChainHash, error::StoreError, log::Recorded, marks::Marks};

/// Events read at once while a log is walked.
pub(super) const PAGE: usize = 256;

/// A row of the log, not yet read as an event.
pub(crate) struct Row {
    pub(crate) seq: u64,
    pub(crate) at_ms: u64,
    pub(crate) body: Vec<u8>,
    pub(crate) hash: Vec<u8>,
}

impl Row {
    /// Reads the event, which must be number `expected` and chained to `prev`.
    pub(crate) fn read(
        &self,
        expected: u64,
        prev: ChainHash,
        marks: &Marks,
    ) -> Result<(Event, ChainHash), Broken> {
        if self.seq != expected {
            return Err(Broken::Missing);
        }
        let hash = ChainHash::link(prev, self.seq, self.at_ms, &self.body);
        if hash.as_bytes().as_slice() != self.hash {
            return Err(Broken::Hash);
        }
        let unreadable = |error: &dyn Display| Broken::Unreadable(error.to_string());
        let body = marks
            .decode(&self.body)
            .map_err(|error| unreadable(&error))?;
        let event = serde_json::from_slice(&body).map_err(|error| unreadable(&error))?;
        Ok((event, hash))
    }
}

/// Walks a log page by page, so that no transaction stays open meanwhile.
pub(super) struct Walk<'a> {
    log: &'a SqliteRun,
    next: u64,
    prev: Option<ChainHash>,
    rows: std::vec::IntoIter<Row>,
    over: bool,
}

impl<'a> Walk<'a> {
    /// Begins at event number `from`.
    pub(super) fn new(log: &'a SqliteRun, from: u64) -> Self {
        Self {
            log,
            next: from,
            prev: None,
            rows: Vec::new().into_iter(),
            over: false,
        }
    }

    fn step(&mut self) -> Result<Option<Recorded>, StoreError> {
        let prev = match self.prev {
            Some(prev) => prev,
            None => self.before()?,
        };
        let row = match self.rows.next() {
            Some(row) => row,
            None => {
                self.rows = self.log.rows(self.next, PAGE)?.into_iter();
                match self.rows.next() {
                    Some(row) => row,
                    None => return Ok(None),
                }
            }
        };
        let (event, hash) = row
            .read(self.next, prev, &self.log.folder.marks)
            .map_err(|broken| self.log.broken(self.next, &broken))?;
        self.next += 1;
        self.prev = Some(hash);
        Ok(Some(Recorded {
            seq: row.seq,
            at_ms: row.at_ms,
            event,
            prev,
            hash,
        }))
    }

    fn before(&self) -> Result<ChainHash, StoreError> {
        let Some(seq) = self.next.checked_sub(1) else {
            return Ok(self.log.head.digest);
        };
        match self.log.row(seq)? {
            Some(row) => ChainHash::from_bytes(&row.hash)
                .ok_or_else(|| self.log.damaged(format!("event {seq} has no hash"))),
            // Beyond the end: nothing will be read, so nothing is chained.
            None => Ok(self.log.head.digest),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Recorded, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let step = self.step().transpose();
        self.over = !matches!(step, Some(Ok(_)));
        step
    }
}
