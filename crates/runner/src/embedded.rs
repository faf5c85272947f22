//! Runs a durable run in this process: a thread for each program, the log in its file.

mod abandoner;
mod canceller;
mod thread;

use std::{
    collections::BTreeMap,
    fmt, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use interlock_core::{
    command::Effect,
    event::Event,
    machine::{EffectKind, Machine},
    pending::Pending,
    run::Run,
    stage::Step,
};
use interlock_expr::text::Files;
use interlock_process::{Cancel, RecordError, Stop, end_leftovers};
use interlock_store::{AppendError, EventLog, RunLog, StoreError};

use crate::{
    carry::mark,
    drive::{DriveError, Halt, drive, lose_effects},
    host::{Appended, Happening, Host},
    lease::{Before, Lease, LeaseError},
    order::{Failed, Order, Outcome},
    run_context::{EFFECT_VARIABLE, RunContext},
    stage::{self, Answers, CancelToken, ChannelAnswer, Open, Question},
    tools::read_file,
};

use thread::spawn;

pub use abandoner::{Abandoned, Abandoner};
pub use canceller::Canceller;

/// Interval of checks of a log that others may write to.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// Why a run cannot run in this process.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// Another process runs it, or that is unknown.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Process groups of the previous runner may still be alive.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The log failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run could not be driven.
    #[error(transparent)]
    Drive(#[from] Box<DriveError<StoreError>>),
    /// The lease could not be released.
    #[error("cannot give the run back: {0}")]
    Release(std::io::Error),
}

impl From<DriveError<StoreError>> for EmbeddedError {
    fn from(error: DriveError<StoreError>) -> Self {
        Self::Drive(Box::new(error))
    }
}

/// How a run is driven whose log is on another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarriedTerms {
    /// Whether the previous carrier, on whatever machine, has not given the run back.
    pub is_interrupted: bool,
    /// The run is given back if it only waits, and for longer than this.
    pub rest_after: Duration,
}

/// A run that this process drives.
///
/// Dropping it while something runs kills that and leaves the run as after a crash.
pub struct Embedded {
    log: RunLog,
    context: Arc<RunContext>,
    lease: Option<Lease>,
    inbox: Receiver<Message>,
    outbox: Sender<Message>,
    running: BTreeMap<String, Worker>,
    /// Questions to a person in this process, by the id of the request.
    asked: BTreeMap<String, Box<dyn Open>>,
    hurry: Arc<AtomicBool>,
    /// Number of log events that this process knows.
    seen: u64,
    /// Whether the remains of a crashed runner have been dealt with.
    recovered: bool,
    /// The run as the last drive left it, until it is asked for.
    halted: Option<Run>,
    /// How it is driven for a log on another machine.
    carried: Option<CarriedTerms>,
    abandoner: Abandoner,
}

/// A message to the host.
enum Message {
    Ended {
        id: String,
        attempt: u32,
        outcome: Outcome,
    },
    Cancel {
        by: String,
    },
    Asked(Question),
    Said {
        id: String,
        said: ChannelAnswer,
    },
}

struct Worker {
    attempt: u32,
    cancel: Cancel,
    /// Token that cancels a model stage.
    cancel_token: Option<CancelToken>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn stop(&self, how: Stop) {
        self.cancel.stop(how);
        if let Some(cancel_token) = &self.cancel_token {
            cancel_token.stop(how == Stop::AtOnce);
        }
    }
}

impl Embedded {
    /// Takes the run of `log`, and ends the programs that outlived a crashed runner.
    ///
    /// # Errors
    /// Another process runs it, or the run's directory cannot be used.
    pub fn take(log: RunLog, context: RunContext) -> Result<Self, EmbeddedError> {
        let lease = Lease::take(log.folder().made_work()?, now_ms())?;
        let (outbox, inbox) = channel();
        Ok(Self {
            seen: log.count()?,
            log: log.kept(),
            context: Arc::new(context),
            lease: Some(lease),
            inbox,
            outbox,
            running: BTreeMap::new(),
            asked: BTreeMap::new(),
            hurry: Arc::default(),
            recovered: false,
            halted: None,
            carried: None,
            abandoner: Abandoner::default(),
        })
    }

    /// Drives the run as one of several machines, whose log says who carries it.
    ///
    /// Then only `terms` say whether effects were interrupted, not the lock on this machine.
    pub fn set_carried(&mut self, terms: CarriedTerms) {
        self.carried = Some(terms);
    }

    /// Returns a handle to end what the run has started, from another thread.
    #[must_use]
    pub fn abandoner(&self) -> Abandoner {
        self.abandoner.clone()
    }

