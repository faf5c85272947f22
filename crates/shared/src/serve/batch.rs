//! Decides commands of one run in one transaction, under the lock of its row.
//!
//! No command is decided optimistically: whoever holds the lock decides up to [`BATCH_MAX`] commands, each against the
//! run as the previous one left it, and records all of their events, keys and replies with one commit.

mod ballot;
mod touched;
mod written;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::http::StatusCode;
use futures_util::future::join5;
use interlock_core::{
    Decision, Reply,
    command::{Command, CommandKind},
    decide,
    event::Event,
    evolve,
    machine::Machine,
    names::{ApprovalId, RunId},
    refusal::Refusal,
    run::Run,
};
use interlock_fleet::{Decided, Verdict};
use interlock_store::{
    ChainHash, RunStore as _,
    record::{self, Row, Rows as _, Snapshot},
};
use serde_json::json;
use tokio_postgres::types::{ToSql, Type};

use self::{
    touched::Touched,
    written::{Statements, Written},
};
use super::{listed::Listed, problem::Problem, standing};
use crate::{
    append::integer,
    database::{Database, Leased, Prepared},
    error::{SharedError, failed},
    people::{self, People},
    rows::Found,
    run::SharedRun,
    tokens::Role,
    votes::{self, Vote},
};

/// Maximum number of commands of one transaction.
pub(crate) const BATCH_MAX: usize = 32;
/// Maximum number of attempts to bring a run in memory up to date before its commands are refused.
const TRIES_MAX: u32 = 4;
/// Maximum number of events that are read while the run is locked; more are read before.
const TAIL_MAX: u64 = 256;

/// Locks a run and reads the end of its log, with the time.
const TIP: Prepared = (
    "SELECT seq, tip_hash, epoch, greatest(last_ms, \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint) \
     FROM interlock.runs WHERE tenant = $1 AND run = $2 FOR UPDATE",
    &[Type::TEXT, Type::TEXT],
);
/// Reads which commands were recorded before.
const KNOWN: Prepared = (
    "SELECT id, digest, reply FROM interlock.commands \
     WHERE tenant = $1 AND run = $2 AND id = ANY($3)",
    &[Type::TEXT, Type::TEXT, Type::TEXT_ARRAY],
);
/// Reads who has done work in a run.
const DRIVERS: &str = "SELECT DISTINCT subject FROM interlock.commands \
     WHERE tenant = $1 AND run = $2 AND drives AND subject IS NOT NULL";

/// A command with its key and its sender.
#[derive(Debug, Clone)]
pub(crate) struct Submitted {
    /// The key, with the sender's role and name before it.
    pub(crate) key: String,
    /// The digest of the whole request.
    pub(crate) digest: ChainHash,
    pub(crate) subject: String,
    pub(crate) role: Role,
    /// The groups that the issuer of the token has named.
    pub(crate) groups: Vec<String>,
    /// Whether it is part of the work that others approve.
    pub(crate) drives: bool,
    /// Whether a person approves something with it.
    pub(crate) accepts: bool,
    pub(crate) epoch: Option<u64>,
    /// The number of events that it was made for.
    pub(crate) seq: Option<u64>,
    pub(crate) kind: CommandKind,
}

/// The reply to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    /// The JSON, as it is sent whenever the command is repeated.
    pub(crate) body: Vec<u8>,
    /// Whether the command was recorded before.
    pub(crate) repeated: bool,
}

pub(crate) type Outcome = Result<Answered, Problem>;

/// A run in memory.
#[derive(Debug)]
pub(crate) struct Live {
    log: SharedRun,
    machine: Machine,
    folded: Snapshot,
    /// Who started the run, as its first event says.
    started_by: Option<String>,
    /// What has been written, if somebody was asked about it.
    touched: Option<Touched>,
}

impl Live {
    /// Loads a run.
    pub(crate) fn load(log: SharedRun) -> Result<Self, Problem> {
        let folded = log.fold()?;
        let machine = log.machine_of(&folded.run)?;
        let of = log.log_of();
        let first = record::row(&log, 0)?.and_then(|row| row.read(0, of.pin, of.marks).ok());
        let started_by = match first {
            Some((Event::RunStarted { by, .. }, _)) => Some(by),
            _ => None,
        };
        Ok(Self {
            log,
            machine,
            folded,
            started_by,
            touched: None,
        })
    }

    /// Returns who started the run.
    pub(crate) fn started_by(&self) -> Option<&str> {
        self.started_by.as_deref()
    }

    /// Returns the log.
    pub(crate) fn log(&self) -> &SharedRun {
        &self.log
    }

