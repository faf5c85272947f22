//! State shared by all requests: the state directory, the paired pages, and caches.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::http::StatusCode;
use interlock_clients::doctor::Report;
use interlock_core::{
    Decision,
    command::{Command, CommandKind},
    machine::Machine,
    names::RunId,
    run::Run,
};
use interlock_project::Library;
use interlock_sandbox::Reached;
use interlock_simulate::Scenario;
use interlock_store::{EventLog as _, Home, KnownSessions, RunLog, submit};
use interlock_tools::Secrets;
use tokio::sync::{Semaphore, mpsc};

use crate::{
    alarms::Alarms,
    alignments::Alignments,
    board::{Board, RunRow},
    checked::Checked,
    history::Histories,
    pairing::{PairingRequest, Pairings},
    passkeys::{Challenges, Enrolment},
    peer::Agent,
    reply::Problem,
    spent::Costs,
    spoken::SpokenOfRuns,
    turns::Turns,
};

/// Maximum number of drafts that are processed at once.
const DRAFTS_MAX: usize = 2;
/// Time for which a request waits for its turn.
const TURN_WAIT: Duration = Duration::from_secs(10);
/// Maximum number of logs that are judged or compared at once.
const JUDGING_MAX: usize = 2;
const JUDGING: &str = "the console is busy with other logs: try again";
const BUSY: &str = "the console is busy with other workflows: try again";
/// Maximum number of open streams.
const STREAMS_MAX: usize = 64;
/// Minimum interval between reports of an agent's requests in the log of its run.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// The settings of a console.
pub struct Settings {
    /// The state directory.
    pub home: Home,
    /// The person's name, for the log.
    pub person: String,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Where the workflows are.
    pub workplace: Workplace,
    /// The scenario for judging recorded lines again; the project and the client are those of the run.
    pub scenario: Scenario,
    /// Examines the local clients, as `interlock doctor` does.
    pub doctor: Box<dyn Fn() -> Report + Send + Sync>,
    /// The secrets to mask in arguments and in texts of models.
    pub secrets: Secrets,
    /// The passkey to be enrolled here, if any.
    pub enrolment: Option<Enrolment>,
    /// Called with the run after each command that changed it.
    pub changed: Box<dyn Fn(&Run) + Send + Sync>,
}

impl Settings {
    /// Returns the settings of a console with only a state directory, without a project or clients.
    #[must_use]
    pub fn alone(home: Home, person: &str) -> Self {
        Self {
            home,
            person: person.to_owned(),
            port: 0,
            workplace: Workplace {
                project: PathBuf::from("/"),
                library: Box::new(|root| Library::new(root, None)),
            },
            scenario: Scenario::default(),
            doctor: Box::new(|| Report {
                clients: Vec::new(),
                checks: Vec::new(),
            }),
            secrets: Secrets::default(),
            enrolment: None,
            changed: Box::new(|_| ()),
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").finish_non_exhaustive()
    }
}

/// Where workflows are looked up.
pub struct Workplace {
    /// The root of the project that the console was started in.
    pub project: PathBuf,
    /// Returns the workflows as seen from the root of a project.
    pub library: Box<dyn Fn(&Path) -> Library + Send + Sync>,
}

impl std::fmt::Debug for Workplace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let project = &self.project;
        f.debug_struct("Workplace")
            .field("project", project)
            .finish_non_exhaustive()
    }
}

/// State shared by all requests.
pub(crate) struct Shared {
    pub(crate) home: Home,
    /// The cached sessions that runs guard.
    pub(crate) sessions: KnownSessions,
    pub(crate) port: u16,
    pub(crate) pairings: Arc<Pairings>,
    pub(crate) person: String,
    pub(crate) scenario: Scenario,
    pub(crate) secrets: Secrets,
    pub(crate) doctor: Box<dyn Fn() -> Report + Send + Sync>,
    /// Turns for examining clients, one at a time.
    pub(crate) examining: Turns,
    /// Turns for processing drafts.
    pub(crate) drafts: Turns,
    /// Turns for reading whole logs to judge or compare them.
    pub(crate) judging: Turns,
    /// Turns for proofs of properties.
    pub(crate) proving: Turns,
    /// Turns for listing workflows.
    pub(crate) lists: Turns,
    /// Turns for exporting runs.
    pub(crate) exports: Turns,
    /// How far the kernel confines shell lines, determined on first use.
    pub(crate) reached: OnceLock<Reached>,
    /// Cached diagnostics of workflow files.
    pub(crate) checked: Checked,
    pub(crate) alarms: Alarms,
    pub(crate) enrolment: Option<Enrolment>,
    /// Pending challenges for passkeys.
    pub(crate) challenges: Challenges,
    pub(crate) changed: Box<dyn Fn(&Run) + Send + Sync>,
    pub(crate) workplace: Workplace,
    pub(crate) board: Board,
    pub(crate) histories: Histories,
    pub(crate) alignments: Alignments,
    pub(crate) spoken: SpokenOfRuns,
    pub(crate) costs: Costs,
    pub(crate) streams: Arc<Semaphore>,
    /// When an agent's request was last recorded in the log of its run.
    reported: Mutex<BTreeMap<RunId, Instant>>,
}

