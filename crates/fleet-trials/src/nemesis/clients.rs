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

use serde_json::{Value, json};

use super::{
    carriers::{Carriers, Taken},
    history::History,
    spec::{Effects, Key, Op, Ret, What},
};
use crate::{
    dice::Dice,
    http::{Answer, Client},
    site::{GUARDED, Site, proposal, start_body},
};

/// Clients of one run.
pub(super) const CLIENTS: usize = 4;
/// Calls of each of them before the end is asked for.
const CALLS: usize = 25;
/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a client tries to have one command answered. Then something does not recover.
const ANSWERED_WITHIN: Duration = Duration::from_secs(120);
/// Delay before a call is repeated.
const REST: Duration = Duration::from_millis(100);
/// Keys of commands are this word and a number.
const WORD: &str = "call-";

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

/// A client of a run.
struct Player<'a> {
    shared: &'a Shared<'a>,
    run: &'a str,
    history: &'a History,
    at: usize,
    dice: Dice,
    client: Option<Client>,
    failures: Vec<String>,
}

impl<'a> Player<'a> {
    fn new(
        shared: &'a Shared<'a>,
        (run, history): (&'a str, &'a History),
        (at, seed): (usize, u64),
    ) -> Self {
        Self {
            shared,
            run,
            history,
            at,
            dice: Dice::of(&format!("client {at}"), seed),
            client: None,
            failures: Vec::new(),
        }
    }

    /// Makes a random call. A carrier goes on under the epoch that it was given, also after it has lost the run.
    fn random(&mut self, carriers: &Carriers, held: &mut Option<u64>) {
        match self.dice.below(20) {
            0 => *held = self.take(carriers).or(*held),
            1..=4 => {
                let from = self.dice.below(3) * 20;
                self.read(from);
            }
            5..=9 if held.is_some() => {
                self.append(What::Propose, *held, None);
            }
            _ => {
                self.append(What::Propose, None, None);
            }
        }
    }

    /// Sends a command until it is answered, each time with the same key.
    fn append(&mut self, what: What, epoch: Option<u64>, request: Option<(Value, Value)>) -> Value {
        let key: Key = self.shared.keys.fetch_add(1, Ordering::SeqCst) + 1;
        let id = format!("{WORD}{key}-");
        let sent = epoch.filter(|_| self.shared.sends_epoch);
        let (path, token, body) = match what {
            What::Propose => ("commands", &self.shared.tokens.agents, proposal(&id, sent)),
            What::AskForEnd => {
                let body = json!({ "command": { "transition": { "event": "DONE" } } });
                ("commands", &self.shared.tokens.agents, body.to_string())
            }
            What::Approve => {
                let (request, seen) = request.unwrap_or_default();
                let body = json!({ "request": request, "yes": true, "seen": seen });
                ("answers", &self.shared.tokens.people, body.to_string())
            }
        };
        let token = &token[self.at];
        let path = format!("/v1/runs/{}/{path}", self.run);
        let op = Op::Append {
            key,
            what,
            epoch,
            placed: None,
        };
        self.until_answered(
            &op,
            |client| client.post(&path, (token, &id), &body),
            |answer| {
                let decided = answer.json();
                match answer.status {
                    200 => Some(Ret::Recorded {
                        from: of(&decided["from"]),
                        events: of(&decided["seq"]) - of(&decided["from"]),
                        accepted: matches!(
                            decided["verdict"].as_str(),
                            Some("accepted" | "pending")
                        ),
                        repeated: answer.repeated,
                    }),
                    409 if answer.code() == "stale_epoch" => Some(Ret::Stale),
                    _ => None,
                }
            },
        )
        .0
    }

