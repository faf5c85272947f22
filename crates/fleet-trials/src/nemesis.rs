//! The log of a fleet under faults: clients work in runs while processes are killed, stopped and cut off.
//!
//! What every client calls and is answered is compared with a sequential specification of the log, run by run.

mod carriers;
mod clients;
mod faults;
mod history;
mod link;
mod mutant;
mod player;
mod report;
mod spec;
mod standby;
mod steps;

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    sync::{
        Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use self::{
    carriers::Carriers,
    clients::{Played, Shared, Tokens, effects, play},
    faults::{Fault, LEASE_SECONDS, Made, Parts, make},
    history::Checked,
    link::Link,
    player::key_of,
    spec::{Effects, Key},
    standby::Standby,
    steps::Steps,
};
pub use self::{mutant::Mutant, report::Report};
use crate::{
    http::Client,
    programs::Programs,
    proxy::Proxy,
    restate::Restate,
    site::{PATIENCE, Site},
    worker::Crew,
};

const SERVERS: usize = 3;
const WORKERS: usize = 4;
/// Runs in which clients work at the same time.
const GROUPS: usize = 4;
/// Durable runs at the same time.
const DURABLE: usize = 4;

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long the faults go on.
    pub time: Duration,
    /// The seed of the plan of faults and of the clients' calls.
    pub seed: u64,
    /// What is broken on purpose.
    pub mutant: Option<Mutant>,
    /// Whether durable runs are carried by workers meanwhile.
    pub workers: bool,
    /// Whether the database gets a small file system of its own, to be filled. Only root can make one.
    pub small_disk: bool,
}

/// Returns a seed that another trial does not have.
#[must_use]
pub fn seed_of_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |now| now.as_secs())
}

/// Where each command stands that was answered, and how many events it has.
type Acknowledged = BTreeMap<Key, (usize, usize)>;

/// The runs that clients have worked in, with what was acknowledged in each.
#[derive(Debug, Default)]
struct Ledger {
    runs: Mutex<Vec<(String, Acknowledged)>>,
    counts: Mutex<(usize, usize)>,
    unexplained: AtomicU64,
    undecided: AtomicU64,
    failures: Mutex<Vec<String>>,
}

/// Tries the log under faults.
///
/// # Panics
/// Something does not start, or does not recover.
#[must_use]
pub fn run(programs: &Programs, settings: &Settings) -> Report {
    let more = settings.mutant.map_or(&[][..], Mutant::settings);
    let site = Site::start_on(programs, more, settings.small_disk);
    if let Some(mutant) = settings.mutant {
        mutant.mutate(&site);
    }
    let standby = (settings.mutant == Some(Mutant::StaleRead)).then(|| Standby::start(&site));
    let project = site.folder("project");
    let proxy = Proxy::start();
    let parts = parts(&site, (&proxy, &project), settings);
    let shared = Shared {
        site: &site,
        servers: &parts.addresses,
        reader: standby.as_ref().map(Standby::address),
        sends_epoch: settings.mutant != Some(Mutant::NoEpoch),
        tokens: Tokens::new(&site),
        keys: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        slowest: Mutex::default(),
    };
    let carriers = Carriers::new(&site.words_at(parts.carriers.port));
    let (ledger, steps) = (Ledger::default(), Steps::default());
    let begun = Instant::now();
    let made = under_faults(&parts, (&shared, &carriers), (&ledger, &steps), settings);
    let took = begun.elapsed();
    let is_wrong = !ledger.failures.lock().unwrap().is_empty();
    // A log that is known to be wrong is not read again.
    if !is_wrong {
        ledger.check_all(&shared);
        steps.check(&shared, &project);
        for (run, _) in steps.runs.lock().unwrap().iter() {
            ledger.verify(&site, run);
        }
    }
    report(settings, took, (&shared, made), (&ledger, &steps))
}

/// Starts servers, workers and Restate.
fn parts<'a>(
    site: &'a Site,
    (proxy, project): (&'a Proxy, &'a Path),
    settings: &Settings,
) -> Parts<'a> {
    let link = || Link::before(site.place());
    let links: Vec<Link> = (0..SERVERS).map(|_| link()).collect();
    let server = |link: &Link| site.server(&site.words_at(link.port));
    let servers: Vec<_> = links.iter().map(server).collect();
    let addresses = servers
        .iter()
        .map(|server| RwLock::new(server.address))
        .collect();
    // What is broken on purpose concerns the log alone.
    let restate = if settings.workers && settings.mutant.is_none() {
        Restate::start()
    } else {
        None
    };
    let crew = restate.as_ref().map(|restate| Crew {
        lease: LEASE_SECONDS,
        ..Crew::new(site, restate, proxy, project)
    });
    let worker_links: Vec<Link> = crew
        .iter()
        .flat_map(|_| (0..WORKERS).map(|_| link()))
        .collect();
    let worker =
        |(crew, link): (&Crew<'_>, &Link)| Mutex::new(crew.worker(&site.words_at(link.port)));
    let workers = crew
        .iter()
        .flat_map(|crew| worker_links.iter().map(move |link| (crew, link)));
    Parts {
        site,
        workers: workers.map(worker).collect(),
        servers: servers.into_iter().map(Mutex::new).collect(),
        addresses,
        links,
        crew,
        restate: restate.map(Mutex::new),
        worker_links,
        carriers: link(),
    }
}