    /// Returns the folded run with its machine.
    pub(crate) fn parts(&self) -> (&Machine, &Run, &ChainHash) {
        (&self.machine, &self.folded.run, &self.folded.head)
    }

    /// Decides `batch` in one transaction, and returns an outcome for each command.
    pub(crate) fn decide(&mut self, batch: &[Submitted]) -> Result<Vec<Outcome>, Problem> {
        for _ in 0..TRIES_MAX {
            let database = self.log.database.clone();
            let (leased, locked) = Locked::read(&database, self.log.run(), batch)?;
            if !self.catch_up(&database, &leased, &locked)? {
                database.roll_back(leased)?;
                self.reload()?;
                continue;
            }
            if locked.people.is_some() && batch.iter().any(|one| one.accepts) {
                self.catch_up_touched()?;
            }
            let mut work = Work::new(self, &locked);
            let outcomes: Vec<Outcome> = batch.iter().map(|one| work.answer(one)).collect();
            let Work {
                run,
                hash,
                mut written,
                touched,
                ..
            } = work;
            written.wakes = run.is_durable();
            if written.is_empty() {
                database.roll_back(leased)?;
                return Ok(outcomes);
            }
            let (before, grown) = (self.folded.run.seq, written.bytes);
            let events = run.seq - before;
            written.listed = Listed::of(&self.machine, &run).stored();
            let to = (self.log.run(), &locked.statements);
            written.commit(&database, leased, to, (run.seq, hash))?;
            self.folded = Snapshot { run, head: hash };
            self.touched = touched;
            if events > 0 {
                self.log.grew(before, events, grown);
            }
            return Ok(outcomes);
        }
        Err(Problem::busy("the run changes too fast"))
    }

    fn reload(&mut self) -> Result<(), Problem> {
        self.folded = self.log.fold()?;
        self.machine = self.log.machine_of(&self.folded.run)?;
        Ok(())
    }

    /// Folds what others have appended; `false` if the run has to be loaded again.
    fn catch_up(
        &mut self,
        database: &Database,
        leased: &Arc<Leased>,
        locked: &Locked,
    ) -> Result<bool, Problem> {
        let known = self.folded.run.seq;
        if known == locked.seq {
            return Ok(self.folded.head == locked.hash);
        }
        if known > locked.seq || locked.seq - known > TAIL_MAX {
            return Ok(false);
        }
        let rows = tail(database, leased, self.log.run(), known)?;
        let of = self.log.log_of();
        let (mut run, mut head) = (self.folded.run.clone(), self.folded.head);
        for row in rows {
            let Ok((event, next)) = row.read(run.seq, head, of.marks) else {
                return Ok(false);
            };
            run = evolve(run, &event);
            head = next;
        }
        let fits = run.seq == locked.seq && head == locked.hash;
        if !fits || run.adopted != self.folded.run.adopted {
            return Ok(false);
        }
        self.folded = Snapshot { run, head };
        Ok(true)
    }
}

/// Reads the events from number `from` on, in the transaction that holds the lock.
fn tail(
    database: &Database,
    leased: &Arc<Leased>,
    run: &RunId,
    from: u64,
) -> Result<Vec<Row>, SharedError> {
    let (leased, run) = (Arc::clone(leased), run.clone());
    let tenant = database.tenant().clone();
    let rows = database.wait(async move {
        leased
            .query(
                "SELECT seq, at_ms, body, hash FROM interlock.events \
                 WHERE tenant = $1 AND run = $2 AND seq >= $3 ORDER BY seq",
                &[tenant.as_str().into(), run.as_str().into(), from.into()],
            )
            .await
    })?;
    let row = |row| {
        let found = Found::new(database, row);
        Ok(Row {
            seq: found.number(0)?,
            at_ms: found.number(1)?,
            body: found.get(2)?,
            hash: found.get(3)?,
        })
    };
    rows.into_iter().map(row).collect()
}

/// What the database says of a run while its row is locked.
#[derive(Debug)]
struct Locked {
    seq: u64,
    hash: ChainHash,
    epoch: u64,
    at_ms: u64,
    /// The digest and the reply of each command that was recorded before.
    known: BTreeMap<String, (Vec<u8>, Vec<u8>)>,
    /// Who has done work in the run.
    drivers: BTreeSet<String>,
    /// The policy that holds, if a person has sent one of the commands.
    people: Option<People>,
    /// The votes of the run, if one of the commands approves something.
    votes: Vec<Vote>,
    /// What writes the result.
    statements: Statements,
}

