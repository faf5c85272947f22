//! A worker: how it begins and ends.

use std::{io, sync::Arc, thread, time::Duration};

use interlock_shared::{Database, SharedRuns};
use interlock_store::random_word;
use restate_sdk::{endpoint::Endpoint, hyper::HyperEndpoint};
use tokio::{
    net::TcpListener,
    sync::{Notify, watch},
};

use crate::{
    error::WorkerError,
    lease::Leases,
    listen,
    note::Note,
    object::RunObject,
    outbox,
    restate::{Restate, register},
    settings::{WORKSPACE_MAX, WorkerSettings},
    shared::Shared,
};

/// How long the programs of all runs have to end when the worker is stopped.
const END_TIME: Duration = Duration::from_secs(15);
/// Maximum number of threads that wait for the database.
const THREADS_MAX: usize = 64;

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
        workspace_limit: settings.workspace_limit.min(WORKSPACE_MAX),
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
