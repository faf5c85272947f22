//! A run in its own SQLite file.

#[cfg(test)]
mod tests;

use std::{
    cell::Cell,
    fs,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use interlock_core::{
    event::Event,
    machine::Machine,
    names::{CallId, RunId},
    run::Run,
    substance::FrozenChange,
};
use rusqlite::{Connection, OptionalExtension as _};

use crate::{
    broken::VerifyError,
    chain::ChainHash,
    durability::Durability,
    error::StoreError,
    folder::{RunFolder, WORK},
    log::{AppendError, EventLog, Recorded},
    marks::Marks,
    messages::Messages,
    pin::{Pin, SourceFile},
    rows::{self, LogOf, Row, Rows, Walk},
    run_store::RunStore,
    snapshot::{self, Since, Snapshot},
    sqlite::{self, Begin, Transaction},
    sqlite_pin::PinHead,
    sqlite_snapshot,
};

/// Name of a run's database in the run's directory.
pub(crate) const FILE_NAME: &str = "run.db";
/// Number of events between two checks of the size of an open log.
const LOOK_AT_LOG_EVERY: u64 = 32;
/// Interval between two checks of a log that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An open run in its SQLite file.
#[derive(Debug)]
pub(crate) struct SqliteRun {
    pub(crate) run: RunId,
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    pub(crate) head: PinHead,
    folder: RunFolder,
    /// Identity of the opened file, if the log stays open; dropped after the connection.
    file: Option<Identity>,
    /// Whether the log stays open between appends.
    is_kept: bool,
    /// How to wait for other writers, if not with the database's default.
    rest: Option<sqlite::Rest>,
    /// What was recorded since the newest snapshot, with the number of events at that time.
    since: Cell<Option<(u64, Since)>>,
}

/// Returns the working folder of a run's programs, given the run's own `directory` below `runs`.
pub(crate) fn work_of(directory: &Path, run: &RunId) -> PathBuf {
    let root = directory.parent().and_then(Path::parent);
    root.unwrap_or(directory).join(WORK).join(run.as_str())
}

/// Number of bytes at the beginning of a database that never change.
const HEAD_BYTES: usize = 24;

/// Distinguishes a file from every other current file, and from itself after it was overwritten.
#[derive(Debug)]
struct Identity {
    device: u64,
    number: u64,
    head: [u8; HEAD_BYTES],
    /// Kept open, because closing it would release the database's locks of this process.
    file: fs::File,
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let file = fs::File::open(path).ok()?;
        let data = file.metadata().ok()?;
        let mut head = [0; HEAD_BYTES];
        file.read_exact_at(&mut head, 0).ok()?;
        Some(Self {
            device: data.dev(),
            number: data.ino(),
            head,
            file,
        })
    }

    /// Returns whether it is the file at `path`, with the same beginning.
    fn lies_at(&self, path: &Path) -> bool {
        let mut head = [0; HEAD_BYTES];
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.number))
            && self.file.read_exact_at(&mut head, 0).is_ok()
            && head == self.head
    }
}

impl SqliteRun {
    /// Opens the database of `run` in `directory`.
    pub(crate) fn open(run: &RunId, directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(FILE_NAME);
        let connection = sqlite::open(&path)?;
        let head = PinHead::read(&connection, &path, run)?;
        sqlite::configure(&connection, &path, head.durability)?;
        Ok(Self::made(run.clone(), path, connection, head))
    }

    /// Wraps a database that was just created.
    pub(crate) fn made(run: RunId, path: PathBuf, connection: Connection, head: PinHead) -> Self {
        let directory = path.parent().unwrap_or(&path);
        let work = work_of(directory, &run);
        let mut folder = RunFolder::new(directory, &work, head.durability);
        folder.marks = Marks::new(
            &work.to_string_lossy(),
            &head.project_root,
            &head.person_home,
        );
        Self {
            run,
            folder,
            file: None,
            path,
            connection,
            head,
            is_kept: false,
            rest: None,
            since: Cell::new(None),
        }
    }

    /// Returns the marks in place of absolute paths.
    pub(crate) const fn marks(&self) -> &Marks {
        &self.folder.marks
    }

    /// Records the current paths of project and home on this machine.
    pub(crate) fn relocate(&self, project_root: &str, home: &str) -> Result<(), StoreError> {
        self.connection
            .execute(
                "UPDATE pin SET project_root = ?1, person_home = ?2 WHERE id = 0",
                [project_root, home],
            )
            .map(drop)
            .map_err(self.failed())
    }

    /// Checkpoints a longer log. Errors are ignored, because the events are already recorded.
    fn carry_over(&mut self, bytes_max: u64) {
        let _ = sqlite::carry_over(&mut self.connection, &self.path, bytes_max, self.rest);
    }

