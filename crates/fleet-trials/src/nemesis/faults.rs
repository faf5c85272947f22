//! The plan of faults, and how each is made and ended.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Write as _,
    net::SocketAddr,
    sync::{
        Mutex, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{Settings, link::Link, mutant::Mutant};
use crate::{
    dice::Dice,
    http::Client,
    restate::Restate,
    site::{GUARDED, Served, Site, new_name, proposal},
    worker::{Crew, Worker},
};

/// The lease of workers, the shortest that they take.
pub(super) const LEASE_SECONDS: u64 = 3;
/// How long everything may take to work again after a fault. Then something does not recover.
const RECOVERED_WITHIN: Duration = Duration::from_secs(90);
/// How long a server has to answer after a fault before it is asked again.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    KilledServer,
    KilledWorker,
    KilledRestate,
    /// For longer than a client waits.
    StoppedServer,
    /// For longer than its lease.
    StoppedWorker,
    SlowLink,
    /// Nothing reaches the database.
    CutToDatabase,
    /// No answer of the database arrives.
    CutFromDatabase,
    CutLink,
    ResetLink,
    KilledDatabase,
    KilledDatabaseInTakeover,
    FullDisk,
}

const ALL: &[Fault] = &[
    Fault::KilledServer,
    Fault::KilledWorker,
    Fault::KilledRestate,
    Fault::StoppedServer,
    Fault::StoppedWorker,
    Fault::SlowLink,
    Fault::CutToDatabase,
    Fault::CutFromDatabase,
    Fault::CutLink,
    Fault::ResetLink,
    Fault::KilledDatabase,
    Fault::KilledDatabaseInTakeover,
];

impl Fault {
    /// Returns the faults of a trial.
    pub(super) fn of(settings: &Settings) -> Vec<Self> {
        let mut faults = match settings.mutant {
            None => ALL.to_vec(),
            Some(Mutant::NoCommandId) => {
                vec![Self::KilledServer, Self::CutFromDatabase, Self::ResetLink]
            }
            Some(Mutant::LateCommit) => vec![Self::KilledDatabase],
            Some(Mutant::NoEpoch | Mutant::StaleRead) => vec![Self::ResetLink],
        };
        if !settings.workers {
            faults.retain(|fault| !fault.needs_workers());
        }
        if settings.small_disk && settings.mutant.is_none() {
            faults.push(Self::FullDisk);
        }
        faults
    }

    const fn needs_workers(self) -> bool {
        matches!(
            self,
            Self::KilledWorker
                | Self::KilledRestate
                | Self::StoppedWorker
                | Self::KilledDatabaseInTakeover
        )
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::KilledServer => "killed server",
            Self::KilledWorker => "killed worker",
            Self::KilledRestate => "killed Restate",
            Self::StoppedServer => "stopped server",
            Self::StoppedWorker => "stopped worker",
            Self::SlowLink => "slow link",
            Self::CutToDatabase => "link cut to the database",
            Self::CutFromDatabase => "link cut from the database",
            Self::CutLink => "link cut both ways",
            Self::ResetLink => "reset connections",
            Self::KilledDatabase => "killed database",
            Self::KilledDatabaseInTakeover => "killed database in a takeover",
            Self::FullDisk => "full disk",
        }
    }
}

/// The processes of a trial, each with its own link to the database.
pub(super) struct Parts<'a> {
    pub(super) site: &'a Site,
    pub(super) servers: Vec<Mutex<Served>>,
    pub(super) addresses: Vec<RwLock<SocketAddr>>,
    pub(super) links: Vec<Link>,
    pub(super) crew: Option<Crew<'a>>,
    pub(super) restate: Option<Mutex<Restate>>,
    pub(super) workers: Vec<Mutex<Worker>>,
    pub(super) worker_links: Vec<Link>,
    /// The link of clients that take runs over.
    pub(super) carriers: Link,
}

/// How often each fault was made, and the slowest recovery from it.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) faults: BTreeMap<Fault, (u64, Duration)>,
    /// Workers that have ended by themselves and were started again.
    pub(super) ended_workers: u64,
}

/// Makes one fault after the other until the trial is over.
pub(super) fn make(
    parts: &Parts<'_>,
    (faults, seed): (&[Fault], u64),
    (agent, ana): (&str, &str),
    is_over: &AtomicBool,
) -> Made {
    let mut dice = Dice::of("faults", seed);
    let mut made = Made::default();
    let run = parts.servers[0]
        .lock()
        .unwrap()
        .start_run(ana, ("trial.yaml", GUARDED));
    while !is_over.load(Ordering::SeqCst) {
        let Some(fault) = dice.pick(faults).copied() else {
            return made;
        };
        rest(
            Duration::from_millis(500 + dice.number_below(2_500)),
            is_over,
        );
        parts.make(fault, &mut dice);
        let healed = Instant::now();
        parts.until_recovered(&run, agent);
        let took = healed.elapsed();
        made.ended_workers += parts.supervise();
        let (count, slowest) = made.faults.entry(fault).or_default();
        *count += 1;
        *slowest = took.max(*slowest);
    }
    made
}