    /// Returns a handle to cancel the run from another thread.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller::new(self.outbox.clone(), Arc::clone(&self.hurry))
    }

    /// Returns the log, for reading, or for writing while the run is not driven.
    pub fn log(&mut self) -> &mut RunLog {
        &mut self.log
    }

    /// Returns the run: as the last drive left it if nothing was appended since, and from the log otherwise.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn run(&mut self) -> Result<Run, StoreError> {
        match self.halted.take() {
            Some(run) if self.log.count()? == run.seq => Ok(run),
            _ => self.log.load(),
        }
    }

    /// Returns the context of the run.
    #[must_use]
    pub fn run_context(&self) -> &RunContext {
        &self.context
    }

    /// Takes over from a crashed runner; does nothing if there was none, or the second time.
    ///
    /// Its programs are ended first, then each interrupted effect follows its state's rule.
    ///
    /// # Errors
    /// The log or the records of process groups cannot be used.
    pub fn recover(&mut self, machine: &Machine) -> Result<(), EmbeddedError> {
        let died = self
            .lease
            .as_ref()
            .is_some_and(|lease| *lease.before() != Before::Released);
        let interrupted = self.carried.map_or(died, |terms| terms.is_interrupted);
        if !(died || interrupted) || self.recovered {
            return Ok(());
        }
        self.context.records().end_all()?;
        let run = self.log.load()?;
        let marks: Vec<String> = interlock_core::effects(machine, &run)
            .iter()
            .map(|effect| mark(&effect.id, effect.attempt))
            .collect();
        end_leftovers(EFFECT_VARIABLE, &marks);
        if interrupted {
            lose_effects(machine, self)?;
        }
        self.recovered = true;
        Ok(())
    }

    /// Drives the run until it is over or waits for a person, and releases it.
    ///
    /// # Errors
    /// The run cannot be read or written. Running programs are killed when this is dropped.
    pub fn drive(&mut self, machine: &Machine) -> Result<Halt, EmbeddedError> {
        self.recover(machine)?;
        let halt = drive(machine, self)?;
        self.release()?;
        Ok(halt)
    }

    /// Releases the run completely.
    ///
    /// # Errors
    /// The lock cannot be written.
    pub fn release(&mut self) -> Result<(), EmbeddedError> {
        match self.lease.take() {
            Some(lease) if self.running.is_empty() => {
                self.log.tidy_up();
                lease.release().map_err(EmbeddedError::Release)
            }
            _ => Ok(()),
        }
    }

    fn message(&mut self, message: Message) -> Happening {
        match message {
            Message::Ended {
                id,
                attempt,
                outcome,
            } => {
                let ours = self
                    .running
                    .get(&id)
                    .is_some_and(|worker| worker.attempt == attempt);
                if ours && let Some(mut worker) = self.running.remove(&id) {
                    join(&mut worker);
                    self.abandoner.leave(&id);
                }
                Happening::Ended {
                    id,
                    attempt,
                    outcome,
                }
            }
            Message::Cancel { by } => {
                if self.hurry.load(Ordering::Acquire) {
                    self.stop_all(Stop::AtOnce);
                }
                Happening::CancelAsked { by }
            }
            Message::Asked(question) => Happening::Asked(question),
            Message::Said { id, said } => {
                self.asked.remove(&id);
                Happening::Said { id, said }
            }
        }
    }

    /// Starts a thread for `order`.
    fn begin(&self, order: Order) -> std::io::Result<Worker> {
        let cancel = Cancel::new()?;
        let cancel_token = order.stage.is_some().then(CancelToken::new).transpose()?;
        let attempt = order.attempt;
        self.abandoner
            .enter(&order.id, (cancel.clone(), cancel_token.clone()))?;
        let thread = spawn(
            order,
            Arc::clone(&self.context),
            (cancel.clone(), cancel_token.clone()),
            self.outbox.clone(),
        )?;
        Ok(Worker {
            attempt,
            cancel,
            cancel_token,
            thread: Some(thread),
        })
    }

    fn stop_all(&self, how: Stop) {
        for worker in self.running.values() {
            worker.stop(how);
        }
        self.context.slots.nudge();
    }

    /// Returns how long to wait for a message before the log is checked again.
    fn wait_time(&mut self, until_ms: Option<u64>) -> Duration {
        let left = until_ms.map(|until| until.saturating_sub(self.now_ms()));
        left.map_or(LOOK_EVERY, |left| {
            Duration::from_millis(left).min(LOOK_EVERY)
        })
    }
}

impl Host for Embedded {
    type Error = StoreError;

    fn now_ms(&mut self) -> u64 {
        now_ms()
    }

    fn load(&mut self) -> Result<Run, StoreError> {
        let run = self.log.load()?;
        self.seen = run.seq;
        Ok(run)
    }

    fn halted(&mut self, run: Run) {
        self.halted = Some(run);
    }

