//! An open run of a shared log.

use std::{
    cell::Cell,
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
use interlock_store::{
    AppendError, Broken, ChainHash, Durability, EventLog, FirstBroken, Messages, Recorded,
    RunFolder, RunStore, SourceFile, StoreError, VerifyError,
    record::{self, LogOf, Marks, Pin, Row, Rows, Since, Snapshot, StoredSnapshot, Walk},
};

use crate::{
    append::{Appended, Batch, CommandKey},
    blobs::SharedMessages,
    database::Database,
    rows::Head,
    workspaces::WorkspaceRecorder,
};

/// Times between two checks of a log that is followed, the shortest first.
const LOOKS: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_secs(1),
];

/// An open run of a shared log.
#[derive(Debug)]
pub struct SharedRun {
    pub(crate) database: Database,
    run: RunId,
    /// The run's address, for messages.
    place: PathBuf,
    pin: ChainHash,
    durability: Durability,
    marks: Marks,
    folder: RunFolder,
    /// The epoch under which events are appended.
    epoch: Option<u64>,
    /// The number of events between two snapshots.
    every: u64,
    /// What was appended since the newest snapshot, as of this number of events.
    since: Cell<Option<(u64, Since)>>,
    /// Records the files of the run at the end of each step.
    recorder: Option<Box<dyn WorkspaceRecorder>>,
}

impl SharedRun {
    pub(crate) fn new(
        database: Database,
        run: &RunId,
        head: &Head,
        folder: RunFolder,
        marks: Marks,
    ) -> Self {
        let place = place_of(&database, run);
        Self {
            run: run.clone(),
            place,
            pin: head.digest,
            durability: head.durability,
            folder: folder.with_marks(marks.clone()),
            marks,
            epoch: None,
            every: record::EVERY,
            since: Cell::new(None),
            recorder: None,
            database,
        }
    }

    /// Appends under `epoch` from now on, as the run's carrier.
    pub fn carry(&mut self, epoch: u64) {
        self.epoch = Some(epoch);
    }

    /// Has the files of the run recorded with the end of each step from now on.
    pub fn record_files(&mut self, recorder: Box<dyn WorkspaceRecorder>) {
        self.recorder = Some(recorder);
    }

    /// Appends events and records the command that caused them.
    ///
    /// A command that was recorded before is not recorded again: its reply is returned.
    ///
    /// # Errors
    /// The command's id was used for another one, the epoch is stale, or the log cannot be written: nothing was recorded.
    pub fn append_command(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
        command: Option<CommandKey>,
    ) -> Result<Appended, StoreError> {
        for number in [at_ms, expected_seq] {
            i64::try_from(number).map_err(|_| StoreError::Unwritable {
                path: self.place.clone(),
                what: format!("the number {number}"),
            })?;
        }
        let bodies: Vec<Vec<u8>> = events
            .iter()
            .map(|event| record::body_of(event, self.log_of()))
            .collect::<Result<_, _>>()?;
        let bytes: u64 = bodies.iter().map(|body| body.len() as u64).sum();
        let recorder = self.recorder.as_mut();
        let workspace = recorder.map_or(Ok(None), |recorder| recorder.before(events))?;
        let batch = Batch {
            run: self.run.clone(),
            expected_seq,
            at_ms,
            bodies,
            command,
            epoch: self.epoch,
            workspace: workspace.clone(),
        };
        let appended = self.database.append(batch)?;
        if let (Appended::Recorded, Some(recorder), Some(id)) =
            (&appended, &mut self.recorder, &workspace)
        {
            recorder.recorded(id);
        }
        if appended == Appended::Recorded && !events.is_empty() {
            self.grew(expected_seq, events.len() as u64, bytes);
        }
        Ok(appended)
    }

