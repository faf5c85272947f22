//! Clients that work in a run together, and record what they call and are answered.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Barrier, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    carriers::Carriers,
    history::History,
    player::{ANSWERED_WITHIN, PATIENCE, Player, REST, is_accepted, of},
    spec::{Effects, What},
};
use crate::{
    dice::Dice,
    http::Client,
    site::{GUARDED, Site, start_body},
};

/// Clients of one run.
pub(super) const CLIENTS: usize = 4;
/// Calls of each of them before the end is asked for.
const CALLS: usize = 25;

/// What all clients share.
pub(super) struct Shared<'a> {
    pub(super) site: &'a Site,
    pub(super) servers: &'a [RwLock<SocketAddr>],
    /// A server that is only read.
    pub(super) reader: Option<SocketAddr>,
    /// Whether the epoch of a carrier is sent.
    pub(super) sends_epoch: bool,
    pub(super) tokens: Tokens,
    pub(super) keys: AtomicU64,
    pub(super) answered: AtomicU64,
    pub(super) slowest: Mutex<Duration>,
}

/// The tokens of a person who starts runs, of agents, and of people who approve.
pub(super) struct Tokens {
    pub(super) ana: String,
    pub(super) agents: Vec<String>,
    pub(super) people: Vec<String>,
}

impl Tokens {
    pub(super) fn new(site: &Site) -> Self {
        let of = |role: &str, name: &str| -> Vec<String> {
            let token = |at| site.token(role, &format!("{name}{at}"));
            (0..CLIENTS).map(token).collect()
        };
        Self {
            ana: site.token("person", "ana"),
            agents: of("agent", "agent"),
            people: of("person", "person"),
        }
    }
}

/// A run with its history.
pub(super) struct Played {
    pub(super) run: String,
    pub(super) history: History,
    /// What is wrong without a search for an order.
    pub(super) failures: Vec<String>,
}

/// Has clients work in one run until a person has approved its end; `None` if the trial ended meanwhile.
pub(super) fn play(
    shared: &Shared<'_>,
    carriers: &Carriers,
    seed: u64,
    is_over: &AtomicBool,
) -> Option<Played> {
    let run = start(shared, seed, is_over)?;
    let history = History::default();
    let barrier = Barrier::new(CLIENTS);
    let asked: Arc<Mutex<Option<(Value, Value)>>> = Arc::default();
    let (approvals, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for at in 0..CLIENTS {
            let (run, history, barrier, asked) = (&run, &history, &barrier, &asked);
            let (approvals, failures) = (&approvals, &failures);
            scope.spawn(move || {
                let mut player = Player::new(shared, (run, history), (at, seed));
                let mut held = None;
                for _ in 0..CALLS {
                    player.random(carriers, &mut held);
                }
                barrier.wait();
                if at == 0 {
                    let decided = player.append(What::AskForEnd, None, None);
                    *asked.lock().unwrap() =
                        Some((decided["request"].clone(), decided["seq"].clone()));
                }
                barrier.wait();
                let request = asked.lock().unwrap().clone();
                if at == 0 {
                    player.append(What::Propose, None, None);
                } else {
                    let decided = player.append(What::Approve, None, request);
                    if decided["verdict"] == "accepted" {
                        approvals.fetch_add(1, Ordering::SeqCst);
                    }
                }
                player.read(0);
                failures.lock().unwrap().append(&mut player.failures);
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    let approvals = approvals.into_inner();
    if approvals != 1 {
        failures.push(format!("run {run} was approved {approvals} times"));
    }
    Some(Played {
        run,
        history,
        failures,
    })
}

/// Plays each command once, one after the other, and returns what each does.
pub(super) fn effects(shared: &Shared<'_>) -> Effects {
    let run = start(shared, 0, &AtomicBool::new(false)).unwrap();
    let history = History::default();
    let mut player = Player::new(shared, (&run, &history), (0, 0));
    let started = player.read(0).len();
    let mut play = |what, request| {
        let decided = player.append(what, None, request);
        let events = of(&decided["seq"]) - of(&decided["from"]);
        ((events, is_accepted(&decided)), decided)
    };
    let (proposed, _) = play(What::Propose, None);
    let (asked, decided) = play(What::AskForEnd, None);
    let request = Some((decided["request"].clone(), decided["seq"].clone()));
    let (proposed_while_waiting, _) = play(What::Propose, None);
    let (approved, _) = play(What::Approve, request.clone());
    let (proposed_after_end, _) = play(What::Propose, None);
    let (approved_late, _) = play(What::Approve, request);
    let promised = (
        proposed.1,
        proposed_while_waiting.1,
        approved.1,
        approved_late.1,
    );
    assert_eq!(
        promised,
        (true, false, true, false),
        "the verdicts of a run"
    );
    Effects {
        started,
        proposed,
        proposed_while_waiting,
        proposed_after_end,
        asked,
        approved,
        approved_late,
    }
}

fn start(shared: &Shared<'_>, seed: u64, is_over: &AtomicBool) -> Option<String> {
    let mut dice = Dice::of("start", seed);
    let number = shared.keys.fetch_add(1, Ordering::SeqCst);
    let key = format!("start-{number}");
    let begun = Instant::now();
    while !is_over.load(Ordering::SeqCst) {
        let mut client = Client::new(shared.address(&mut dice), PATIENCE);
        let posted = client.post(
            "/v1/runs",
            (&shared.tokens.ana, &key),
            &start_body("trial.yaml", GUARDED),
        );
        if let Some(answer) = posted.ok().filter(|answer| answer.status == 200) {
            return Some(answer.json()["run"].as_str().unwrap().to_owned());
        }
        assert!(begun.elapsed() < ANSWERED_WITHIN, "no run is started");
        thread::sleep(REST);
    }
    None
}

impl Shared<'_> {
    /// Returns the address of a random server.
    pub(super) fn address(&self, dice: &mut Dice) -> SocketAddr {
        let server = &self.servers[dice.below(self.servers.len())];
        *server.read().unwrap()
    }
}

impl Shared<'_> {
    /// Notes an answer, and how long it took.
    pub(super) fn note(&self, took: Duration) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let mut slowest = self.slowest.lock().unwrap();
        *slowest = slowest.max(took);
    }
}