    /// Closes the database and returns whether that succeeded.
    pub(crate) fn close(self) -> Result<(), StoreError> {
        let path = self.path;
        self.connection
            .close()
            .map_err(|(_, error)| sqlite::failed(&path)(error))
    }

    fn first_machine(&self) -> Result<Machine, StoreError> {
        let machine = self.pin()?.machine(&self.path)?;
        rows::check_first(self, &machine)?;
        Ok(machine)
    }

    pub(crate) fn pin(&self) -> Result<Pin, StoreError> {
        Pin::read(&self.connection, &self.path)
    }

    pub(crate) fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::damaged(&self.path, what)
    }

    /// Returns a function that converts errors of the database.
    pub(crate) fn failed(&self) -> impl Fn(rusqlite::Error) -> StoreError {
        sqlite::failed(&self.path)
    }

    fn transaction(&self, begin: Begin) -> Result<Transaction<'_>, StoreError> {
        Transaction::begin(&self.connection, begin).map_err(self.failed())
    }

    fn row_of(&self, row: &rusqlite::Row<'_>) -> Result<Row, StoreError> {
        let failed = self.failed();
        Ok(Row {
            seq: sqlite::from_integer(row.get(0).map_err(&failed)?, &self.path)?,
            at_ms: sqlite::from_integer(row.get(1).map_err(&failed)?, &self.path)?,
            body: row.get(2).map_err(&failed)?,
            hash: row.get(3).map_err(&failed)?,
        })
    }

    /// Returns the number of events and the hash of the last one.
    fn tip(&self) -> Result<(u64, ChainHash), StoreError> {
        let last: Option<(i64, Vec<u8>)> = self
            .connection
            .prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")
            .and_then(|mut select| {
                select
                    .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(self.failed())?;
        let Some((seq, hash)) = last else {
            return Ok((0, self.head.digest));
        };
        let hash = ChainHash::from_bytes(&hash)
            .ok_or_else(|| self.damaged(format!("event {seq} has no hash")))?;
        Ok((sqlite::from_integer(seq, &self.path)? + 1, hash))
    }

    /// Returns the time of the last event; `None`: there is none.
    pub(crate) fn last_ms(&self) -> Result<Option<u64>, StoreError> {
        let last: Option<i64> = self
            .connection
            .prepare_cached("SELECT at_ms FROM events ORDER BY seq DESC LIMIT 1")
            .and_then(|mut select| select.query_row([], |row| row.get(0)).optional())
            .map_err(self.failed())?;
        last.map(|last| sqlite::from_integer(last, &self.path))
            .transpose()
    }

    /// Folds the log from the newest usable snapshot, or from the start.
    pub(crate) fn fold(&self) -> Result<Snapshot, StoreError> {
        let begin = sqlite_snapshot::newest(&self.connection, &self.path, &self.run, self.marks())?;
        let (folded, since) = rows::fold(self, begin)?;
        self.since.set(Some((folded.run.seq, since)));
        Ok(folded)
    }

    /// Writes an event; returns its hash and its size in bytes.
    fn insert(
        &self,
        seq: u64,
        at_ms: u64,
        prev: ChainHash,
        event: &Event,
    ) -> Result<(ChainHash, u64), StoreError> {
        let body = rows::body_of(event, self.log_of())?;
        let (row, hash) = Row::chained(seq, at_ms, prev, body);
        self.connection
            .prepare_cached("INSERT INTO events (seq, at_ms, body, hash) VALUES (?1, ?2, ?3, ?4)")
            .and_then(|mut insert| {
                insert.execute(rusqlite::params![
                    sqlite::to_integer(seq, &self.path).unwrap_or(i64::MAX),
                    sqlite::to_integer(at_ms, &self.path).unwrap_or(i64::MAX),
                    row.body,
                    row.hash
                ])
            })
            .map_err(self.failed())?;
        Ok((hash, u64::try_from(row.body.len()).unwrap_or(u64::MAX)))
    }

    /// Returns what was recorded since the newest snapshot of a log with `count` events.
    fn since(&self, count: u64) -> Result<Since, StoreError> {
        match self.since.get() {
            // No snapshot is made without an event.
            Some((known, since)) if known == count => Ok(since),
            _ => Since::read(&self.connection, &self.path),
        }
    }
}

impl Rows for SqliteRun {
    fn log_of(&self) -> LogOf<'_> {
        LogOf {
            run: &self.run,
            place: &self.path,
            pin: self.head.digest,
            marks: self.marks(),
        }
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, StoreError> {
        let failed = self.failed();
        let mut select = self
            .connection
            .prepare_cached(
                "SELECT seq, at_ms, body, hash FROM events WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
            )
            .map_err(&failed)?;
        let from = sqlite::to_integer(from, &self.path)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut found = select.query([from, limit]).map_err(&failed)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(&failed)? {
            rows.push(self.row_of(row)?);
        }
        Ok(rows)
    }
}

impl RunStore for SqliteRun {
    fn run(&self) -> &RunId {
        &self.run
    }

    fn durability(&self) -> Durability {
        self.head.durability
    }

    fn name(&self) -> Result<Option<String>, StoreError> {
        self.pin().map(|pin| pin.name)
    }

    fn source(&self) -> Result<SourceFile, StoreError> {
        let SourceFile { name, text } = self.pin()?.source;
        let name = self.marks().decode_text(&name);
        let name = name.map_err(|error| self.damaged(error.to_string()))?;
        Ok(SourceFile { name, text })
    }

    fn machine(&self) -> Result<Machine, StoreError> {
        let begun_with = self.first_machine()?;
        Ok(self.adopted()?.unwrap_or(begun_with))
    }

    fn machine_of(&self, run: &Run) -> Result<Machine, StoreError> {
        let begun_with = self.first_machine()?;
        match &run.adopted {
            Some(hash) => self.adopted_as(hash),
            None => Ok(begun_with),
        }
    }

    fn keep_machine(&self, machine: &Machine) -> Result<(), StoreError> {
        self.adopt(machine)
    }

    fn verify(&self) -> Result<u64, VerifyError> {
        self.verified()
    }

    fn messages(&self) -> Messages {
        self.folder.messages()
    }

    fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError> {
        self.folder.keep_output(call, text)
    }

    fn output(&self, call: &CallId) -> Result<Option<String>, StoreError> {
        self.folder.output(call)
    }

    fn folder(&self) -> &RunFolder {
        &self.folder
    }

    fn stay_open(&mut self) {
        self.is_kept = true;
        sqlite::configure_kept(&self.connection);
        self.file = Identity::of(&self.path);
    }

    fn wait_by(&mut self, rest: fn(i32) -> bool) {
        // Where that cannot be said, it waits as every other log does.
        let said = self.connection.busy_handler(Some(rest));
        self.rest = Some(rest).filter(|_| said.is_ok());
    }

    fn is_in_place(&self) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|file| file.lies_at(&self.path))
    }

    fn tidy_up(&mut self) {
        // Not into a file that was damaged or exchanged meanwhile.
        if self.is_in_place() {
            self.carry_over(sqlite::LOG_BYTES_MAX);
        }
    }
}