fn under_faults(
    parts: &Parts<'_>,
    (shared, carriers): (&Shared<'_>, &Carriers),
    (ledger, steps): (&Ledger, &Steps),
    settings: &Settings,
) -> Made {
    let effects = effects(shared);
    let is_over = AtomicBool::new(false);
    let faults = Fault::of(settings);
    thread::scope(|scope| {
        let (is_over, ana) = (&is_over, &shared.tokens.ana);
        for group in 0..GROUPS {
            scope.spawn(move || {
                let mut number = 0;
                while !is_over.load(Ordering::SeqCst) {
                    let seed = settings.seed.wrapping_mul(1_000_003)
                        + number * GROUPS as u64
                        + group as u64;
                    if let Some(played) = play(shared, carriers, seed, is_over) {
                        ledger.enter(played, (effects, settings.seed));
                    }
                    number += 1;
                }
            });
        }
        if parts.crew.is_some() {
            for at in 0..DURABLE {
                scope.spawn(move || steps.play(shared, settings.seed + at as u64, is_over));
            }
        }
        let making = scope.spawn(|| {
            make(
                parts,
                (&faults, settings.seed),
                (&shared.tokens.agents[0], ana),
                is_over,
            )
        });
        let begun = Instant::now();
        let mut is_wrong = false;
        while begun.elapsed() < settings.time && !is_wrong && !making.is_finished() {
            thread::sleep(Duration::from_millis(50));
            is_wrong = !ledger.failures.lock().unwrap().is_empty();
        }
        is_over.store(true, Ordering::SeqCst);
        making.join().unwrap()
    })
}

impl Ledger {
    fn fail(&self, what: String) {
        self.failures.lock().unwrap().push(what);
    }

    /// Checks the history of a run, and keeps what was acknowledged.
    fn enter(&self, played: Played, (effects, seed): (Effects, u64)) {
        let checked = played.history.check(effects);
        let run = &played.run;
        match checked {
            Checked::Explained => {}
            Checked::GivenUp => {
                self.undecided.fetch_add(1, Ordering::Relaxed);
            }
            Checked::Impossible => {
                self.unexplained.fetch_add(1, Ordering::Relaxed);
                let path = env::temp_dir().join(format!("interlock-nemesis-{seed}-{run}.txt"));
                let _ = fs::write(&path, played.history.text());
                self.fail(format!(
                    "run {run}: no order of the calls explains the answers; the history is in {}",
                    path.display()
                ));
            }
        }
        self.failures.lock().unwrap().extend(played.failures);
        let (calls, unanswered) = played.history.counts();
        let mut counts = self.counts.lock().unwrap();
        counts.0 += calls;
        counts.1 += unanswered;
        drop(counts);
        self.runs
            .lock()
            .unwrap()
            .push((played.run, played.history.acknowledged()));
    }

    /// Reads every run again: its hashes fit, and each acknowledged command stands where its answer said, once.
    fn check_all(&self, shared: &Shared<'_>) {
        let address = *shared.servers[0].read().unwrap();
        let mut client = Client::new(address, PATIENCE);
        for (run, acknowledged) in self.runs.lock().unwrap().iter() {
            self.verify(shared.site, run);
            let path = format!("/v1/runs/{run}/events?from=0");
            let page = client.get(&path, &shared.tokens.ana).unwrap().json();
            let events = page["events"].as_array().cloned().unwrap_or_default();
            let keys: Vec<Key> = events
                .iter()
                .map(|line| key_of(&line.to_string()))
                .collect();
            for (key, (from, count)) in acknowledged {
                let found = keys.iter().filter(|of| *of == key).count();
                let place = keys.get(*from).copied();
                // What was asked and answered by people names no command.
                let is_there = *count == 0 || place.is_some_and(|of| of == *key || of == 0);
                if found > *count || !is_there {
                    self.fail(format!(
                        "run {run}: command {key} stands {found} times, and not at {from}"
                    ));
                }
            }
        }
    }

    fn verify(&self, site: &Site, run: &str) {
        if let Err(wrong) = site.verified(run) {
            self.fail(wrong);
        }
    }
}

fn report(
    settings: &Settings,
    took: Duration,
    (shared, made): (&Shared<'_>, Made),
    (ledger, steps): (&Ledger, &Steps),
) -> Report {
    let (calls, unanswered) = *ledger.counts.lock().unwrap();
    let mut failures = ledger.failures.lock().unwrap().clone();
    failures.append(&mut steps.failures.lock().unwrap());
    let faults = made.faults.into_iter();
    Report {
        seed: settings.seed,
        took,
        answered: shared.answered.load(Ordering::Relaxed),
        calls,
        unanswered,
        runs: ledger.runs.lock().unwrap().len(),
        durable_runs: steps.runs.lock().unwrap().len(),
        repeated_steps: steps.repeated.load(Ordering::Relaxed),
        faults: faults
            .map(|(fault, (count, slowest))| (fault.name(), count, slowest))
            .collect(),
        ended_workers: made.ended_workers,
        slowest_answer: *shared.slowest.lock().unwrap(),
        slowest_durable_run: *steps.slowest.lock().unwrap(),
        unexplained: usize::try_from(ledger.unexplained.load(Ordering::Relaxed))
            .unwrap_or(usize::MAX),
        undecided: usize::try_from(ledger.undecided.load(Ordering::Relaxed)).unwrap_or(usize::MAX),
        failures,
    }
}

/// Returns whether PostgreSQL and Restate are installed here.
#[must_use]
pub fn can_start() -> bool {
    let room = tempfile::TempDir::new().unwrap();
    crate::site::open_to_all(room.path());
    let is_there = crate::cluster::made_cluster(&room.path().join("postgres")).is_some();
    is_there && Restate::start().is_some()
}
