//! Drives one run: starts its effects, and reports their outcomes to the run.
//!
//! This module decides nothing about the run: [`interlock_core::effects`] determines what to do, and [`interlock_core::decide`]
//! what follows.

use std::{collections::BTreeMap, mem, sync::Arc};

use interlock_core::{
    Decision, Reply,
    command::{ActivityOutcome, Command, CommandKind, Effect, EffectStatus},
    decide, effects,
    event::Cause,
    evolve,
    machine::{EffectKind, Machine},
    missing_files,
    names::FramePath,
    refusal::{Code, Refusal},
    run::Run,
};
use interlock_expr::text::Files;
use serde_json::Value;

use crate::{
    host::{Appended, Happening, Host},
    order::{Failed, Outcome},
    tools::fault,
};

mod orders;
mod questions;
mod stages;

use orders::order;
use questions::Questions;
use stages::Listening;

/// How often a command is decided again because another writer was first.
const TRIES_MAX: u32 = 64;
/// Maximum number of files that the texts of one state may name.
const FILES_MAX: usize = 1_000;

/// Why driving a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The run is over.
    Over,
    /// It waits for a person, and nothing else is under way.
    Standing,
    /// It waits only until this time, in milliseconds since 1970, and the host [rests](Host::rests) until then.
    Waiting(u64),
}

/// Why a run could not be driven.
#[derive(Debug, thiserror::Error)]
pub enum DriveError<E> {
    /// The host failed.
    #[error(transparent)]
    Host(E),
    /// Other writers were first too often.
    #[error("other writers were first {TRIES_MAX} times in a row")]
    Contended,
    /// A model stage cannot run here; the run is unchanged.
    #[error("`{path}` cannot go on: {message}")]
    Broken {
        /// The state's path.
        path: String,
        /// The reason.
        message: String,
    },
    /// The run refused the outcome of an effect.
    #[error("the run refused the outcome of `{path}`: {}", refusal.message)]
    Refused {
        /// The state's path.
        path: String,
        /// The refusal that says why.
        refusal: Box<Refusal>,
    },
}

/// Drives the run of `host` until it is over or waits for a person.
///
/// # Errors
/// The host fails, or the run cannot be written. Started effects continue: the caller must drop the host, and the run is later
/// driven as after a crash.
pub fn drive<H: Host>(machine: &Machine, host: &mut H) -> Result<Halt, DriveError<H::Error>> {
    let mut drive = Drive::begin(machine, host)?;
    loop {
        let list = drive.settle()?;
        if let Some(halt) = drive.halt(&list) {
            drive.host.halted(drive.run);
            return Ok(halt);
        }
        drive.wait(&list)?;
    }
}

/// Reports to a run that the runner of its effects is gone.
///
/// # Errors
/// The host fails.
pub fn lose_effects<H: Host>(
    machine: &Machine,
    host: &mut H,
) -> Result<Decision, DriveError<H::Error>> {
    command(machine, host, &CommandKind::LoseEffects)
}

/// Applies a person's command to the run of `host`, which nobody drives.
///
/// # Errors
/// The host fails.
pub fn command<H: Host>(
    machine: &Machine,
    host: &mut H,
    ask: &CommandKind,
) -> Result<Decision, DriveError<H::Error>> {
    let mut drive = Drive::begin(machine, host)?;
    drive.submit(ask.clone())
}

/// An effect that is being carried out.
#[derive(Debug)]
struct Flight {
    attempt: u32,
    /// Whether it is being stopped.
    stopping: bool,
    /// What a model stage or a node has not received yet; `None` for other effects.
    listening: Option<Listening>,
    is_stage: bool,
}

/// An effect that ended while the run was paused.
struct Landed {
    id: String,
    attempt: u32,
    /// Outcome to report; `None` if a person interrupted it at the terminal.
    outcome: Option<ActivityOutcome>,
}

struct Drive<'a, H> {
    machine: &'a Machine,
    host: &'a mut H,
    run: Run,
    /// Flights by the ids of their effects.
    flights: BTreeMap<String, Flight>,
    held: Vec<Landed>,
    /// The machine, shared with threads.
    shared: Option<Arc<Machine>>,
    questions: Questions,
}

