//! Reads a log row by row, independent of the store: folding, iterating and checking.

use std::{fmt::Display, path::Path};

use interlock_core::{event::Event, evolve, machine::Machine, names::RunId, run::Run};

use crate::{
    broken::{Broken, FirstBroken, VerifyError},
    chain::ChainHash,
    error::StoreError,
    log::Recorded,
    marks::Marks,
    snapshot::{Since, Snapshot},
};

/// Number of events read at once while iterating over a log.
pub const PAGE: usize = 256;

/// A row of a log, not yet parsed as an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Sequence number, from 0.
    pub seq: u64,
    /// Time of the append, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event as JSON, with marks.
    pub body: Vec<u8>,
    /// Hash of the row.
    pub hash: Vec<u8>,
}

/// The run of a log, and what is needed to read it.
#[derive(Debug, Clone, Copy)]
pub struct LogOf<'a> {
    /// Id of the run.
    pub run: &'a RunId,
    /// Name of the store in errors.
    pub place: &'a Path,
    /// Hash of the pin, to which the first event is chained.
    pub pin: ChainHash,
    /// Marks in place of absolute paths.
    pub marks: &'a Marks,
}

/// The rows of one log.
pub trait Rows {
    /// Returns the run that the rows belong to.
    fn log_of(&self) -> LogOf<'_>;

    /// Reads up to `limit` rows from number `from` on, in order.
    ///
    /// # Errors
    /// The store cannot be read.
    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, StoreError>;
}

/// Returns the recorded bytes of an event, with marks.
///
/// # Errors
/// The event could not be read back unchanged.
pub fn body_of(event: &Event, log: LogOf<'_>) -> Result<Vec<u8>, StoreError> {
    let unwritable = |what: String| StoreError::Unwritable {
        path: log.place.to_owned(),
        what,
    };
    let body = serde_json::to_vec(event).map_err(|error| unwritable(error.to_string()))?;
    // INVARIANT: no event is recorded that could not be read back, such as one nested too deep.
    match serde_json::from_slice::<Event>(&body) {
        Ok(again) if again == *event => Ok(log.marks.encode(&body).into_owned()),
        Ok(_) => Err(unwritable(format!("`{}` without a change", event.name()))),
        Err(error) => Err(unwritable(format!("this `{}` ({error})", event.name()))),
    }
}

impl Row {
    /// Makes the row after `prev` from an event's bytes, and returns its hash, too.
    #[must_use]
    pub fn chained(seq: u64, at_ms: u64, prev: ChainHash, body: Vec<u8>) -> (Self, ChainHash) {
        let hash = ChainHash::link(prev, seq, at_ms, &body);
        let row = Self {
            seq,
            at_ms,
            body,
            hash: hash.as_bytes().to_vec(),
        };
        (row, hash)
    }

    /// Parses the event, which must be number `expected` and chained to `prev`.
    ///
    /// # Errors
    /// It is another row, or differs from what was recorded.
    pub fn read(
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

impl LogOf<'_> {
    /// Returns the run before its first event.
    #[must_use]
    pub fn unfolded(&self) -> Snapshot {
        Snapshot {
            run: Run::new(self.run.clone()),
            head: self.pin,
        }
    }

    /// Reports damaged content of the store.
    pub fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::damaged(self.place, what)
    }

    /// Reports a deviation of the log from what was recorded.
    #[must_use]
    pub fn broken(&self, seq: u64, broken: &Broken) -> StoreError {
        self.damaged(format!("event {seq} {broken}"))
    }

    /// Checks that the first event starts this run with the pinned machine.
    ///
    /// # Errors
    /// The event does not.
    pub fn check_start(&self, event: &Event, machine: &Machine) -> Result<(), Broken> {
        self.check_start_of(event, &machine.hash)
    }

    /// Like [`Self::check_start`], for the machine with the hash `machine`.
    pub(crate) fn check_start_of(&self, event: &Event, machine: &str) -> Result<(), Broken> {
        match event {
            Event::RunStarted { run, .. } if run != self.run => Err(Broken::OfRun(run.clone())),
            Event::RunStarted { hash, .. } if hash != machine => Err(Broken::OtherMachine),
            Event::RunStarted { .. } => Ok(()),
            other => Err(Broken::NotAStart(other.name())),
        }
    }

    /// Folds one more event.
    pub(crate) fn fold_event(
        &self,
        folded: Snapshot,
        event: &Event,
        head: ChainHash,
    ) -> Result<Snapshot, StoreError> {
        let seq = folded.run.seq;
        let run = evolve(folded.run, event);
        if run.seq == seq + 1 && run.id == *self.run {
            return Ok(Snapshot { run, head });
        }
        Err(StoreError::Diverged {
            path: self.place.to_owned(),
            seq,
            what: format!("run `{}` has then {} events", run.id, run.seq),
        })
    }
}

