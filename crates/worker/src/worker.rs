//! A worker: what its threads and handlers share, and how it begins and ends.

use std::{fmt, io, net::SocketAddr, sync::Arc, thread, time::Duration};

use interlock_core::names::RunId;
use interlock_project::Environment;
use interlock_shared::{Claim, Claimed, Database, SharedError, SharedRuns};
use interlock_store::{EventLog as _, RunStore as _, StoreError, random_word};
use restate_sdk::{endpoint::Endpoint, hyper::HyperEndpoint};
use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpListener,
    sync::{Notify, watch},
};

use crate::{
    carry::{Term, carry},
    error::WorkerError,
    lease::{Held, Leases},
    listen,
    next::Next,
    object::RunObject,
    outbox,
    projects::Projects,
    restate::{Restate, register},
    settings::WorkerSettings,
    ticks::ticks,
};

/// How long the programs of all runs have to end when the worker is stopped.
const END_TIME: Duration = Duration::from_secs(15);
/// Maximum number of threads that wait for the database.
const THREADS_MAX: usize = 64;
/// Stack size of a thread that carries a run: it parses schemas and decides.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// What a worker reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Restate's requests are accepted.
    Ready {
        /// The address that is listened on.
        address: SocketAddr,
        /// The name of this worker in the log.
        holder: String,
    },
    /// A run is carried here.
    Taken {
        /// The run.
        run: String,
        /// The epoch.
        epoch: u64,
        /// Whether the previous carrier was lost.
        is_interrupted: bool,
    },
    /// A run is no longer carried here.
    Ended {
        /// The run.
        run: String,
        /// The epoch.
        epoch: u64,
        /// What follows.
        next: Next,
        /// Why it could not go on here.
        why: Option<String>,
    },
    /// Something fails, and is tried again.
    Trouble {
        /// What fails.
        what: String,
    },
}

type Report = Box<dyn Fn(&Note) + Send + Sync>;

/// Stops a worker from another thread. Clones stop the same one.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Default for Stopper {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stopper {
    /// Stops the worker: it ends the programs of its runs and gives the runs back.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// What the threads and handlers of a worker share.
pub(crate) struct Shared {
    runs: SharedRuns,
    projects: Projects,
    environment: Environment,
    leases: Arc<Leases>,
    holder: String,
    report: Report,
    nudge: Notify,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("runs", &self.runs)
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

/// The answer to a request to carry a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Begun {
    /// It is carried, and the awakeable is told when that has ended.
    Carried,
    /// Somebody else carries it, for so many milliseconds yet.
    Held {
        /// The milliseconds.
        ms: u64,
    },
    /// It has had another carrier since.
    Stale,
    /// Too many runs are carried here.
    NoSlot,
}

impl Shared {
    pub(crate) const fn runs(&self) -> &SharedRuns {
        &self.runs
    }

    pub(crate) fn database(&self) -> &Database {
        self.runs.database()
    }

    pub(crate) const fn projects(&self) -> &Projects {
        &self.projects
    }

    pub(crate) const fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn note(&self, note: &Note) {
        (self.report)(note);
    }

    /// Has the outbox looked at now.
    pub(crate) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// Waits until the outbox is to be looked at.
    pub(crate) async fn nudged(&self) {
        self.nudge.notified().await;
    }

    /// Returns the status of a run.
    pub(crate) fn status(&self, run: &RunId) -> Result<String, StoreError> {
        let log = self.runs.open_run(run)?;
        let folded = log.load()?;
        let machine = log.machine_of(&folded)?;
        let status = interlock_view::report::status(&machine, &folded);
        Ok(status.as_str().to_owned())
    }

    /// Claims a run whose last carrier had `epoch`, and begins to carry it in a thread of its own.
    pub(crate) fn begin(
        self: &Arc<Self>,
        run: &RunId,
        epoch: u64,
        awakeable: String,
    ) -> Result<Begun, SharedError> {
        let Some(held) = self.leases.reserve(run) else {
            // It is tried again, and not forgotten meanwhile.
            let seq = self.database().carrier(run)?.seq;
            self.database().set_due(run, seq, Some(Duration::ZERO))?;
            return Ok(Begun::NoSlot);
        };
        // Taken before the request: the lease lasts at least so long.
        let at = ticks();
        let claim = Claim {
            holder: self.holder.clone(),
            epoch,
            awakeable,
            lease: self.leases.lease(),
        };
        match self.database().claim(run, &claim)? {
            Claimed::Taken {
                epoch,
                is_interrupted,
            } => {
                held.begin(epoch, at);
                let term = Term {
                    epoch,
                    is_interrupted,
                };
                self.start(run, held, term)?;
                Ok(Begun::Carried)
            }
            Claimed::Already => Ok(Begun::Carried),
            Claimed::Held { left } => Ok(Begun::Held {
                ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            }),
            Claimed::Stale => Ok(Begun::Stale),
        }
    }