impl<'a, H: Host> Drive<'a, H> {
    /// Loads the run of `host`, with no effects started.
    fn begin(machine: &'a Machine, host: &'a mut H) -> Result<Self, DriveError<H::Error>> {
        let run = host.load().map_err(DriveError::Host)?;
        Ok(Self {
            machine,
            host,
            run,
            flights: BTreeMap::new(),
            held: Vec::new(),
            shared: None,
            questions: Questions::default(),
        })
    }

    /// Does everything that can be done at once; returns the remaining effects.
    fn settle(&mut self) -> Result<Vec<Effect>, DriveError<H::Error>> {
        loop {
            for landed in self.released() {
                self.land(landed)?;
            }
            let list = effects(self.machine, &self.run);
            self.stop_unlisted(&list);
            self.wake();
            if self.answer_held()? {
                continue;
            }
            self.put_questions();
            if !self.feed(&list)? && !self.refuse_faults(&list)? {
                self.host.stands(self.machine, &self.run, &list);
                self.start(&list)?;
                return Ok(list);
            }
        }
    }

    /// Returns what ended while the run was paused, once it is not.
    fn released(&mut self) -> Vec<Landed> {
        if self.run.paused.is_some() {
            Vec::new()
        } else {
            mem::take(&mut self.held)
        }
    }

    /// Stops running effects that are no longer listed.
    fn stop_unlisted(&mut self, list: &[Effect]) {
        // A run that a person paused lists nothing; running effects may finish.
        if self.run.paused.is_some() {
            return;
        }
        for (id, flight) in &mut self.flights {
            let listed = list.iter().any(|effect| {
                is_open(effect) && effect.id == *id && effect.attempt == flight.attempt
            });
            if !listed && !flight.stopping {
                flight.stopping = true;
                self.host.stop(id);
            }
        }
    }

    /// Supplies the files that texts name; returns whether the run continued with them.
    fn feed(&mut self, list: &[Effect]) -> Result<bool, DriveError<H::Error>> {
        for effect in list {
            let EffectStatus::Reading(wanted) = &effect.status else {
                continue;
            };
            let path = effect.frame.clone();
            let files = read_files(self.machine, &self.run, self.host, &path, wanted);
            let decision = self.submit(CommandKind::Supply { path, files })?;
            // Refused: the state was left meanwhile, and the list is outdated.
            if !matches!(decision.reply, Reply::Refused(_)) || self.has_moved(effect) {
                return Ok(true);
            }
            return Err(refused(effect, decision));
        }
        Ok(false)
    }

    fn has_moved(&self, effect: &Effect) -> bool {
        !effects(self.machine, &self.run)
            .iter()
            .any(|now| now.id == effect.id && now.status == effect.status)
    }