/// Reads row number `seq`; `None`: the log has no such row.
///
/// # Errors
/// The store cannot be read.
pub fn row(log: &dyn Rows, seq: u64) -> Result<Option<Row>, StoreError> {
    Ok(log.rows(seq, 1)?.pop().filter(|row| row.seq == seq))
}

/// Folds a log from the snapshot `begin`, given with its size in bytes, or from the start.
///
/// # Errors
/// The log cannot be read, or the part that was read is damaged.
pub fn fold(
    log: &dyn Rows,
    begin: Option<(Snapshot, u64)>,
) -> Result<(Snapshot, Since), StoreError> {
    let of = log.log_of();
    let (mut folded, size) = begin.unwrap_or_else(|| (of.unfolded(), 0));
    let mut since = Since {
        seq: folded.run.seq,
        size,
        grown: 0,
    };
    loop {
        let rows = log.rows(folded.run.seq, PAGE)?;
        if rows.is_empty() {
            return Ok((folded, since));
        }
        for row in &rows {
            let bytes = u64::try_from(row.body.len()).unwrap_or(u64::MAX);
            since.grown = since.grown.saturating_add(bytes);
            let seq = folded.run.seq;
            let (event, head) = row
                .read(seq, folded.head, of.marks)
                .map_err(|broken| of.broken(seq, &broken))?;
            folded = of.fold_event(folded, &event, head)?;
        }
    }
}

/// Checks that a log begins with the start of its run and the pinned machine.
///
/// # Errors
/// It does not, or it cannot be read.
pub fn check_first(log: &dyn Rows, machine: &Machine) -> Result<(), StoreError> {
    let of = log.log_of();
    let Some(first) = row(log, 0)? else {
        return Ok(());
    };
    first
        .read(0, of.pin, of.marks)
        .and_then(|(event, _)| of.check_start(&event, machine))
        .map_err(|broken| of.broken(0, &broken))
}

/// Checks a whole log against the pinned machine and the snapshots, and counts its events.
///
/// # Errors
/// The first event that differs from what was recorded, or the log cannot be read.
pub fn verify(
    log: &dyn Rows,
    machine: &Machine,
    snapshots: &[Snapshot],
) -> Result<u64, VerifyError> {
    let of = log.log_of();
    let mut folded = of.unfolded();
    loop {
        let rows = log.rows(folded.run.seq, PAGE)?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let seq = folded.run.seq;
            let (event, head) = row
                .read(seq, folded.head, of.marks)
                .map_err(|found| broken(seq, found))?;
            if seq == 0 {
                of.check_start(&event, machine)
                    .map_err(|found| broken(seq, found))?;
            }
            folded = of.fold_event(folded, &event, head)?;
            check_snapshots(snapshots, &folded)?;
        }
    }
    let count = folded.run.seq;
    match snapshots.iter().find(|snapshot| snapshot.run.seq > count) {
        Some(_) => Err(broken(count, Broken::Missing)),
        None => Ok(count),
    }
}

fn check_snapshots(snapshots: &[Snapshot], folded: &Snapshot) -> Result<(), VerifyError> {
    let here = snapshots
        .iter()
        .find(|snapshot| snapshot.run.seq == folded.run.seq);
    match here {
        Some(snapshot) if snapshot != folded => {
            Err(broken(folded.run.seq.saturating_sub(1), Broken::Snapshot))
        }
        _ => Ok(()),
    }
}

fn broken(seq: u64, broken: Broken) -> VerifyError {
    VerifyError::Broken(FirstBroken { seq, broken })
}

/// Iterates over a log page by page, so that no transaction stays open in between.
pub struct Walk<'a> {
    log: &'a dyn Rows,
    next: u64,
    prev: Option<ChainHash>,
    rows: std::vec::IntoIter<Row>,
    over: bool,
}

impl<'a> Walk<'a> {
    /// Starts at event number `from`.
    #[must_use]
    pub fn new(log: &'a dyn Rows, from: u64) -> Self {
        Self {
            log,
            next: from,
            prev: None,
            rows: Vec::new().into_iter(),
            over: false,
        }
    }

    fn step(&mut self) -> Result<Option<Recorded>, StoreError> {
        let of = self.log.log_of();
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
            .read(self.next, prev, of.marks)
            .map_err(|broken| of.broken(self.next, &broken))?;
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
        let of = self.log.log_of();
        let Some(seq) = self.next.checked_sub(1) else {
            return Ok(of.pin);
        };
        match row(self.log, seq)? {
            Some(row) => ChainHash::from_bytes(&row.hash)
                .ok_or_else(|| of.damaged(format!("event {seq} has no hash"))),
            // Beyond the end: nothing will be read, so nothing is chained.
            None => Ok(of.pin),
        }
    }
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk")
            .field("next", &self.next)
            .finish_non_exhaustive()
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
