//! An open run that a server decides.

use std::{
    cell::{Cell, OnceCell, RefCell},
    path::PathBuf,
    time::{Duration, Instant},
};

use interlock_core::{
    Decision, Reply,
    command::{Command, CommandKind},
    event::Event,
    evolve,
    machine::Machine,
    names::{ApprovalId, CallId, Digest, FramePath, RunId},
    refusal::{Code, Refusal},
    run::Run,
    substance::FrozenChange,
};
use interlock_store::{
    AppendError, Blobs, ChainHash, Durability, EventLog, JoinedRun, Messages, Recorded, RunFolder,
    RunLog, RunStore, SourceFile, StoreError, VerifyError,
    record::{self, LogOf, Marks, Row, Rows, Walk},
};
use serde_json::json;

use crate::{
    client::Server,
    error::FleetError,
    forward::Forwarder,
    wire::{Decided, EventPage, Pinned, SnapshotView, Verdict, WireCommand},
};

/// The longest time that one request waits for events.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Opens a run that a person has joined on this machine.
///
/// # Errors
/// The address is not one of a server, or the server does not answer or does not know the run.
pub fn open(run: &RunId, joined: &JoinedRun, folder: RunFolder) -> Result<RunLog, StoreError> {
    let server = Server::new(&joined.server, &joined.token)?;
    let server = server.forwarded(Forwarder::of(folder.path()));
    let work = folder.work().to_string_lossy().into_owned();
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let marks = Marks::new(
        &work,
        &text(&joined.project_root),
        &text(&joined.person_home),
    );
    let place = PathBuf::from(format!("{}/v1/runs/{run}", server.address()));
    let mut remote = RemoteRun {
        server,
        run: run.clone(),
        place,
        folder: folder.with_marks(marks.clone()),
        marks,
        pin: ChainHash::of_parts(&[]),
        pinned: OnceCell::new(),
        tip: Cell::new(None),
        first: RefCell::new(None),
    };
    let (run, pin) = remote.read()?;
    remote.pin = pin;
    remote.first = RefCell::new(Some(run));
    Ok(RunLog::new(remote))
}

/// An open run that a server decides.
#[derive(Debug)]
struct RemoteRun {
    server: Server,
    run: RunId,
    /// The run's address, for messages.
    place: PathBuf,
    marks: Marks,
    folder: RunFolder,
    pin: ChainHash,
    pinned: OnceCell<Pinned>,
    /// The number of events that were read, and the hash of the last.
    tip: Cell<Option<(u64, ChainHash)>>,
    /// The run as it was when it was opened, until it is first asked for.
    first: RefCell<Option<Run>>,
}

impl RemoteRun {
    fn path(&self, rest: &str) -> String {
        format!("v1/runs/{}{rest}", self.run)
    }

    fn unreadable(&self, what: &dyn std::fmt::Display) -> FleetError {
        FleetError::Unreadable {
            server: self.server.address().to_owned(),
            what: what.to_string(),
        }
    }

    /// Reads the run as it is now, and the hash of what is pinned.
    fn read(&self) -> Result<(Run, ChainHash), StoreError> {
        let bytes = self.server.get(&self.path("/snapshot"), Duration::ZERO)?;
        let bytes = self
            .marks
            .decode(&bytes)
            .map_err(|error| self.unreadable(&error))?;
        let view: SnapshotView =
            serde_json::from_slice(&bytes).map_err(|error| self.unreadable(&error))?;
        let run: Run =
            serde_json::from_str(view.run.get()).map_err(|error| self.unreadable(&error))?;
        let hash = |text: &str| {
            ChainHash::from_hex(text).ok_or_else(|| self.unreadable(&"a hash that is none"))
        };
        if run.id != self.run || run.seq != view.seq {
            return Err(self.unreadable(&"it is about another run").into());
        }
        self.tip.set(Some((view.seq, hash(&view.hash)?)));
        let pin = hash(&view.pin.digest)?;
        // Pinned for good: whatever was read first stays.
        let _ = self.pinned.set(view.pin);
        Ok((run, pin))
    }

    fn pinned(&self) -> Result<&Pinned, StoreError> {
        if self.pinned.get().is_none() {
            self.read()?;
        }
        let missing = || self.unreadable(&"nothing is pinned").into();
        self.pinned.get().ok_or_else(missing)
    }

    fn first_machine(&self) -> Result<Machine, StoreError> {
        let machine = record::parse_machine(self.pinned()?.machine.as_bytes());
        Ok(machine.map_err(|error| self.unreadable(&error))?)
    }