    fn read(&mut self, from: usize) -> Vec<Key> {
        let path = format!("/v1/runs/{}/events?from={from}", self.run);
        let token = &self.shared.tokens.agents[self.at];
        let reader = self.shared.reader.filter(|_| self.dice.one_in(2));
        if let Some(reader) = reader {
            self.client = Some(Client::new(reader, PATIENCE));
        }
        let (_, ret) = self.until_answered(
            &Op::Read { from },
            |client| client.get(&path, token),
            |answer| {
                let page = answer.json();
                let events = page["events"].as_array()?;
                Some(Ret::Keys(
                    events
                        .iter()
                        .map(|line| key_of(&line.to_string()))
                        .collect(),
                ))
            },
        );
        if reader.is_some() {
            self.client = None;
        }
        match ret {
            Ret::Keys(keys) => keys,
            _ => Vec::new(),
        }
    }

    /// Repeats a call until it is answered; one without an answer stays open, and may have been executed.
    fn until_answered(
        &mut self,
        op: &Op,
        mut call: impl FnMut(&mut Client) -> std::io::Result<Answer>,
        ret: impl Fn(&Answer) -> Option<Ret>,
    ) -> (Value, Ret) {
        let begun = Instant::now();
        loop {
            let mut client = match self.client.take() {
                // Mostly the same server.
                Some(client) if !self.dice.one_in(8) => client,
                _ => Client::new(self.shared.address(&mut self.dice), PATIENCE),
            };
            let number = self.history.called(self.at, op.clone());
            let answer = call(&mut client);
            match answer {
                Ok(answer) => {
                    if let Some(ret) = ret(&answer) {
                        self.history.answered(self.at, number, ret.clone());
                        self.client = Some(client);
                        self.shared.note(begun.elapsed());
                        return (answer.json(), ret);
                    }
                    if has_done_nothing(&answer) {
                        self.history.did_nothing(self.at, number);
                    }
                    // A standby may not have the run yet; what it says of runs that it has is checked.
                    let is_too_early = answer.status == 404 && self.shared.reader.is_some();
                    if is_too_early {
                        self.history.did_nothing(self.at, number);
                    } else if matches!(answer.status, 400 | 403 | 404 | 409 | 422) {
                        // Nothing that is sent again gets another answer.
                        self.failures
                            .push(format!("run {}: {op:?}: {}", self.run, answer.json()));
                        return (Value::Null, Ret::Stale);
                    }
                }
                // Nobody listens, so nothing was sent.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    self.history.did_nothing(self.at, number);
                }
                Err(_) => {}
            }
            assert!(
                begun.elapsed() < ANSWERED_WITHIN,
                "run {}: no answer to {op:?}",
                self.run
            );
            thread::sleep(REST);
        }
    }

    /// Takes the run over.
    fn take(&self, carriers: &Carriers) -> Option<u64> {
        let number = self.history.called(self.at, Op::Take);
        match carriers.take(self.run) {
            Taken::Epoch(epoch) => {
                self.history.answered(self.at, number, Ret::Epoch(epoch));
                Some(epoch)
            }
            Taken::Nothing => {
                self.history.did_nothing(self.at, number);
                None
            }
            Taken::Unknown => None,
        }
    }
}

impl Shared<'_> {
    fn note(&self, took: Duration) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let mut slowest = self.slowest.lock().unwrap();
        *slowest = slowest.max(took);
    }
}

/// Returns whether a command was accepted, or waits for a person.
fn is_accepted(decided: &Value) -> bool {
    matches!(decided["verdict"].as_str(), Some("accepted" | "pending"))
}

/// Returns whether the server says that nothing was recorded. It is held to that.
fn has_done_nothing(answer: &Answer) -> bool {
    matches!(
        &*answer.code(),
        "database_away" | "database_read_only" | "database_full" | "unauthorized"
    )
}

/// Returns the key that stands in an event; 0 if none does.
pub(super) fn key_of(event: &str) -> Key {
    let after = event.split_once(WORD).map(|(_, after)| after);
    let digits = after.and_then(|after| after.split('-').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn of(number: &Value) -> usize {
    let number = number.as_u64().unwrap_or_default();
    usize::try_from(number).unwrap_or(usize::MAX)
}
