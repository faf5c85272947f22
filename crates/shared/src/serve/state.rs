//! What all requests of a server share: the log, the runs in memory and their queues.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use interlock_attest::{PublicKey, SecretKey};
use interlock_core::{names::RunId, run::DurableRun};
use interlock_store::{ChainHash, RunFolder, random_word, record};
use tokio::sync::{Notify, Semaphore, oneshot};

use super::{
    batch::{BATCH_MAX, Live, Outcome, Submitted},
    bundles::TenantBundles,
    graph::Graphs,
    problem::Problem,
};
use crate::{
    database::Database,
    error::SharedError,
    run::SharedRun,
    sign_in::{Keys, SignIn},
    tenant::Tenant,
    tokens::{Bearer, Identity},
};

/// Maximum number of runs in memory.
const RUNS_MAX: usize = 512;
/// Maximum number of commands that wait for one run.
const WAITING_MAX: usize = 256;
/// Maximum number of requests that wait for events.
const FOLLOWERS_MAX: usize = 256;
/// Maximum number of reading requests that use the database at once.
const READS_MAX: usize = 8;
/// Maximum number of requests that have an issuer exchange a code at once.
const EXCHANGES_MAX: usize = 8;
/// How long a token that was found valid counts without another look.
const TOKEN_AGE_MAX: Duration = Duration::from_secs(1);
/// Maximum number of tokens in memory.
const TOKENS_MAX: usize = 4_096;
/// How long the readiness of the database counts without another look.
const READY_AGE_MAX: Duration = Duration::from_secs(1);

/// What all requests of a server share.
pub(crate) struct ServerState {
    /// The log as no tenant in particular sees it.
    pub(crate) database: Database,
    /// Folders of runs on this machine, which the server leaves empty.
    folders: PathBuf,
    /// Unguessable root of the places that paths in commands refer to while they are decided.
    places: String,
    runs: Mutex<BTreeMap<(Tenant, RunId), Arc<RunQueue>>>,
    holders: Mutex<BTreeMap<[u8; 32], (Instant, Identity)>>,
    pub(crate) reads: Semaphore,
    pub(crate) followers: Semaphore,
    ready: Mutex<Option<(Instant, Result<(), Problem>)>>,
    /// The bundles of the tenants whose keys this server has.
    bundles: BTreeMap<Tenant, TenantBundles>,
    /// Held by the one request that has what happened signed.
    pub(crate) signing: Semaphore,
    /// The key that signs what happened, before it is read.
    pub(crate) audit_key: Option<Arc<SecretKey>>,
    /// The issuers whose ID tokens are exchanged.
    pub(crate) sign_in: SignIn,
    pub(crate) keys: Keys,
    /// Held by requests that have an issuer exchange a code.
    pub(crate) exchanging: Semaphore,
    pub(crate) graphs: Graphs,
}

/// A run in memory, and the commands that wait for it.
#[derive(Default)]
pub(crate) struct RunQueue {
    waiting: Mutex<Waiting>,
    live: Mutex<Option<Live>>,
    /// Notified after each append of this server.
    pub(crate) appended: Notify,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<(Submitted, oneshot::Sender<Outcome>)>,
    /// Whether a thread is deciding commands of the run.
    is_served: bool,
}