    /// Makes a snapshot when one is due. What was appended stays recorded even if that fails.
    pub(crate) fn grew(&self, before: u64, events: u64, bytes: u64) {
        let now = before + events;
        let since = match self.since.get() {
            Some((known, since)) if known == before => Some(Since {
                grown: since.grown.saturating_add(bytes),
                ..since
            }),
            _ => None,
        };
        self.since.set(since.map(|since| (now, since)));
        let may_be_due = since.map_or(before / self.every < now / self.every, |since| {
            since.is_due(now, self.every)
        });
        if may_be_due {
            let _ = self.make_snapshot();
        }
    }

    fn make_snapshot(&self) -> Result<(), StoreError> {
        let folded = self.fold()?;
        let since = self.since.get().map(|(_, since)| since);
        if since.is_none_or(|since| since.is_due(folded.run.seq, self.every)) {
            let stored = StoredSnapshot::of(&folded, &self.marks, &self.place)?;
            let size = stored.body.len() as u64;
            self.database.keep_snapshot(&self.run, stored)?;
            let seq = folded.run.seq;
            let since = Since {
                seq,
                size,
                grown: 0,
            };
            self.since.set(Some((seq, since)));
        }
        Ok(())
    }

    /// Folds the log from the newest usable snapshot, or from the start.
    pub(crate) fn fold(&self) -> Result<Snapshot, StoreError> {
        let (stored, head) = self.database.newest_snapshot(&self.run)?.unzip();
        let whole = stored.and_then(|stored| stored.whole(&self.run, &self.marks));
        if let (Some((snapshot, _)), Some(head)) = (&whole, head)
            && head.as_deref() != Some(&snapshot.head.as_bytes()[..])
        {
            let last = snapshot.run.seq.saturating_sub(1);
            let what = if head.is_some() {
                "is not the one that was recorded"
            } else {
                "was recorded and is missing"
            };
            return Err(self.log_of().damaged(format!("event {last} {what}")));
        }
        let (folded, since) = record::fold(self, whole)?;
        self.since.set(Some((folded.run.seq, since)));
        Ok(folded)
    }

    /// Reads what is pinned and checks it against its own hash.
    pub(crate) fn checked_pin(&self) -> Result<Pin, StoreError> {
        let pin = self.database.pin(&self.run)?;
        if pin.digest() == self.pin {
            Ok(pin)
        } else {
            Err(self.log_of().damaged("its pinned workflow was changed"))
        }
    }

    fn first_machine(&self) -> Result<Machine, StoreError> {
        let machine = self.checked_pin()?.machine(&self.place)?;
        record::check_first(self, &machine)?;
        Ok(machine)
    }

    fn adopted_as(&self, hash: &str) -> Result<Machine, StoreError> {
        let bytes = self.database.machine(&self.run, hash)?;
        let machine = bytes.and_then(|bytes| record::parse_machine(&bytes).ok());
        let machine = machine.filter(|machine| machine.hash == hash);
        machine.ok_or_else(|| {
            self.log_of()
                .damaged("the workflow that it moved to is missing or was changed")
        })
    }
}

/// Returns the address of a run, for messages.
pub(crate) fn place_of(database: &Database, run: &RunId) -> PathBuf {
    let (place, tenant) = (database.place(), database.tenant());
    Path::new(place).join(tenant.as_str()).join(run.as_str())
}

impl Rows for SharedRun {
    fn log_of(&self) -> LogOf<'_> {
        LogOf {
            run: &self.run,
            place: &self.place,
            pin: self.pin,
            marks: &self.marks,
        }
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, StoreError> {
        Ok(self.database.rows(&self.run, from, limit)?)
    }
}

impl EventLog for SharedRun {
    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<(), AppendError> {
        match self.append_command(expected_seq, at_ms, events, None)? {
            Appended::Recorded | Appended::Repeated { .. } => Ok(()),
            Appended::Conflict { found } => Err(AppendError::Conflict {
                expected: expected_seq,
                found,
            }),
        }
    }

    fn load(&self) -> Result<Run, StoreError> {
        self.fold().map(|folded| folded.run)
    }

    fn count(&self) -> Result<u64, StoreError> {
        Ok(self.database.count(&self.run)?)
    }

    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_> {
        Box::new(Walk::new(self, from))
    }

    fn files_changed_unseen(&self, run: &Run) -> Vec<String> {
        self.folder.changed_files(run)
    }