impl Locked {
    /// Starts a transaction, locks the run and reads.
    fn read(
        database: &Database,
        run: &RunId,
        batch: &[Submitted],
    ) -> Result<(Arc<Leased>, Self), SharedError> {
        let keys: Vec<String> = batch.iter().map(|one| one.key.clone()).collect();
        let asks = batch.iter().any(|one| one.accepts);
        let by_people = batch.iter().any(|one| one.role == Role::Person);
        let (tenant, id) = (database.tenant().clone(), run.clone());
        let (leased, (tip, known, drivers, people, votes, statements)) =
            database.begin_with(move |sent| async move {
                let (tenant, run) = (tenant.as_str(), id.as_str());
                let own: [(&(dyn ToSql + Sync), Type); 2] =
                    [(&tenant, Type::TEXT), (&run, Type::TEXT)];
                // INVARIANT: all that is prepared is prepared before anything is sent, so that nothing waits for it in between.
                let (tip, known) = (sent.prepare(TIP).await?, sent.prepare(KNOWN).await?);
                let statements = Statements::prepare(&sent).await?;
                // Sent together, and executed one after the other: the second sees what was committed before the lock.
                let of_run: [&(dyn ToSql + Sync); 2] = [&tenant, &run];
                let with_keys: [&(dyn ToSql + Sync); 3] = [&tenant, &run, &keys];
                let tip = sent.client.query(&tip, &of_run);
                let known = sent.client.query(&known, &with_keys);
                let drivers = async {
                    if !asks {
                        return Ok(Vec::new());
                    }
                    sent.client.query_typed(DRIVERS, &own).await
                };
                let people = async {
                    if !by_people {
                        return Ok(Vec::new());
                    }
                    let of = [(&tenant as &(dyn ToSql + Sync), Type::TEXT)];
                    sent.client.query_typed(people::NEWEST, &of).await
                };
                let votes = async {
                    if !asks {
                        return Ok(Vec::new());
                    }
                    sent.client.query_typed(votes::OF_RUN, &own).await
                };
                let (tip, known, drivers, people, votes) =
                    join5(tip, known, drivers, people, votes).await;
                let failed = |error| failed(sent.place(), &error);
                Ok((
                    tip.map_err(failed)?,
                    known.map_err(failed)?,
                    drivers.map_err(failed)?,
                    people.map_err(failed)?,
                    votes.map_err(failed)?,
                    statements,
                ))
            })?;
        let Some(tip) = tip.into_iter().next() else {
            database.roll_back(leased)?;
            return Err(database.no_run(run));
        };
        let tip = Found::new(database, tip);
        let mut stored = BTreeMap::new();
        for row in known {
            let found = Found::new(database, row);
            stored.insert(found.get(0)?, (found.get(1)?, found.get(2)?));
        }
        let mut names = BTreeSet::new();
        for row in drivers {
            names.insert(Found::new(database, row).get(0)?);
        }
        let locked = Self {
            seq: tip.number(0)?,
            hash: tip.hash(1)?,
            epoch: tip.number(2)?,
            at_ms: tip.number(3)?,
            known: stored,
            drivers: names,
            people: database.parsed_people(people)?,
            votes: votes::read(database, run, votes)?,
            statements,
        };
        Ok((leased, locked))
    }
}

/// The commands of one transaction, decided one after the other.
struct Work<'a> {
    live: &'a Live,
    locked: &'a Locked,
    run: Run,
    hash: ChainHash,
    /// The replies to commands of this transaction, by their keys.
    fresh: BTreeMap<String, (Vec<u8>, Vec<u8>)>,
    /// Who has done work in this transaction.
    drivers: BTreeSet<String>,
    touched: Option<Touched>,
    written: Written,
}

impl<'a> Work<'a> {
    fn new(live: &'a Live, locked: &'a Locked) -> Self {
        Self {
            live,
            locked,
            touched: live.touched.clone(),
            run: live.folded.run.clone(),
            hash: live.folded.head,
            fresh: BTreeMap::new(),
            drivers: BTreeSet::new(),
            written: Written {
                at_ms: locked.at_ms,
                ..Written::default()
            },
        }
    }