/// An opened run.
pub(crate) struct Opened {
    pub(crate) log: RunLog,
    pub(crate) machine: Machine,
    pub(crate) run: Run,
}

impl Shared {
    pub(crate) fn new(settings: Settings, port: u16) -> (Self, mpsc::Receiver<PairingRequest>) {
        let (pairings, requests) = Pairings::new();
        let shared = Self {
            home: settings.home,
            sessions: KnownSessions::default(),
            port,
            pairings: Arc::new(pairings),
            person: settings.person,
            scenario: settings.scenario,
            secrets: settings.secrets,
            doctor: settings.doctor,
            examining: Turns::new(
                1,
                Duration::ZERO,
                "the clients are being examined: wait for that",
            ),
            drafts: Turns::new(DRAFTS_MAX, TURN_WAIT, BUSY),
            judging: Turns::new(JUDGING_MAX, TURN_WAIT, JUDGING),
            proving: Turns::new(
                1,
                TURN_WAIT,
                "the console is busy with another proof: try again",
            ),
            lists: Turns::new(1, TURN_WAIT, BUSY),
            exports: Turns::new(1, TURN_WAIT, "another run is being exported: try again"),
            reached: OnceLock::new(),
            checked: Checked::default(),
            alarms: Alarms::default(),
            enrolment: settings.enrolment,
            challenges: Challenges::default(),
            changed: settings.changed,
            workplace: settings.workplace,
            board: Board::default(),
            histories: Histories::default(),
            alignments: Alignments::default(),
            spoken: SpokenOfRuns::default(),
            costs: Costs::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            reported: Mutex::default(),
        };
        (shared, requests)
    }

    /// Runs blocking work on a separate thread.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let shared = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            let message = "the console has a bug: please report it";
            Err(Problem::new(status, "bug", message))
        })
    }

    /// Runs blocking work when its turn comes; the turn lasts until the work ends, even if the request is dropped.
    pub(crate) async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        turns: impl Fn(&Self) -> &Turns,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = turns(self).take().await?;
        let held = move |shared: &Self| {
            let done = work(shared);
            drop(turn);
            done
        };
        self.blocking(held).await
    }

    /// Records in a run's log that its agent sent a request to the console, at most once per second.
    pub(crate) fn report(&self, agent: &Agent, request: &str) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let known = reported.get(&agent.run);
        if known.is_some_and(|last| last.elapsed() < REPORT_EVERY) {
            return;
        }
        reported.insert(agent.run.clone(), Instant::now());
        drop(reported);
        let command = CommandKind::ReportConsole {
            pid: agent.pid,
            program: agent.program.clone(),
            request: request.to_owned(),
        };
        // The agent is refused whether or not this is recorded.
        let _ = self.open(&agent.run).map(|mut opened| opened.ask(command));
    }

    pub(crate) fn open(&self, id: &RunId) -> Result<Opened, Problem> {
        let log = self.home.open_run(id)?;
        let run = log.load()?;
        let machine = log.machine_of(&run)?;
        Ok(Opened { log, machine, run })
    }

    /// Returns a run's row in the list.
    pub(crate) fn row(&self, id: &RunId) -> Result<RunRow, Problem> {
        let rows = self.board.rows(&self.home)?;
        let found = rows.iter().find(|row| row.id == *id);
        found
            .cloned()
            .ok_or_else(|| Problem::unknown(format!("there is no run `{id}`")))
    }
}

impl Opened {
    pub(crate) fn ask(&mut self, command: CommandKind) -> Result<Decision, Problem> {
        let command = Command {
            at_ms: now_ms(),
            kind: command,
        };
        Ok(submit(
            &mut self.log,
            &self.machine,
            &mut self.run,
            &command,
        )?)
    }
}

/// Returns the current time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Refuses a sequence number that no event of a log can have.
///
/// # Errors The number is larger than the maximum.
pub(crate) fn fits_a_log(seq: u64) -> Result<(), Problem> {
    match i64::try_from(seq) {
        Ok(_) => Ok(()),
        Err(_) => Err(Problem::input(format!("no log has an event {seq}"))),
    }
}