    fn page(&self, from: u64, wait: Duration) -> Result<EventPage, StoreError> {
        let path = self.path(&format!("/events?from={from}&wait={}", wait.as_secs()));
        let bytes = self.server.get(&path, wait)?;
        Ok(serde_json::from_slice(&bytes).map_err(|error| self.unreadable(&error))?)
    }

    /// Folds the events up to number `to` into `run`, and returns those from number `from` on.
    fn fold(&self, run: &mut Run, from: u64, to: u64) -> Result<Vec<Event>, StoreError> {
        let (known, mut head) = match self.tip.get() {
            Some((seq, head)) if seq == run.seq => (run.clone(), head),
            // It was read by somebody else: the log is checked from its start.
            _ => (Run::new(self.run.clone()), self.pin),
        };
        let mut folded = known;
        let mut events = Vec::new();
        while folded.seq < to {
            let rows = self.rows(folded.seq, record::PAGE)?;
            if rows.is_empty() {
                return Err(self
                    .unreadable(&"events that it has recorded are missing")
                    .into());
            }
            for row in rows.iter().take_while(|row| row.seq < to) {
                let seq = folded.seq;
                let (event, next) = row
                    .read(seq, head, &self.marks)
                    .map_err(|broken| self.log_of().broken(seq, &broken))?;
                folded = evolve(folded, &event);
                head = next;
                if seq >= from {
                    events.push(event);
                }
            }
        }
        self.tip.set(Some((folded.seq, head)));
        *run = folded;
        Ok(events)
    }

    /// Has a command decided by the server.
    fn decide(
        &self,
        run: &mut Run,
        command: &Command,
        only_now: bool,
    ) -> Result<Decision, AppendError> {
        let wire = match sent(&command.kind) {
            Sent::Command(wire) => wire,
            Sent::Nothing => return Ok(answer(Reply::Accepted)),
            Sent::Refused(why) => {
                let refusal = Refusal::new(Code::AwaitingApproval, why);
                return Ok(answer(Reply::Refused(refusal)));
            }
            Sent::NotHere => {
                let run = self.run.to_string();
                return Err(StoreError::from(FleetError::NotHere { run }).into());
            }
        };
        let mut body = json!({ "command": wire });
        if only_now && let Some(fields) = body.as_object_mut() {
            fields.insert("seq".to_owned(), json!(run.seq));
        }
        let body = self.marks.encode(body.to_string().as_bytes()).into_owned();
        let bytes = match self.server.post(&self.path("/commands"), &body) {
            Err(FleetError::Refused { code, .. }) if code == "moved" => {
                return Err(AppendError::Conflict {
                    expected: run.seq,
                    found: run.seq + 1,
                });
            }
            answer => answer.map_err(StoreError::from)?,
        };
        let unreadable = |what: &dyn std::fmt::Display| StoreError::from(self.unreadable(what));
        let bytes = self
            .marks
            .decode(&bytes)
            .map_err(|error| unreadable(&error))?;
        let decided: Decided =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
        let events = self.fold(run, decided.from, decided.seq)?;
        let path =
            serde_json::from_value(json!(decided.path)).unwrap_or_else(|_| FramePath::root());
        let reply = self.reply(decided)?;
        Ok(Decision {
            events,
            reply,
            path,
        })
    }

    fn reply(&self, decided: Decided) -> Result<Reply, StoreError> {
        let message = decided.message.unwrap_or_default();
        let refusal = |message: String| {
            let code: Result<Code, _> = serde_json::from_value(json!(decided.code));
            // A newer server may refuse with a code that is not known here, and still refuses.
            Refusal::new(code.unwrap_or(Code::ToolNotAllowed), message)
        };
        Ok(match decided.verdict {
            Verdict::Accepted => Reply::Accepted,
            Verdict::Pending => Reply::Pending {
                message,
                id: ApprovalId::new(decided.request.unwrap_or_default()),
            },
            Verdict::Ask => Reply::Ask(refusal(message)),
            Verdict::Refused => Reply::Refused(refusal(message)),
        })
    }
}

fn answer(reply: Reply) -> Decision {
    Decision {
        events: Vec::new(),
        reply,
        path: FramePath::root(),
    }
}

