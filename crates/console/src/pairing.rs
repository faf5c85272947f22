//! Pairs pages with the console: a page shows a number, and the person confirms it at the terminal.
//!
//! The page keeps 32 random bytes and sends their hash. The number is derived from that hash and from bytes that are
//! chosen after it, so that nobody can search for a hash that gives another page's number. Only a client that knows the
//! bytes gets the bearer, and only once. Bearers are kept in memory: they end with the process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use interlock_store::ClientProcess;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};

use crate::reply::Problem;

/// Time for which a page may wait to be admitted.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(120);
/// Time after its last request when a waiting page counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(5);
/// Time after which an unused bearer expires.
const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// Time for a console's last response to reach its page.
const LAST_ANSWER: Duration = Duration::from_secs(1);
/// Maximum number of waiting pages.
const WAITING_MAX: usize = 4;
/// Maximum number of requests queued for the terminal.
const QUEUE_MAX: usize = 64;
/// Maximum number of paired pages; the least recently used one is dropped.
const BEARERS_MAX: usize = 16;

type Hash = [u8; 32];

/// A page's request to be admitted.
#[derive(Debug)]
pub struct PairingRequest {
    /// The number that the page shows.
    pub number: String,
    answer: oneshot::Sender<bool>,
    seen: Arc<Mutex<Instant>>,
}

impl PairingRequest {
    /// Returns whether the page still waits.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.answer.is_closed() && is_asking(&self.seen)
    }

    /// Admits or refuses the page; returns `false` if it no longer waits.
    pub fn answer(self, yes: bool) -> bool {
        let waits = self.is_waiting();
        self.answer.send(yes && waits).is_ok() && waits
    }
}

/// Returns whether a page has sent a request recently.
fn is_asking(seen: &Mutex<Instant>) -> bool {
    lock(seen).elapsed() < GONE_AFTER
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The waiting pages and the paired ones.
#[derive(Debug)]
pub(crate) struct Pairings {
    /// `None` if no more pages are admitted.
    queue: Mutex<Option<mpsc::Sender<PairingRequest>>>,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    waiting: BTreeMap<String, Waiting>,
    /// The paired pages, by the hashes of their bearers.
    bearers: BTreeMap<Hash, Bearer>,
}

/// A paired page.
#[derive(Debug)]
struct Bearer {
    /// Its id, which grants no access.
    id: String,
    /// The number that it showed.
    number: String,
    /// The processes that it was given to; empty if processes are not looked up on this system.
    given_to: Vec<ClientProcess>,
    since: Instant,
    used: Instant,
}

/// A paired page, as shown to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Insider {
    pub(crate) id: String,
    /// The number that it showed.
    pub(crate) number: String,
    /// Time since it was admitted.
    pub(crate) since: Duration,
    /// Time since it was last used.
    pub(crate) used: Duration,
    /// Whether it is the requesting page itself.
    pub(crate) own: bool,
}

#[derive(Debug)]
struct Waiting {
    key: Hash,
    number: String,
    since: Instant,
    /// When the page last asked for the result.
    seen: Arc<Mutex<Instant>>,
    answer: oneshot::Receiver<bool>,
}

/// The status of a waiting page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Finished {
    /// The person has not answered yet.
    Waits,
    /// The page is paired, with this bearer.
    Bearer(String),
}

impl Pairings {
    pub(crate) fn new() -> (Self, mpsc::Receiver<PairingRequest>) {
        // Requests of pages that are gone may still be in the queue.
        let (queue, requests) = mpsc::channel(QUEUE_MAX);
        let inside = Mutex::default();
        let queue = Mutex::new(Some(queue));
        (Self { queue, inside }, requests)
    }

    /// Stops admitting pages, so that the receiver of requests ends.
    fn close(&self) {
        lock(&self.queue).take();
    }