    fn answer(&mut self, one: &Submitted) -> Outcome {
        let known = self.locked.known.get(&one.key);
        if let Some((digest, reply)) = known.or_else(|| self.fresh.get(&one.key)) {
            if digest.as_slice() != one.digest.as_bytes() {
                let id = one.key.clone();
                return Err(Problem::from(&SharedError::OtherCommand { id }));
            }
            return Ok(Answered {
                body: reply.clone(),
                repeated: true,
            });
        }
        if let Some(held) = one.epoch.filter(|held| *held != self.locked.epoch) {
            return Err(Problem::from(&SharedError::StaleEpoch {
                run: self.run.id.clone(),
                held,
                current: self.locked.epoch,
            }));
        }
        if one.seq.is_some_and(|seq| seq != self.run.seq) {
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "moved",
                "the run has other events than the command was made for: read it, and decide again",
            ));
        }
        if one.accepts && self.is_own(&one.subject) {
            return Err(Problem::role(
                "whoever started the run, or does its work, does not approve it: another person has to answer",
            ));
        }
        let locked = self.locked;
        match &locked.people {
            Some(people) if one.role == Role::Person => self.by_policy(one, people),
            _ => self
                .decide(one, one.kind.clone())
                .map(|(answered, _)| answered),
        }
    }

    /// Returns whether a person has started the run, or does its work.
    fn is_own(&self, subject: &str) -> bool {
        self.live.started_by() == Some(subject)
            || self.locked.drivers.contains(subject)
            || self.drivers.contains(subject)
    }

    /// Decides a command; returns the reply, and whether the run has accepted it.
    fn decide(&mut self, one: &Submitted, kind: CommandKind) -> Result<(Answered, bool), Problem> {
        let command = Command {
            at_ms: self.locked.at_ms,
            kind: standing::checked(kind, (&self.live.machine, &self.run))?,
        };
        let decision = decide(&self.live.machine, &self.run, &command);
        let of = self.live.log.log_of();
        let bodies: Vec<Vec<u8>> = decision
            .events
            .iter()
            .map(|event| record::body_of(event, of))
            .collect::<Result<_, _>>()?;
        let from = self.run.seq;
        let reply = reply(&decision, &self.run.id, (from, self.locked.at_ms));
        let reply = serde_json::to_vec(&reply).map_err(|_| Problem::internal())?;
        let reply = of.marks.encode(&reply).into_owned();
        // INVARIANT: from here on nothing fails, so a command is recorded with all of its events or not at all.
        for (seq, body) in (from..).zip(bodies) {
            self.written.bytes += body.len() as u64;
            self.written.events += 1;
            let (row, next) = Row::chained(seq, self.locked.at_ms, self.hash, body);
            self.written.columns.push(row, self.hash);
            self.hash = next;
        }
        let before = std::mem::take(&mut self.run);
        self.run = decision.events.iter().fold(before, evolve);
        // What others have appended meanwhile is read when it is needed.
        if let Some(touched) = self.touched.as_mut().filter(|known| known.seq == from) {
            for (seq, event) in (from..).zip(&decision.events) {
                touched.note(seq, event, of.marks);
            }
        }
        self.keep(one, reply.clone());
        let answered = Answered {
            body: reply,
            repeated: false,
        };
        Ok((answered, matches!(decision.reply, Reply::Accepted)))
    }

    fn keep(&mut self, one: &Submitted, reply: Vec<u8>) {
        if one.drives {
            self.drivers.insert(one.subject.clone());
        }
        let digest = one.digest.as_bytes().to_vec();
        self.fresh
            .insert(one.key.clone(), (digest.clone(), reply.clone()));
        let written = &mut self.written;
        written.keys.push(one.key.clone());
        written.digests.push(digest);
        written.replies.push(reply);
        written.seqs.push(integer(self.run.seq));
        written.subjects.push(one.subject.clone());
        written.roles.push(one.role.as_str().to_owned());
        written.drives.push(one.drives);
    }
}

/// Returns the reply to a command.
fn reply(decision: &Decision, run: &RunId, (from, at_ms): (u64, u64)) -> Decided {
    let refused = |verdict, refusal: &Refusal| {
        let code = json!(refusal.code).as_str().map(str::to_owned);
        (verdict, code, Some(refusal.message.clone()))
    };
    let (verdict, code, message) = match &decision.reply {
        Reply::Accepted => (Verdict::Accepted, None, None),
        Reply::Pending { message, .. } => (Verdict::Pending, None, Some(message.clone())),
        Reply::Ask(refusal) => refused(Verdict::Ask, refusal),
        Reply::Refused(refusal) => refused(Verdict::Refused, refusal),
    };
    let opened = (from..)
        .zip(&decision.events)
        .filter(|(_, event)| matches!(event, Event::RequestOpened { .. }));
    let request = opened
        .last()
        .map(|(seq, _)| ApprovalId::of(seq).as_str().to_owned());
    let events = u64::try_from(decision.events.len()).unwrap_or(u64::MAX);
    Decided {
        run: run.as_str().to_owned(),
        verdict,
        code,
        message,
        request,
        path: decision.path.names().to_vec(),
        from,
        seq: from.saturating_add(events),
        at_ms,
    }
}