/// What becomes of a command of this machine.
enum Sent {
    /// The server decides it.
    Command(WireCommand),
    /// There is nothing to be done for it.
    Nothing,
    /// It is refused with this sentence.
    Refused(&'static str),
    /// It is an error.
    NotHere,
}

fn sent(kind: &CommandKind) -> Sent {
    if let Some(wire) = WireCommand::of(kind) {
        return Sent::Command(wire);
    }
    match kind {
        // No question of such a run is asked in a client's own prompt.
        CommandKind::ClosePrompts { .. } => Sent::Nothing,
        CommandKind::Approve(_) | CommandKind::Reject(_) | CommandKind::AskInPrompt { .. } => {
            Sent::Refused("the run is shared: another person answers at the server")
        }
        _ => Sent::NotHere,
    }
}

impl Rows for RemoteRun {
    fn log_of(&self) -> LogOf<'_> {
        LogOf {
            run: &self.run,
            place: &self.place,
            pin: self.pin,
            marks: &self.marks,
        }
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, StoreError> {
        let page = self.page(from, Duration::ZERO)?;
        let row = |line: crate::wire::EventLine| {
            let hash = ChainHash::from_hex(&line.hash);
            let hash = hash.ok_or_else(|| self.unreadable(&"a hash that is none"))?;
            Ok(Row {
                seq: line.seq,
                at_ms: line.at_ms,
                body: line.event.get().as_bytes().to_vec(),
                hash: hash.as_bytes().to_vec(),
            })
        };
        page.events.into_iter().take(limit).map(row).collect()
    }
}

impl EventLog for RemoteRun {
    fn append(&mut self, _: u64, _: u64, _: &[Event]) -> Result<(), AppendError> {
        let run = self.run.to_string();
        Err(StoreError::from(FleetError::NotHere { run }).into())
    }

    fn decide_there(
        &mut self,
        run: &mut Run,
        command: &Command,
        only_now: bool,
    ) -> Option<Result<Decision, AppendError>> {
        Some(self.decide(run, command, only_now))
    }

    fn load(&self) -> Result<Run, StoreError> {
        match self.first.take() {
            Some(run) => Ok(run),
            None => self.read().map(|(run, _)| run),
        }
    }

    fn count(&self) -> Result<u64, StoreError> {
        Ok(self.page(u64::from(u32::MAX), Duration::ZERO)?.seq)
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
        loop {
            let left = timeout.saturating_sub(began.elapsed());
            if self.page(seen, left.min(WAIT_MAX))?.seq > seen {
                return Ok(true);
            }
            // The server waits whole seconds.
            if left < Duration::from_secs(1) {
                return Ok(false);
            }
        }
    }
}

impl RunStore for RemoteRun {
    fn run(&self) -> &RunId {
        &self.run
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn durability(&self) -> Durability {
        Durability::Power
    }

    fn name(&self) -> Result<Option<String>, StoreError> {
        Ok(self.pinned()?.name.clone())
    }

    fn source(&self) -> Result<SourceFile, StoreError> {
        let pinned = self.pinned()?;
        Ok(SourceFile {
            name: pinned.source_name.clone(),
            text: pinned.source_text.clone(),
        })
    }

    fn machine(&self) -> Result<Machine, StoreError> {
        self.first_machine()
    }

    fn machine_of(&self, run: &Run) -> Result<Machine, StoreError> {
        if run.adopted.is_some() {
            let run = self.run.to_string();
            return Err(FleetError::NotHere { run }.into());
        }
        self.first_machine()
    }

    fn keep_machine(&self, _: &Machine) -> Result<(), StoreError> {
        let run = self.run.to_string();
        Err(FleetError::NotHere { run }.into())
    }

    fn verify(&self) -> Result<u64, VerifyError> {
        record::verify(self, &self.first_machine()?, &[])
    }

    fn messages(&self) -> Messages {
        Messages::new(NoMessages {
            run: self.run.to_string(),
        })
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

    fn stay_open(&mut self) {}

    // The server itself waits for others.
    fn wait_by(&mut self, _: fn(i32) -> bool) {}

    fn is_in_place(&self) -> bool {
        true
    }

    fn tidy_up(&mut self) {}
}

/// The messages of a run that calls no model.
#[derive(Debug)]
struct NoMessages {
    run: String,
}

impl NoMessages {
    fn refusal(&self) -> StoreError {
        let run = self.run.clone();
        FleetError::NotHere { run }.into()
    }
}

impl Blobs for NoMessages {
    fn keep(&self, _: &[u8]) -> Result<Digest, StoreError> {
        Err(self.refusal())
    }

    fn read(&self, _: &Digest) -> Result<Vec<u8>, StoreError> {
        Err(self.refusal())
    }
}