/// Locks a value that a panic cannot leave half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerState {
    pub(crate) fn new(
        database: Database,
        folders: PathBuf,
        sign_in: SignIn,
    ) -> Result<Self, SharedError> {
        let word = random_word().map_err(|error| SharedError::Failed {
            place: database.place().to_owned(),
            what: error.to_string(),
        })?;
        Ok(Self {
            database,
            folders,
            places: format!("/interlock-{word}"),
            runs: Mutex::default(),
            holders: Mutex::default(),
            reads: Semaphore::new(READS_MAX),
            followers: Semaphore::new(FOLLOWERS_MAX),
            ready: Mutex::default(),
            bundles: BTreeMap::new(),
            signing: Semaphore::new(1),
            audit_key: None,
            keys: Keys::new(&sign_in),
            sign_in,
            exchanging: Semaphore::new(EXCHANGES_MAX),
            graphs: Graphs::default(),
        })
    }

    /// Returns it with the keys of bundles and the key that signs what happened.
    pub(crate) fn with_keys(
        self,
        bundles: &[(Tenant, Vec<PublicKey>)],
        audit_key: Option<Arc<SecretKey>>,
    ) -> Self {
        let of = |(tenant, keys): &(Tenant, Vec<PublicKey>)| {
            let bundles = TenantBundles::new(tenant.clone(), keys.clone());
            (tenant.clone(), bundles)
        };
        Self {
            bundles: bundles.iter().map(of).collect(),
            audit_key,
            ..self
        }
    }

    /// Returns the bundles of a tenant; `None` if this server has no key of theirs.
    pub(crate) fn bundles(&self, tenant: &Tenant) -> Option<&TenantBundles> {
        self.bundles.get(tenant)
    }

    /// Returns the marks of every run on this server.
    ///
    /// No path exists here. A text cannot name one of the places except by its mark, because nobody knows their root.
    pub(crate) fn marks(&self) -> record::Marks {
        let place = |name: &str| format!("{}/{name}", self.places);
        record::Marks::new(&place("run"), &place("project"), &place("home"))
    }

    /// Returns what a durable run begins with here: its places, as marks.
    pub(crate) fn durable_run(&self) -> DurableRun {
        let mut durable = DurableRun::default();
        // As on one machine, its programs start in `files` of its working folder.
        durable.places.run_dir = format!("{}/run/files", self.places);
        durable.places.project = format!("{}/project", self.places);
        durable.places.home = format!("{}/home", self.places);
        durable
    }

    /// Returns the folders of runs on this machine.
    pub(crate) fn folder(&self, tenant: &Tenant, run: &RunId) -> PathBuf {
        self.folders.join(tenant.as_str()).join(run.as_str())
    }

    /// Opens a run of a tenant.
    pub(crate) fn open(&self, tenant: &Tenant, run: &RunId) -> Result<SharedRun, Problem> {
        record::check_run_id(run)?;
        let database = self.database.for_tenant(tenant.clone());
        let head = database.head(run)?.ok_or_else(Problem::no_run)?;
        let path = self.folder(tenant, run);
        let folder = RunFolder::new(path.join("run"), path.join("work"), head.durability);
        Ok(SharedRun::new(database, run, &head, folder, self.marks()))
    }

    /// Returns the holder of a token.
    pub(crate) fn holder(&self, bearer: &Bearer) -> Result<Option<Identity>, Problem> {
        let key = *bearer.hash().as_bytes();
        let now = Instant::now();
        {
            let mut holders = lock(&self.holders);
            holders.retain(|_, (at, _)| now.duration_since(*at) < TOKEN_AGE_MAX);
            if let Some((_, identity)) = holders.get(&key) {
                return Ok(Some(identity.clone()));
            }
        }
        let found = self.database.holder_of(bearer)?;
        // The run of a token that is for one run is set when it starts one.
        if let Some(identity) = found.as_ref().filter(|found| found.one_run.is_none()) {
            let mut holders = lock(&self.holders);
            if holders.len() < TOKENS_MAX {
                holders.insert(key, (now, identity.clone()));
            }
        }
        Ok(found)
    }

    /// Returns whether the database can be used, as it was at most a second ago.
    pub(crate) fn ready(&self) -> Result<(), Problem> {
        let mut ready = lock(&self.ready);
        if let Some((at, known)) = &*ready
            && at.elapsed() < READY_AGE_MAX
        {
            return known.clone();
        }
        let found = self.database.readiness().map_err(Problem::from);
        *ready = Some((Instant::now(), found.clone()));
        found
    }

    /// Returns the queue of a run.
    pub(crate) fn queue(&self, tenant: &Tenant, run: &RunId) -> Result<Arc<RunQueue>, Problem> {
        let mut runs = lock(&self.runs);
        let key = (tenant.clone(), run.clone());
        if let Some(queue) = runs.get(&key) {
            return Ok(Arc::clone(queue));
        }
        if runs.len() >= RUNS_MAX {
            // Runs that nobody uses now are loaded again when they are needed.
            runs.retain(|_, queue| Arc::strong_count(queue) > 1);
        }
        if runs.len() >= RUNS_MAX {
            return Err(Problem::busy("too many runs are in use at once"));
        }
        let queue = Arc::new(RunQueue::default());
        runs.insert(key, Arc::clone(&queue));
        Ok(queue)
    }

    /// Has a command decided, after those that came before it.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        tenant: &Tenant,
        run: &RunId,
        command: Submitted,
    ) -> Outcome {
        let queue = self.queue(tenant, run)?;
        let (answer, answered) = oneshot::channel();
        let begins = {
            let mut waiting = lock(&queue.waiting);
            if waiting.jobs.len() >= WAITING_MAX {
                return Err(Problem::busy("too many commands wait for this run"));
            }
            waiting.jobs.push_back((command, answer));
            !std::mem::replace(&mut waiting.is_served, true)
        };
        if begins {
            let (state, queue) = (Arc::clone(self), Arc::clone(&queue));
            let (tenant, run) = (tenant.clone(), run.clone());
            tokio::task::spawn_blocking(move || state.serve(&queue, &tenant, &run));
        }
        answered.await.unwrap_or_else(|_| Err(Problem::internal()))
    }

    /// Decides the commands that wait, until there are none.
    fn serve(&self, queue: &RunQueue, tenant: &Tenant, run: &RunId) {
        let _serving = Serving(queue);
        loop {
            let (batch, answers): (Vec<_>, Vec<_>) = {
                let mut waiting = lock(&queue.waiting);
                let count = waiting.jobs.len().min(BATCH_MAX);
                if count == 0 {
                    // In the same lock as the look, so that no command is left waiting.
                    waiting.is_served = false;
                    return;
                }
                waiting.jobs.drain(..count).unzip()
            };
            let outcomes = self.decide(queue, (tenant, run), &batch);
            queue.appended.notify_waiters();
            for (answer, outcome) in answers.into_iter().zip(outcomes) {
                // Whoever has gone away gets the same answer for the same key.
                let _ = answer.send(outcome);
            }
        }
    }

    fn decide(
        &self,
        queue: &RunQueue,
        (tenant, run): (&Tenant, &RunId),
        batch: &[Submitted],
    ) -> Vec<Outcome> {
        // Taken out: what fails half way is loaded again.
        let live = lock(&queue.live).take();
        let decided = match live {
            Some(live) => Ok(live),
            None => self.open(tenant, run).and_then(Live::load),
        }
        .and_then(|mut live| {
            let outcomes = live.decide(batch)?;
            Ok((live, outcomes))
        });
        match decided {
            Ok((live, outcomes)) => {
                *lock(&queue.live) = Some(live);
                outcomes
            }
            Err(problem) => batch.iter().map(|_| Err(problem.clone())).collect(),
        }
    }
}

/// Lets another thread serve a queue, also after a panic.
struct Serving<'a>(&'a RunQueue);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut waiting = lock(&self.0.waiting);
            waiting.is_served = false;
            // Their senders are dropped, which answers them.
            waiting.jobs.clear();
        }
    }
}

/// Returns the digest of a request.
pub(crate) fn digest(identity: &Identity, route: &str, run: &str, body: &[u8]) -> ChainHash {
    ChainHash::of_parts(&[
        b"interlock request",
        route.as_bytes(),
        run.as_bytes(),
        identity.role.as_str().as_bytes(),
        identity.subject.as_bytes(),
        body,
    ])
}