impl EventLog for SqliteRun {
    fn files_changed_unseen(&self, run: &Run) -> Vec<String> {
        self.folder.changed_files(run)
    }

    fn frozen_now(&self, machine: &Machine) -> Option<Vec<FrozenChange>> {
        self.folder.frozen_changes(machine)
    }

    fn freeze_now(&self, machine: &Machine) -> Result<(), StoreError> {
        self.folder.freeze_again(machine)
    }

    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<(), AppendError> {
        let begin = if events.is_empty() {
            Begin::Deferred
        } else {
            Begin::Immediate
        };
        sqlite::to_integer(at_ms, &self.path)?;
        let transaction = self.transaction(begin)?;
        let (found, mut head) = self.tip()?;
        if found != expected_seq {
            return Err(AppendError::Conflict {
                expected: expected_seq,
                found,
            });
        }
        if events.is_empty() {
            return Ok(());
        }
        let mut since = self.since(found)?;
        let mut seq = expected_seq;
        for event in events {
            let (hash, bytes) = self.insert(seq, at_ms, head, event)?;
            head = hash;
            since.grown = since.grown.saturating_add(bytes);
            seq += 1;
        }
        let every = if self.is_kept {
            snapshot::EVERY_KEPT
        } else {
            snapshot::EVERY
        };
        if since.is_due(seq, every) {
            since =
                sqlite_snapshot::write(&self.connection, &self.path, &self.fold()?, self.marks())?;
        }
        transaction.commit().map_err(self.failed())?;
        self.since.set(Some((seq, since)));
        if !self.is_kept {
            self.carry_over(sqlite::LOG_BYTES_MAX);
        } else if (seq / LOOK_AT_LOG_EVERY) != (expected_seq / LOOK_AT_LOG_EVERY) {
            self.carry_over(sqlite::KEPT_LOG_BYTES_MAX);
        }
        Ok(())
    }

    fn load(&self) -> Result<Run, StoreError> {
        // One transaction, so that snapshot and events are of the same moment.
        let transaction = self.transaction(Begin::Deferred)?;
        let folded = self.fold()?;
        transaction.commit().map_err(self.failed())?;
        Ok(folded.run)
    }

    fn count(&self) -> Result<u64, StoreError> {
        self.tip().map(|(count, _)| count)
    }

    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_> {
        Box::new(Walk::new(self, from))
    }

    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError> {
        let began = Instant::now();
        while self.count()? <= seen {
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            thread::sleep(left.min(LOOK_EVERY));
        }
        Ok(true)
    }
}