    /// Stops admitting pages after the current page has had time to read its response.
    pub(crate) fn close_soon(self: &Arc<Self>) {
        let pairings = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(LAST_ANSWER).await;
            pairings.close();
        });
    }

    /// Registers a page by its key; returns the id of its pairing and the number to show.
    pub(crate) fn begin(&self, key: &str) -> Result<(String, String), Problem> {
        let key =
            unhex(key).ok_or_else(|| Problem::input("`key` is the hex SHA-256 of 32 bytes"))?;
        let random: [u8; 32] = random()?;
        let id = hex(&random);
        let number = number(&key, &random);
        let mut inside = self.lock();
        inside
            .waiting
            .retain(|_, one| one.since.elapsed() < WAIT_MAX && is_asking(&one.seen));
        if inside.waiting.len() >= WAITING_MAX {
            return Err(too_many());
        }
        let (answer, answered) = oneshot::channel();
        let seen = Arc::new(Mutex::new(Instant::now()));
        let request = PairingRequest {
            number: number.clone(),
            answer,
            seen: Arc::clone(&seen),
        };
        let queue = lock(&self.queue);
        let queue = queue.as_ref().ok_or_else(too_many)?;
        queue.try_send(request).map_err(|_| too_many())?;
        inside.waiting.insert(
            id.clone(),
            Waiting {
                key,
                number: number.clone(),
                since: Instant::now(),
                seen,
                answer: answered,
            },
        );
        Ok((id, number))
    }

    /// Returns the status of a page that proves that it knows the preimage of its key.
    ///
    /// The bearer is valid only for the processes `asks`, which own the page's connection.
    pub(crate) fn finish(
        &self,
        id: &str,
        secret: &str,
        asks: &[ClientProcess],
    ) -> Result<Finished, Problem> {
        let refused = || {
            Problem::forbidden(
                "pairing",
                "this page was not let in: ask again, and say yes at the terminal",
            )
        };
        let mut inside = self.lock();
        let waiting = inside.waiting.get_mut(id).ok_or_else(refused)?;
        let secret = unhex(secret).ok_or_else(refused)?;
        if !is_same(&Sha256::digest(secret).into(), &waiting.key) {
            return Err(refused());
        }
        *lock(&waiting.seen) = Instant::now();
        if waiting.since.elapsed() >= WAIT_MAX {
            inside.waiting.remove(id);
            return Err(refused());
        }
        match waiting.answer.try_recv() {
            Ok(true) => {}
            Err(oneshot::error::TryRecvError::Empty) => return Ok(Finished::Waits),
            Ok(false) | Err(oneshot::error::TryRecvError::Closed) => {
                inside.waiting.remove(id);
                return Err(refused());
            }
        }
        let waited = inside.waiting.remove(id);
        let bearer = hex(&random::<32>()?);
        let name = hex(&random::<8>()?);
        inside.drop_idle();
        if inside.bearers.len() >= BEARERS_MAX {
            let oldest = inside.bearers.iter().min_by_key(|(_, bearer)| bearer.used);
            let oldest = oldest.map(|(hash, _)| *hash);
            oldest.and_then(|hash| inside.bearers.remove(&hash));
        }
        let now = Instant::now();
        inside.bearers.insert(
            Sha256::digest(&bearer).into(),
            Bearer {
                id: name,
                number: waited.map(|waited| waited.number).unwrap_or_default(),
                given_to: asks.to_vec(),
                since: now,
                used: now,
            },
        );
        Ok(Finished::Bearer(bearer))
    }

    /// Returns whether a bearer is valid for the requesting processes; `used` marks it as used now.
    ///
    /// A bearer that was obtained by another program is not valid for it.
    pub(crate) fn is_good_for(&self, bearer: &str, asks: &[ClientProcess], used: bool) -> bool {
        let hash: Hash = Sha256::digest(bearer).into();
        let is_own = self.lock().bearers.get(&hash).is_some_and(|bearer| {
            let own = &bearer.given_to;
            own.is_empty() || own.iter().any(|process| asks.contains(process))
        });
        is_own && self.is_good(bearer, used)
    }

    /// Returns whether a bearer is valid; `used` marks it as used now.
    ///
    /// Bearers are looked up by hash, so the time it takes reveals nothing about them.
    pub(crate) fn is_good(&self, bearer: &str, used: bool) -> bool {
        let hash: Hash = Sha256::digest(bearer).into();
        let mut inside = self.lock();
        match inside.bearers.get_mut(&hash) {
            Some(bearer) if bearer.used.elapsed() < IDLE_MAX => {
                if used {
                    bearer.used = Instant::now();
                }
                true
            }
            Some(_) => {
                inside.bearers.remove(&hash);
                false
            }
            None => false,
        }
    }

    /// Lists the paired pages, the oldest first; `own` is the bearer of the request.
    pub(crate) fn inside(&self, own: &str) -> Vec<Insider> {
        let own: Hash = Sha256::digest(own).into();
        let mut inside = self.lock();
        inside.drop_idle();
        let mut all: Vec<Insider> = inside
            .bearers
            .iter()
            .map(|(hash, bearer)| Insider {
                id: bearer.id.clone(),
                number: bearer.number.clone(),
                since: bearer.since.elapsed(),
                used: bearer.used.elapsed(),
                own: *hash == own,
            })
            .collect();
        all.sort_by_key(|page| std::cmp::Reverse(page.since));
        all
    }

    /// Revokes the access of a page; returns `false` if there is no such page.
    pub(crate) fn end(&self, id: &str) -> bool {
        let mut inside = self.lock();
        let before = inside.bearers.len();
        inside.bearers.retain(|_, bearer| bearer.id != id);
        inside.bearers.len() < before
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }
}