    fn events(&mut self, from: u64) -> Result<Vec<Event>, StoreError> {
        let events = self.log.events(from);
        events
            .map(|recorded| recorded.map(|recorded| recorded.event))
            .collect()
    }

    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<Appended, StoreError> {
        // What ended because the run was abandoned is no outcome.
        self.abandoner.check()?;
        match self.log.append(expected_seq, at_ms, events) {
            Ok(()) => {
                let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
                self.seen = expected_seq.saturating_add(count);
                Ok(Appended::Kept)
            }
            Err(AppendError::Conflict { .. }) => Ok(Appended::Conflict),
            Err(AppendError::Store(error)) => Err(error),
        }
    }

    fn takes(&mut self, order: &Order) -> bool {
        if let Some(stage) = &order.stage {
            let people = self.context.stages.as_deref().map(|stages| &stages.people);
            let waits_elsewhere = people.is_some_and(|people| people.stands());
            return !(waits_elsewhere && matches!(stage.step(), Some(Step::Person(_))));
        }
        let wants_terminal = order.kind == EffectKind::Ask || order.kind.is_program("claude-code");
        match order.kind {
            EffectKind::Pause => false,
            _ if wants_terminal => order.alone && self.context.terminal().is_some(),
            _ => true,
        }
    }

    fn start(&mut self, order: Order) {
        let (id, attempt) = (order.id.clone(), order.attempt);
        match self.begin(order) {
            Ok(worker) => drop(self.running.insert(id, worker)),
            Err(error) => {
                let failed = Failed::new(1, format!("cannot be carried out: {error}"));
                // The other end is this host itself.
                let _ = self.outbox.send(Message::Ended {
                    id,
                    attempt,
                    outcome: failed.into(),
                });
            }
        }
    }

    fn stop(&mut self, id: &str) {
        if let Some(worker) = self.running.get(id) {
            let how = if self.hurry.load(Ordering::Acquire) {
                Stop::AtOnce
            } else {
                Stop::Gently
            };
            worker.stop(how);
            self.context.slots.nudge();
        }
    }

    fn ask(&mut self, pending: &Pending) -> bool {
        let Some(stages) = self.context.stages.as_deref() else {
            return false;
        };
        let people = &stages.people;
        if let Some(channel) = &people.here {
            let (id, outbox) = (pending.id().to_string(), self.outbox.clone());
            let named = id.clone();
            let answers = Answers::new(move |said| {
                // Once the run is no longer driven, nobody receives this.
                let _ = outbox.send(Message::Said {
                    id: named.clone(),
                    said,
                });
            });
            let open = channel.ask(stage::wanted(pending), answers);
            self.asked.insert(id, open);
            return true;
        }
        let is_waited_for = people.elsewhere && !people.no_wait;
        if is_waited_for {
            let screen = &self.context.screen;
            screen.warn(&pending.title, &stage::elsewhere(pending));
        }
        is_waited_for
    }

    fn withdraw(&mut self, id: &str) {
        if let Some(open) = self.asked.remove(id) {
            open.withdraw("it is not asked any more");
        }
    }

    fn happened(&mut self, machine: &Machine, before: &Run, events: &[Event]) {
        self.context.screen.happened(machine, before, events);
    }

    fn stands(&mut self, machine: &Machine, run: &Run, effects: &[Effect]) {
        self.context.screen.stands(machine, run, effects);
    }

    fn rests(&mut self, until_ms: u64) -> bool {
        let left = until_ms.saturating_sub(self.now_ms());
        self.carried
            .is_some_and(|terms| Duration::from_millis(left) > terms.rest_after)
    }

    fn read(&mut self, paths: &[String]) -> Files {
        let places = &self.context.places;
        paths
            .iter()
            .map(|path| (path.clone(), read_file(path, places)))
            .collect()
    }

    fn next(&mut self, until_ms: Option<u64>) -> Result<Happening, StoreError> {
        loop {
            let wait_time = self.wait_time(until_ms);
            match self.inbox.recv_timeout(wait_time) {
                Ok(message) => return Ok(self.message(message)),
                // This host itself holds a sender.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    self.abandoner.check()?;
                    if self.log.count()? != self.seen {
                        return Ok(Happening::LogGrew);
                    }
                    if until_ms.is_some_and(|until| until <= self.now_ms()) {
                        return Ok(Happening::Tick);
                    }
                }
            }
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.stop_all(self.abandoner.how().unwrap_or(Stop::AtOnce));
        for (_, open) in mem::take(&mut self.asked) {
            open.withdraw("the run is no longer being driven");
        }
        // The requests of stages are dropped with it, so that none waits for an answer.
        let (_, nothing) = channel();
        drop(mem::replace(&mut self.inbox, nothing));
        for worker in self.running.values_mut() {
            join(worker);
        }
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("run", self.log.run())
            .finish_non_exhaustive()
    }
}

fn join(worker: &mut Worker) {
    if let Some(thread) = worker.thread.take() {
        // A thread that panicked has reported nothing; there is nothing to add.
        let _ = thread.join();
    }
}

/// Returns the time, in milliseconds since 1970.
fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}
