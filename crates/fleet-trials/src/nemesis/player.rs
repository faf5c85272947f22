//! A client of a run: what it sends, how long it tries, and what it records.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    carriers::{Carriers, Taken},
    clients::Shared,
    history::History,
    spec::{Key, Op, Ret, What},
};
use crate::{
    dice::Dice,
    http::{Answer, Client},
    site::proposal,
};

/// How long a client waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// How long a client tries to have one command answered. Then something does not recover.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(120);
/// Delay before a call is repeated.
pub(super) const REST: Duration = Duration::from_millis(100);
/// Keys of commands are this word and a number.
const WORD: &str = "call-";

/// A client of a run.
pub(super) struct Player<'a> {
    shared: &'a Shared<'a>,
    run: &'a str,
    history: &'a History,
    at: usize,
    dice: Dice,
    client: Option<Client>,
    /// Answers that nothing explains.
    pub(super) failures: Vec<String>,
}

impl<'a> Player<'a> {
    pub(super) fn new(
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
    pub(super) fn random(&mut self, carriers: &Carriers, held: &mut Option<u64>) {
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
    pub(super) fn append(
        &mut self,
        what: What,
        epoch: Option<u64>,
        request: Option<(Value, Value)>,
    ) -> Value {
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

    pub(super) fn read(&mut self, from: usize) -> Vec<Key> {
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

/// Returns whether a command was accepted, or waits for a person.
pub(super) fn is_accepted(decided: &Value) -> bool {
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

/// Returns a number of an answer.
pub(super) fn of(number: &Value) -> usize {
    let number = number.as_u64().unwrap_or_default();
    usize::try_from(number).unwrap_or(usize::MAX)
}
