//! What all requests share: the state directory, who is in, and what was read before.

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

/// Texts of pages that are worked on at once.
const DRAFTS_MAX: usize = 2;
/// How long a request waits for its turn.
const TURN_WAIT: Duration = Duration::from_secs(10);
/// Logs that are judged or compared at once.
const JUDGING_MAX: usize = 2;
const JUDGING: &str = "the console is busy with other logs: try again";
const BUSY: &str = "the console is busy with other workflows: try again";
/// Streams open at once.
const STREAMS_MAX: usize = 64;
/// How often an agent's knocking is written into the log of its run.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// What a console is made with.
pub struct Settings {
    /// The state directory.
    pub home: Home,
    /// The person's name, for the log.
    pub person: String,
    /// The port; 0: any that is free.
    pub port: u16,
    /// Where the workflows are.
    pub workplace: Workplace,
    /// What lines are judged by again where somebody looks at them; the project and the client are those of the run.
    pub scenario: Scenario,
    /// Examines the clients here, as `interlock doctor` does.
    pub doctor: Box<dyn Fn() -> Report + Send + Sync>,
    /// What is masked wherever arguments and texts of models are shown.
    pub secrets: Secrets,
    /// The passkey that is to be enrolled here; `None`: none is.
    pub enrolment: Option<Enrolment>,
    /// Called after each answer that a run took, with the run as it is then.
    pub changed: Box<dyn Fn(&Run) + Send + Sync>,
}

impl Settings {
    /// A console of a state directory alone: it stands in no project, and there are no clients.
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

/// Where workflows are looked for.
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

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) home: Home,
    /// Which sessions runs guard, as it was read last.
    pub(crate) sessions: KnownSessions,
    pub(crate) port: u16,
    pub(crate) pairings: Arc<Pairings>,
    pub(crate) person: String,
    pub(crate) scenario: Scenario,
    pub(crate) secrets: Secrets,
    pub(crate) doctor: Box<dyn Fn() -> Report + Send + Sync>,
    /// One examination at a time.
    pub(crate) examining: Turns,
    /// What is done with texts of pages.
    pub(crate) drafts: Turns,
    /// What reads whole logs to judge or to compare them.
    pub(crate) judging: Turns,
    /// Proofs of properties.
    pub(crate) proving: Turns,
    /// Lists of workflows.
    pub(crate) lists: Turns,
    /// Runs that are made into files.
    pub(crate) exports: Turns,
    /// How far the kernel holds shell lines here, once it was tried.
    pub(crate) reached: OnceLock<Reached>,
    /// What was said of workflow files.
    pub(crate) checked: Checked,
    pub(crate) alarms: Alarms,
    pub(crate) enrolment: Option<Enrolment>,
    /// What passkeys are to sign.
    pub(crate) challenges: Challenges,
    pub(crate) changed: Box<dyn Fn(&Run) + Send + Sync>,
    pub(crate) workplace: Workplace,
    pub(crate) board: Board,
    pub(crate) histories: Histories,
    pub(crate) alignments: Alignments,
    pub(crate) spoken: SpokenOfRuns,
    pub(crate) costs: Costs,
    pub(crate) streams: Arc<Semaphore>,
    /// When an agent's request was last written into the log of its run.
    reported: Mutex<BTreeMap<RunId, Instant>>,
}

/// A run that has been opened.
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

    /// Does what waits for the disk on a thread of its own.
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

    /// Does the same when its turn comes; the turn lasts as long as the work does, also where nobody waits for it.
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

    /// Records in a run's log that its agent came here, at most once a second.
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
        // It is refused whether the log takes it or not.
        let _ = self.open(&agent.run).map(|mut opened| opened.ask(command));
    }

    pub(crate) fn open(&self, id: &RunId) -> Result<Opened, Problem> {
        let log = self.home.open_run(id)?;
        let run = log.load()?;
        let machine = log.machine_of(&run)?;
        Ok(Opened { log, machine, run })
    }

    /// Returns a run as the list has it.
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

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Refuses a number that no event of a log can have.
///
/// # Errors
/// It is larger than a log counts.
pub(crate) fn fits_a_log(seq: u64) -> Result<(), Problem> {
    match i64::try_from(seq) {
        Ok(_) => Ok(()),
        Err(_) => Err(Problem::input(format!("no log has an event {seq}"))),
    }
}