    /// Fails questions that cannot be put to a person; returns whether there were any.
    fn refuse_faults(&mut self, list: &[Effect]) -> Result<bool, DriveError<H::Error>> {
        for effect in list {
            let is_asked = effect.status == EffectStatus::Person && !self.is_stage(effect);
            if !is_asked || self.flights.contains_key(&effect.id) {
                continue;
            }
            if let Some(failed) = fault(&effect.kind, &effect.input) {
                self.land(Landed {
                    id: effect.id.clone(),
                    attempt: effect.attempt,
                    outcome: Some(ActivityOutcome::Failed(cause(failed))),
                })?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Starts effects that are not running yet.
    fn start(&mut self, list: &[Effect]) -> Result<(), DriveError<H::Error>> {
        // The effects after a cancelled program begin when it has ended.
        if self.flights.values().any(|flight| flight.stopping) {
            return Ok(());
        }
        let mut slots = self.free_slots(list);
        for effect in list {
            let is_stage = self.is_stage(effect);
            // A pause is resumed from outside; only questions are asked here.
            let is_ours = effect.status == EffectStatus::Running
                || effect.kind == EffectKind::Ask
                || is_stage;
            if !is_open(effect) || !is_ours || self.flights.contains_key(&effect.id) {
                continue;
            }
            if is_stage && !self.has_begun(effect) {
                if slots == 0 {
                    continue;
                }
                slots -= 1;
            }
            let alone = list.len() == 1 && self.flights.is_empty();
            let mut order = order(self.machine, &self.run, effect, alone);
            if is_stage {
                order.stage = Some(Box::new(self.stage_order(effect)?));
            } else if matches!(effect.kind, EffectKind::Node(_)) {
                order.node = Some(Box::new(self.node_order(effect)?));
            }
            if !self.host.takes(&order) {
                continue;
            }
            let talks = order.stage.is_some() || order.node.is_some();
            let flight = Flight {
                attempt: order.attempt,
                stopping: false,
                listening: talks.then(|| Listening::new(&effect.frame)),
                is_stage,
            };
            self.flights.insert(order.id.clone(), flight);
            self.host.start(order);
        }
        Ok(())
    }

    fn halt(&mut self, list: &[Effect]) -> Option<Halt> {
        if !self.flights.is_empty() || !self.held.is_empty() {
            return None;
        }
        if self.run.is_over() {
            return Some(Halt::Over);
        }
        if self.questions.are_open() {
            return None;
        }
        let waits = list
            .iter()
            .any(|effect| matches!(effect.status, EffectStatus::Waiting(_)));
        if !waits {
            return Some(Halt::Standing);
        }
        let until = list.iter().filter_map(due).min()?;
        self.host.rests(until).then_some(Halt::Waiting(until))
    }

    /// Waits for the next event and reports it to the run.
    fn wait(&mut self, list: &[Effect]) -> Result<(), DriveError<H::Error>> {
        let until = list.iter().filter_map(due).min();
        match self.host.next(until).map_err(DriveError::Host)? {
            Happening::Ended {
                id,
                attempt,
                outcome,
            } => self.ended(Landed {
                id,
                attempt,
                outcome: told(outcome),
            }),
            Happening::Asked(question) => self.asked(question),
            Happening::Said { id, said } => self.said(&id, &said),
            Happening::CancelAsked { by } => self.submit(CommandKind::Cancel { by }).map(drop),
            Happening::LogGrew => self.reload(),
            Happening::Tick => self.submit(CommandKind::Advance).map(drop),
        }
    }

    /// Handles the end of an effect, which may be late or reported twice.
    fn ended(&mut self, landed: Landed) -> Result<(), DriveError<H::Error>> {
        let known = self
            .flights
            .get(&landed.id)
            .is_some_and(|flight| flight.attempt == landed.attempt);
        if !known {
            return Ok(());
        }
        let flight = self.flights.remove(&landed.id);
        if flight.as_ref().is_some_and(|flight| flight.stopping) {
            return Ok(());
        }
        if flight.is_some_and(|flight| flight.is_stage) {
            return self.stage_ended(landed);
        }
        if self.run.paused.is_some() {
            self.held.push(landed);
            return Ok(());
        }
        self.land(landed)
    }

    /// Reports the outcome of an effect to the run, if the run still waits for it.
    fn land(&mut self, landed: Landed) -> Result<(), DriveError<H::Error>> {
        let Landed {
            id,
            attempt,
            outcome,
        } = landed;
        let Some(mut outcome) = outcome else {
            let by = "the person at the terminal".to_owned();
            return self.submit(CommandKind::Cancel { by }).map(drop);
        };
        for _ in 0..TRIES_MAX {
            // A person was first: the outcome is reported once the run continues.
            if self.run.paused.is_some() {
                self.held.push(Landed {
                    id,
                    attempt,
                    outcome: Some(outcome),
                });
                return Ok(());
            }
            let Some(effect) = self.meant(&id, attempt) else {
                return Ok(());
            };
            let mut command = command_of(CommandKind::EndActivity {
                path: Some(effect.frame.to_string()),
                outcome,
            });
            let (decision, appended) = self.try_submit(&mut command)?;
            let CommandKind::EndActivity { outcome: told, .. } = command.kind else {
                return Ok(());
            };
            outcome = match (decision.reply, appended) {
                (_, Appended::Conflict) => told,
                (Reply::Refused(refusal), _) => refusal_of(&effect, &told, refusal)?,
                _ => return Ok(()),
            };
        }
        Err(DriveError::Contended)
    }

    /// Finds the effect that ended, if the run still waits for exactly this attempt.
    fn meant(&self, id: &str, attempt: u32) -> Option<Effect> {
        effects(self.machine, &self.run)
            .into_iter()
            .find(|effect| is_open(effect) && effect.id == id && effect.attempt == attempt)
    }

    fn submit(&mut self, ask: CommandKind) -> Result<Decision, DriveError<H::Error>> {
        let mut command = command_of(ask);
        for _ in 0..TRIES_MAX {
            if let (decision, Appended::Kept) = self.try_submit(&mut command)? {
                return Ok(decision);
            }
        }
        Err(DriveError::Contended)
    }

    /// Decides once with the current time; if another writer was first, the run is loaded again.
    fn try_submit(
        &mut self,
        command: &mut Command,
    ) -> Result<(Decision, Appended), DriveError<H::Error>> {
        command.at_ms = self.host.now_ms();
        let decision = decide(self.machine, &self.run, command);
        let appended = self
            .host
            .append(self.run.seq, command.at_ms, &decision.events)
            .map_err(DriveError::Host)?;
        match appended {
            Appended::Kept => {
                self.host
                    .happened(self.machine, &self.run, &decision.events);
                let id = self.run.id.clone();
                let run = mem::replace(&mut self.run, Run::new(id));
                self.run = decision.events.iter().fold(run, evolve);
                self.note(&decision.events);
            }
            Appended::Conflict => self.reload()?,
        }
        Ok((decision, appended))
    }
}

/// Creates a command whose time is set later.
const fn command_of(ask: CommandKind) -> Command {
    Command {
        at_ms: 0,
        kind: ask,
    }
}

/// Reads the files that the texts of the state at `path` name, `wanted` first.
pub(crate) fn read_files<H: Host>(
    machine: &Machine,
    run: &Run,
    host: &mut H,
    path: &FramePath,
    wanted: &[String],
) -> Files {
    let mut files = Files::new();
    let mut wanted = wanted.to_vec();
    while !wanted.is_empty() && files.len() <= FILES_MAX {
        files.extend(host.read(&wanted));
        wanted = missing_files(machine, run, path, &files);
    }
    files
}

/// Returns whether the runner may carry out an effect.
const fn is_open(effect: &Effect) -> bool {
    matches!(effect.status, EffectStatus::Running | EffectStatus::Person)
}

/// Returns the time at which the run must be advanced for an effect, in milliseconds since 1970.
#[must_use]
pub fn due(effect: &Effect) -> Option<u64> {
    let waits = match effect.status {
        EffectStatus::Waiting(until) => Some(until),
        _ => None,
    };
    waits.into_iter().chain(effect.late_ms).min()
}

/// Converts an outcome for the run; `None` if the run is to be cancelled.
fn told(outcome: Outcome) -> Option<ActivityOutcome> {
    match outcome {
        Outcome::Done { stdout, stderr } => Some(ActivityOutcome::Done {
            output: Value::from(stdout),
            stderr,
        }),
        Outcome::Failed(failed) => Some(ActivityOutcome::Failed(cause(failed))),
        Outcome::Interrupted => None,
    }
}

/// Converts a failure for the run.
fn cause(failed: Failed) -> Cause {
    let code = failed
        .reason
        .map_or_else(|| Value::from(failed.code), Value::from);
    Cause {
        stdout: failed.stdout,
        stderr: failed.stderr,
        passing: failed.passing,
        ..Cause::new(code, failed.message)
    }
}

/// Creates a failure for an outcome that the run refuses, such as one that is too large.
fn refusal_of<E>(
    effect: &Effect,
    outcome: &ActivityOutcome,
    refusal: Refusal,
) -> Result<ActivityOutcome, DriveError<E>> {
    match outcome {
        ActivityOutcome::Done { stderr, .. } if refusal.code != Code::NothingPending => {
            let code = refusal.code.as_str();
            Ok(ActivityOutcome::Failed(Cause {
                stderr: stderr.clone(),
                ..Cause::new(code, refusal.message)
            }))
        }
        _ => Err(DriveError::Refused {
            path: effect.path.clone(),
            refusal: Box::new(refusal),
        }),
    }
}

fn refused<E>(effect: &Effect, decision: Decision) -> DriveError<E> {
    let refusal = match decision.reply {
        Reply::Refused(refusal) => refusal,
        _ => Refusal::new(Code::NothingPending, "nothing came of it"),
    };
    DriveError::Refused {
        path: effect.path.clone(),
        refusal: Box::new(refusal),
    }
}
