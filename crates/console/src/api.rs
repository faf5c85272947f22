//! The routes below `/api/v1`. No address forces a state, replaces a machine or starts an agent.

mod answers;
mod call;
mod log;
mod moment;
mod pair;
mod picture;
mod runs;
mod stream;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::Body,
    http::{StatusCode, Uri},
    middleware::from_fn_with_state,
    routing::{get, post},
};
use http_body_util::{BodyExt as _, Limited};
use interlock_core::{
    command::{Ask, Command},
    machine::Machine,
    names::RunId,
    run::Run,
};
use interlock_store::{EventLog as _, Home, RunLog, submit};
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, mpsc};

use crate::{
    board::{Board, RunRow},
    gate,
    history::Histories,
    page,
    pairing::{PairingRequest, Pairings},
    peer::Agent,
    reply::Problem,
    server::Settings,
};

/// The most bytes of a body that are read.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Streams open at once.
const STREAMS_MAX: usize = 64;
/// How often an agent's knocking is written into the log of its run.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) home: Home,
    pub(crate) port: u16,
    pub(crate) pairings: Pairings,
    person: String,
    changed: Box<dyn Fn(&Run) + Send + Sync>,
    board: Board,
    histories: Histories,
    streams: Arc<Semaphore>,
    /// When an agent's request was last written into the log of its run.
    reported: Mutex<BTreeMap<RunId, Instant>>,
}

/// A run that has been opened.
struct Opened {
    log: RunLog,
    machine: Machine,
    run: Run,
}

impl Shared {
    pub(crate) fn new(settings: Settings, port: u16) -> (Self, mpsc::Receiver<PairingRequest>) {
        let (pairings, asked) = Pairings::new();
        let shared = Self {
            home: settings.home,
            port,
            pairings,
            person: settings.person,
            changed: settings.changed,
            board: Board::default(),
            histories: Histories::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            reported: Mutex::default(),
        };
        (shared, asked)
    }

    /// Does what waits for the disk on a thread of its own.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Err(Problem::new(
                status,
                "bug",
                "the console has a bug: please report it",
            ))
        })
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
        let ask = Ask::ReportConsole {
            pid: agent.pid,
            program: agent.program.clone(),
            request: request.to_owned(),
        };
        // It is refused whether the log takes it or not.
        let _ = self.open(&agent.run).map(|mut opened| opened.ask(ask));
    }

    fn open(&self, id: &RunId) -> Result<Opened, Problem> {
        let log = self.home.open_run(id)?;
        let (machine, run) = (log.machine()?, log.load()?);
        Ok(Opened { log, machine, run })
    }

    /// Returns a run as the list has it.
    fn row(&self, id: &RunId) -> Result<RunRow, Problem> {
        let rows = self.board.rows(&self.home)?;
        let found = rows.iter().find(|row| row.id == *id);
        found
            .cloned()
            .ok_or_else(|| Problem::unknown(format!("there is no run `{id}`")))
    }
}

impl Opened {
    fn ask(&mut self, ask: Ask) -> Result<interlock_core::Decision, Problem> {
        let command = Command {
            at_ms: now_ms(),
            ask,
        };
        Ok(submit(
            &mut self.log,
            &self.machine,
            &mut self.run,
            &command,
        )?)
    }
}

/// Makes the routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let api = Router::new()
        .route("/pair", post(pair::begin))
        .route("/pair/finish", post(pair::finish))
        .route("/projects", get(runs::projects))
        .route("/runs", get(runs::list))
        .route("/inbox", get(runs::inbox))
        .route("/stream", get(stream::follow))
        .route("/runs/{id}", get(runs::one))
        .route("/runs/{id}/changes", get(runs::changes))
        .route("/runs/{id}/events", get(log::events))
        .route("/runs/{id}/events/{seq}", get(log::event))
        .route("/runs/{id}/timeline", get(log::timeline))
        .route("/runs/{id}/verify", get(log::verify))
        .route("/runs/{id}/state", get(moment::state))
        .route("/runs/{id}/graph", get(picture::graph))
        .route("/runs/{id}/answers", post(answers::answer))
        .route("/runs/{id}/pause", post(answers::pause))
        .route("/runs/{id}/resume", post(answers::resume))
        .route("/runs/{id}/cancel", post(answers::cancel))
        .fallback(unknown);
    Router::new()
        .nest("/api/v1", api)
        .fallback(page::file)
        .layer(from_fn_with_state(Arc::clone(&shared), gate::admit))
        .with_state(shared)
}

async fn unknown(uri: Uri) -> Problem {
    Problem::unknown(format!("there is no `{}`", uri.path()))
}

/// Reads a body as JSON.
async fn body<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let read = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let bytes = read.map_err(|_| {
        Problem::input(format!(
            "the body is cut off, or longer than {BODY_BYTES_MAX} bytes"
        ))
    })?;
    serde_json::from_slice(&bytes.to_bytes())
        .map_err(|error| Problem::input(format!("the body is not what is wanted: {error}")))
}

/// Returns the time, in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