    fn frozen_now(&self, machine: &Machine) -> Option<Vec<FrozenChange>> {
        self.folder.frozen_changes(machine)
    }

    fn freeze_now(&self, machine: &Machine) -> Result<(), StoreError> {
        self.folder.freeze_again(machine)
    }

    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError> {
        let began = Instant::now();
        let mut looks = LOOKS.into_iter().chain(std::iter::repeat(LOOKS[3]));
        while self.count()? <= seen {
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            thread::sleep(left.min(looks.next().unwrap_or(left)));
        }
        Ok(true)
    }
}

impl RunStore for SharedRun {
    fn run(&self) -> &RunId {
        &self.run
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn name(&self) -> Result<Option<String>, StoreError> {
        self.checked_pin().map(|pin| pin.name)
    }

    fn source(&self) -> Result<SourceFile, StoreError> {
        let SourceFile { name, text } = self.checked_pin()?.source;
        let name = self.marks.decode_text(&name);
        let name = name.map_err(|error| self.log_of().damaged(error.to_string()))?;
        Ok(SourceFile { name, text })
    }

    fn machine(&self) -> Result<Machine, StoreError> {
        self.machine_of(&self.load()?)
    }

    fn machine_of(&self, run: &Run) -> Result<Machine, StoreError> {
        let begun_with = self.first_machine()?;
        match &run.adopted {
            Some(hash) => self.adopted_as(hash),
            None => Ok(begun_with),
        }
    }

    fn keep_machine(&self, machine: &Machine) -> Result<(), StoreError> {
        let bytes = record::machine_bytes(machine, &self.place)?;
        Ok(self
            .database
            .keep_machine(&self.run, &machine.hash, bytes)?)
    }

    fn verify(&self) -> Result<u64, VerifyError> {
        let machine = self.checked_pin()?.machine(&self.place)?;
        // Read before the events: what others append meanwhile is not a fault.
        let tip = self.database.tip_of(&self.run).map_err(StoreError::from)?;
        let (seq, hash) = tip.ok_or_else(|| self.log_of().damaged("the run is missing"))?;
        let stored = self
            .database
            .snapshots(&self.run)
            .map_err(StoreError::from)?;
        let whole = stored
            .iter()
            .filter_map(|stored| stored.whole(&self.run, &self.marks));
        let snapshots: Vec<Snapshot> = whole.map(|(snapshot, _)| snapshot).collect();
        let count = record::verify(self, &machine, &snapshots)?;
        // The run's row names the end of its log: events missing there are noticed here.
        if seq > count {
            let (seq, broken) = (count, Broken::Missing);
            return Err(VerifyError::Broken(FirstBroken { seq, broken }));
        }
        match self.broken_tip(seq, hash)? {
            Some(found) => Err(VerifyError::Broken(found)),
            None => Ok(count),
        }
    }

    fn messages(&self) -> Messages {
        Messages::new(SharedMessages {
            database: self.database.clone(),
            run: self.run.clone(),
            place: self.place.clone(),
        })
    }

    fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError> {
        let call = ChainHash::of_parts(&[call.as_str().as_bytes()]).to_string();
        Ok(self.database.keep_output(&self.run, call, text)?)
    }

    fn output(&self, call: &CallId) -> Result<Option<String>, StoreError> {
        let call = ChainHash::of_parts(&[call.as_str().as_bytes()]).to_string();
        let found = self.database.output(&self.run, call)?;
        let text = |bytes| {
            String::from_utf8(bytes).map_err(|_| self.log_of().damaged("an output is not text"))
        };
        found.map(text).transpose()
    }

    fn folder(&self) -> &RunFolder {
        &self.folder
    }

    fn stay_open(&mut self) {
        self.every = record::EVERY_KEPT;
    }

    // The database itself waits for others, up to its `lock_timeout`.
    fn wait_by(&mut self, _: fn(i32) -> bool) {}

    fn is_in_place(&self) -> bool {
        true
    }

    fn tidy_up(&mut self) {}
}