fn rest(time: Duration, is_over: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < time && !is_over.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(20));
    }
}

impl Parts<'_> {
    /// Makes a fault, and ends it.
    fn make(&self, fault: Fault, dice: &mut Dice) {
        let server = dice.below(self.servers.len());
        let worker = dice.below(self.workers.len());
        let lasting = Duration::from_millis(1_000 + dice.number_below(3_000));
        match fault {
            Fault::KilledServer => self.kill_server(server),
            Fault::KilledWorker => self.kill_worker(worker),
            Fault::KilledRestate => {
                if let Some(restate) = &self.restate {
                    let mut restate = restate.lock().unwrap();
                    restate.kill();
                    thread::sleep(lasting);
                    restate.start_again();
                }
            }
            Fault::StoppedServer => {
                let server = self.servers[server].lock().unwrap();
                server.process.signal("-STOP");
                thread::sleep(Duration::from_secs(3) + lasting);
                server.process.signal("-CONT");
            }
            Fault::StoppedWorker => self.stop_worker(worker),
            Fault::KilledDatabase => {
                self.site.kill_postgres();
                self.site.start_postgres();
            }
            Fault::KilledDatabaseInTakeover => {
                self.kill_worker(worker);
                // Its lease has about ended, and others take its runs.
                thread::sleep(Duration::from_secs(LEASE_SECONDS) + lasting / 4);
                self.site.kill_postgres();
                self.site.start_postgres();
            }
            Fault::FullDisk => self.fill_disk(lasting),
            Fault::SlowLink
            | Fault::CutToDatabase
            | Fault::CutFromDatabase
            | Fault::CutLink
            | Fault::ResetLink => {
                let all: Vec<&Link> = self
                    .links
                    .iter()
                    .chain(&self.worker_links)
                    .chain([&self.carriers])
                    .collect();
                let link = all[dice.below(all.len())];
                match fault {
                    Fault::SlowLink => {
                        link.delay(Duration::from_millis(20 + dice.number_below(300)))
                    }
                    Fault::CutToDatabase => link.cut(true, false),
                    Fault::CutFromDatabase => link.cut(false, true),
                    Fault::CutLink => link.cut(true, true),
                    _ => {
                        link.reset();
                        return;
                    }
                }
                thread::sleep(lasting);
                link.heal();
            }
        }
    }

    fn kill_server(&self, at: usize) {
        let mut server = self.servers[at].lock().unwrap();
        server.process.kill();
        *server = self.site.server(&self.site.words_at(self.links[at].port));
        *self.addresses[at].write().unwrap() = server.address;
    }

    fn kill_worker(&self, at: usize) {
        let Some(crew) = &self.crew else { return };
        let mut worker = self.workers[at].lock().unwrap();
        worker.process.kill();
        crew.proxy.remove(worker.port);
        *worker = crew.starting(&self.site.words_at(self.worker_links[at].port));
    }

    /// Stops a worker until another has taken its runs; then it goes on for a moment, and another is started for it.
    fn stop_worker(&self, at: usize) {
        let Some(crew) = &self.crew else { return };
        {
            let worker = self.workers[at].lock().unwrap();
            worker.process.signal("-STOP");
            crew.proxy.remove(worker.port);
            thread::sleep(Duration::from_secs(LEASE_SECONDS + 3));
            worker.process.signal("-CONT");
            thread::sleep(Duration::from_secs(1));
        }
        self.kill_worker(at);
    }

    /// Leaves no room on the disk of the database for a while.
    fn fill_disk(&self, time: Duration) {
        let path = self.site.place().join("filler");
        let begun = Instant::now();
        let mut filler = File::create(&path).unwrap();
        let bytes = vec![1_u8; 1 << 20];
        // What the database frees is taken as well.
        while begun.elapsed() < time {
            if filler.write_all(&bytes).is_err() {
                thread::sleep(Duration::from_millis(20));
            }
        }
        drop(filler);
        std::fs::remove_file(&path).unwrap();
        self.site.start_postgres();
    }

    /// Starts workers again that have ended by themselves; returns how many.
    fn supervise(&self) -> u64 {
        let Some(crew) = &self.crew else { return 0 };
        let mut count = 0;
        for (worker, link) in self.workers.iter().zip(&self.worker_links) {
            let mut worker = worker.lock().unwrap();
            if worker.process.has_ended() {
                crew.proxy.remove(worker.port);
                *worker = crew.starting(&self.site.words_at(link.port));
                count += 1;
            }
        }
        count
    }

    /// Waits until every server has recorded a command.
    fn until_recovered(&self, run: &str, agent: &str) {
        let begun = Instant::now();
        for address in &self.addresses {
            let id = new_name("probe");
            let path = format!("/v1/runs/{run}/commands");
            loop {
                let mut client = Client::new(*address.read().unwrap(), PROBE_PATIENCE);
                let answer = client.post(&path, (agent, &id), &proposal(&id, None));
                if answer.is_ok_and(|answer| answer.status == 200) {
                    break;
                }
                assert!(
                    begun.elapsed() < RECOVERED_WITHIN,
                    "a server does not recover"
                );
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