    fn start(self: &Arc<Self>, run: &RunId, held: Held, term: Term) -> Result<(), SharedError> {
        let (shared, id) = (Arc::clone(self), run.clone());
        let started = thread::Builder::new()
            .name("carry".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || carry(&shared, &id, held, term));
        // The lease ends by itself, and another carrier says that effects were interrupted.
        started.map(drop).map_err(|error| SharedError::Failed {
            place: self.database().place().to_owned(),
            what: format!("no thread for a run: {error}"),
        })
    }
}

/// Carries runs of the tenant of `database` until it is stopped.
///
/// `report` is called with what happens, from several threads.
///
/// # Errors
/// The log cannot be used, an address is not available or not safe, or Restate cannot be told about the worker.
pub fn work(
    database: Database,
    settings: WorkerSettings,
    stopper: &Stopper,
    report: impl Fn(&Note) + Send + Sync + 'static,
) -> Result<(), WorkerError> {
    let restate = Restate::new(settings.ingress()?)?;
    let leases = Arc::new(Leases::new(settings.lease(), settings.slots()));
    let environment = settings.environment.clone();
    let home = environment.home_of_person();
    let state = environment.home.path().to_owned();
    let shared = Arc::new(Shared {
        runs: SharedRuns::new(database, &state, home.as_deref()),
        projects: settings.projects.clone(),
        environment,
        leases: Arc::clone(&leases),
        holder: holder().map_err(WorkerError::Start)?,
        report: Box::new(report),
        nudge: Notify::new(),
    });
    let mut endpoint = Endpoint::builder().bind(RunObject {
        shared: Arc::clone(&shared),
    });
    for key in &settings.identity_keys {
        let bad = |_| WorkerError::BadIdentity(key.clone());
        endpoint = endpoint.identity_key(key).map_err(bad)?;
    }
    let endpoint = HyperEndpoint::new(endpoint.build());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(THREADS_MAX)
        .enable_all()
        .build()
        .map_err(WorkerError::Start)?;
    thread::scope(|scope| {
        scope.spawn(|| leases.renew(shared.database()));
        scope.spawn(|| leases.watch());
        let worked = runtime.block_on(serve(&shared, &settings, (endpoint, restate), stopper));
        // Also ends the two threads.
        leases.close(Duration::ZERO);
        worked
    })
}

async fn serve(
    shared: &Arc<Shared>,
    settings: &WorkerSettings,
    (endpoint, restate): (HyperEndpoint, Restate),
    stopper: &Stopper,
) -> Result<(), WorkerError> {
    let listen = |source| WorkerError::Listen {
        address: settings.listen,
        source,
    };
    let listener = TcpListener::bind(settings.listen).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let accepting = tokio::spawn(listen::accept(listener, endpoint));
    if let Some(admin) = &settings.restate_admin {
        let advertise = match &settings.advertise {
            Some(advertise) => advertise.clone(),
            None => format!("http://{address}"),
        };
        register(admin, &advertise).await?;
    }
    let ended = watch::Sender::new(false);
    let deliver = outbox::deliver(Arc::clone(shared), restate, ended.subscribe());
    let delivering = tokio::spawn(deliver);
    shared.note(&Note::Ready {
        address,
        holder: shared.holder.clone(),
    });
    let mut stopped = stopper.0.subscribe();
    // The sender lives as long as `stopper`.
    let _ = stopped.wait_for(|stopped| *stopped).await;
    // What Restate asks meanwhile is refused, and asked of another worker.
    accepting.abort();
    let leases = Arc::clone(&shared.leases);
    let _ = tokio::task::spawn_blocking(move || leases.close(END_TIME)).await;
    ended.send_replace(true);
    shared.nudge();
    let _ = delivering.await;
    Ok(())
}

/// Returns the name of this worker: machine, process, and a word that no other has.
fn holder() -> io::Result<String> {
    let word = random_word().map_err(io::Error::other)?;
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_string_lossy();
    Ok(format!("{machine}/{}/{word}", std::process::id()))
}