impl Inside {
    /// Removes pages that have not been used for long.
    fn drop_idle(&mut self) {
        self.bearers
            .retain(|_, bearer| bearer.used.elapsed() < IDLE_MAX);
    }
}

fn too_many() -> Problem {
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "pairings",
        "several pages wait to be let in: answer them at the terminal first",
    )
}

/// Derives the six digits that a page shows.
fn number(key: &Hash, random: &[u8; 32]) -> String {
    let digest = Sha256::new()
        .chain_update(random)
        .chain_update(key)
        .finalize();
    let head = digest
        .iter()
        .take(8)
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let number = head % 1_000_000;
    format!("{:03} {:03}", number / 1_000, number % 1_000)
}

fn random<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "random",
            format!("the system gives no random bytes: {error}"),
        )
    })?;
    Ok(bytes)
}

/// Returns `N` random bytes in hex.
pub(crate) fn random_hex<const N: usize>() -> Result<String, Problem> {
    Ok(hex(&random::<N>()?))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Hash> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Compares two hashes in constant time.
fn is_same(one: &Hash, other: &Hash) -> bool {
    let pairs = one.iter().zip(other);
    pairs.fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn key() -> String {
        hex(&Sha256::digest(unhex(SECRET).unwrap()))
    }

    #[test]
    fn a_page_is_let_in_once_by_a_yes_to_its_number() {
        let (pairings, mut asked) = Pairings::new();
        let (id, number) = pairings.begin(&key()).unwrap();
        assert_eq!(pairings.finish(&id, SECRET, &[]), Ok(Finished::Waits));
        let request = asked.try_recv().unwrap();
        assert_eq!(request.number, number);
        assert!(request.answer(true));
        let other = SECRET.replace('0', "1");
        pairings.finish(&id, &other, &[]).unwrap_err();
        let Finished::Bearer(bearer) = pairings.finish(&id, SECRET, &[]).unwrap() else {
            unreachable!("it was answered");
        };
        assert!(pairings.is_good(&bearer, true));
        assert!(!pairings.is_good(&bearer.to_uppercase(), true));
        // A client that learns the secret later gets no bearer.
        pairings.finish(&id, SECRET, &[]).unwrap_err();
    }

    #[test]
    fn a_bearer_opens_for_the_program_that_it_was_given_to() {
        let process = |pid, started: &str| ClientProcess {
            pid,
            started: started.to_owned(),
        };
        let browser = [process(7, "1"), process(8, "2")];
        let (pairings, mut asked) = Pairings::new();
        let (id, _) = pairings.begin(&key()).unwrap();
        assert!(asked.try_recv().unwrap().answer(true));
        let Finished::Bearer(bearer) = pairings.finish(&id, SECRET, &browser).unwrap() else {
            unreachable!("it was answered");
        };
        assert!(pairings.is_good_for(&bearer, &browser, true));
        assert!(pairings.is_good_for(&bearer, &[process(8, "2"), process(9, "3")], true));
        // Another process, one that reuses the process id, and none.
        for other in [&[process(9, "3")][..], &[process(7, "4")], &[]] {
            assert!(!pairings.is_good_for(&bearer, other, true), "{other:?}");
        }
        assert!(pairings.is_good_for(&bearer, &browser, true));
    }

    #[test]
    fn a_page_that_is_ended_is_in_no_more() {
        let (pairings, mut asked) = Pairings::new();
        let (id, number) = pairings.begin(&key()).unwrap();
        assert!(asked.try_recv().unwrap().answer(true));
        let Finished::Bearer(bearer) = pairings.finish(&id, SECRET, &[]).unwrap() else {
            unreachable!("it was answered");
        };
        let inside = pairings.inside(&bearer);
        let found: Vec<_> = inside.iter().map(|page| (&page.number, page.own)).collect();
        assert_eq!(found, [(&number, true)]);
        assert!(
            !inside.iter().any(|page| bearer.contains(&page.id)),
            "it tells of the bearer"
        );
        assert!(!pairings.inside("another").iter().any(|page| page.own));
        assert!(!pairings.end(&bearer), "the bearer is not a name");
        assert!(pairings.is_good(&bearer, true));
        assert!(inside.iter().all(|page| pairings.end(&page.id)));
        assert!(!pairings.is_good(&bearer, true));
        assert_eq!(pairings.inside(&bearer), []);
    }

    #[test]
    fn a_no_or_no_answer_at_all_lets_nobody_in() {
        let (pairings, mut asked) = Pairings::new();
        let (refused, _) = pairings.begin(&key()).unwrap();
        assert!(asked.try_recv().unwrap().answer(false));
        pairings.finish(&refused, SECRET, &[]).unwrap_err();
        let (dropped, _) = pairings.begin(&key()).unwrap();
        drop(asked.try_recv().unwrap());
        pairings.finish(&dropped, SECRET, &[]).unwrap_err();
        pairings.finish("unknown", SECRET, &[]).unwrap_err();
        pairings.begin("short").unwrap_err();
    }

    #[test]
    fn a_yes_that_comes_when_the_page_has_gone_lets_nobody_in() {
        for (ago, is_in) in [(Duration::ZERO, true), (GONE_AFTER, false)] {
            let (pairings, mut asked) = Pairings::new();
            let (id, _) = pairings.begin(&key()).unwrap();
            let request = asked.try_recv().unwrap();
            let seen = Instant::now().checked_sub(ago).unwrap();
            for waiting in pairings.lock().waiting.values() {
                *lock(&waiting.seen) = seen;
            }
            assert_eq!(request.is_waiting(), is_in, "{ago:?}");
            assert_eq!(request.answer(true), is_in, "{ago:?}");
            let finished = pairings.finish(&id, SECRET, &[]);
            assert_eq!(
                matches!(finished, Ok(Finished::Bearer(_))),
                is_in,
                "{ago:?}"
            );
        }
    }

    #[test]
    fn few_pages_wait_at_once() {
        let (pairings, _asked) = Pairings::new();
        for _ in 0..WAITING_MAX {
            pairings.begin(&key()).unwrap();
        }
        assert_eq!(pairings.begin(&key()).unwrap_err().code, "pairings");
    }

    #[test]
    fn the_same_key_shows_another_number_each_time() {
        let (pairings, _asked) = Pairings::new();
        let numbers: std::collections::BTreeSet<String> = (0..WAITING_MAX)
            .map(|_| pairings.begin(&key()).unwrap().1)
            .collect();
        assert!(numbers.len() > 1, "{numbers:?}");
    }
}
