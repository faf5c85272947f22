//! The world of a run: a log that survives, a clock, programs that end in any order, people, and disturbances.
//!
//! It inspects everything that is requested from it, and reports violated invariants.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Command, CommandKind, EffectStatus},
    decide, effects,
    event::{Cause, Event},
    evolve,
    machine::{EffectKind, Machine},
    names::{FramePath, RunId},
    run::{Frame, Run},
};
use interlock_expr::text::Files;
use interlock_runner::{Appended, Failed, Happening, Host, Order, Outcome};
use serde_json::{Value, json};

use crate::simulation::choices::Choices;

/// Maximum number of disturbances in one schedule; after them all is calm, so that it ends.
const TROUBLES_MAX: u32 = 14;
/// Number of steps after which a run counts as endless.
const HAPPENINGS_MAX: u32 = 600;

/// Why the host stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The process died, or its disk did.
    #[error("crash")]
    Crash,
    /// An invariant was violated.
    #[error("{0}")]
    Wrong(String),
}

/// A running effect.
struct Job {
    id: String,
    attempt: u32,
    frame: FramePath,
    outcome: Outcome,
    stopping: bool,
}

/// The world of a run.
pub(crate) struct World<'m> {
    machine: &'m Machine,
    pub(crate) choices: Choices,
    /// Whether only disturbances occur that must not change the end of the run.
    pub(crate) is_fair: bool,
    /// The only append that a crash precedes or follows.
    crash_at: Option<(u32, bool)>,
    pub(crate) appends: u32,
    log: Vec<Event>,
    pub(crate) run: Run,
    now_ms: u64,
    running: Vec<Job>,
    past: Vec<(String, u32, Outcome)>,
    /// Effects whose end is in the log.
    finished: BTreeSet<String>,
    troubles: u32,
    happenings: u32,
    wrong: Option<String>,
    /// The trace, line by line; `None` if nobody reads it.
    pub(crate) trace: Option<Vec<String>>,
}

impl<'m> World<'m> {
    pub(crate) fn new(
        machine: &'m Machine,
        choices: Choices,
        is_fair: bool,
        crash_at: Option<(u32, bool)>,
    ) -> Self {
        Self {
            machine,
            choices,
            is_fair,
            crash_at,
            appends: 0,
            log: Vec::new(),
            run: Run::new(RunId::new("r")),
            now_ms: 1_000,
            running: Vec::new(),
            past: Vec::new(),
            finished: BTreeSet::new(),
            troubles: 0,
            happenings: 0,
            wrong: None,
            trace: None,
        }
    }

    pub(crate) fn log(&self) -> &[Event] {
        &self.log
    }

    /// Returns the log after the end.
    pub(crate) fn take_log(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.log)
    }

    /// Starts a new process after the previous one died: none of its effects run any more.
    pub(crate) fn begin_again(&mut self) {
        self.running.clear();
        self.note(|| "a new process".to_owned());
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// Returns whether a chosen disturbance happens: their number is limited.
    fn trouble(&mut self) -> bool {
        self.troubles += 1;
        self.troubles <= TROUBLES_MAX
    }

    fn complain(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }

    /// Folds the log, as a process does that opens it again.
    pub(crate) fn folded(&self) -> Run {
        self.log.iter().fold(Run::new(RunId::new("r")), evolve)
    }

    /// Appends events to the log.
    fn keep(&mut self, events: &[Event], who: &str) {
        for event in events {
            // A person may still set variables, to continue with them.
            let goes_on = matches!(
                event,
                Event::RunReopened { .. } | Event::VariablesSet { .. }
            );
            if self.run.is_over() && !goes_on {
                self.complain(format!("`{}` after the end of the run", event.name()));
            }
            self.note(|| format!("{who}: {}", serde_json::to_string(event).unwrap()));
            self.note_end(event);
            let run = std::mem::replace(&mut self.run, Run::new(RunId::new("")));
            self.run = evolve(run, event);
            self.log.push(event.clone());
        }
        let mut wrong = None;
        look_at_forks(self.machine, &self.run.root, &mut wrong);
        if let Some(wrong) = wrong {
            self.complain(wrong);
        }
    }

    /// Records the effect that `event` ends.
    fn note_end(&mut self, event: &Event) {
        let Event::ActivityEnded { path, .. } = event else {
            return;
        };
        let Some(frame) = self
            .run
            .frame(path)
            .filter(|frame| frame.stay.effect().is_some())
        else {
            return;
        };
        let id = format!("r/{path}/{}", frame.stay.entered_seq);
        if !self.finished.insert(id.clone()) {
            self.complain(format!("`{id}` ends twice"));
        }
    }

    /// Appends as another writer; returns whether there was anything to write.
    fn other_writer(&mut self) -> bool {
        let by = || "somebody".to_owned();
        let kinds = if self.is_fair { 6 } else { 7 };
        let command = match self.choices.below(kinds) {
            0 => CommandKind::Advance,
            1 => CommandKind::Pause {
                by: by(),
                reason: None,
            },
            2 => CommandKind::Resume {
                by: by(),
                seen: None,
            },
            // A runner that assumed this one to be dead.
            3 => CommandKind::LoseEffects,
            // A runner that was assumed to be dead and still reports its results.
            4 | 5 => match self.still_meant() {
                None => CommandKind::Advance,
                Some(at) => {
                    let job = &self.running[at];
                    CommandKind::EndActivity {
                        path: Some(job.frame.to_string()),
                        outcome: told(&job.outcome),
                    }
                }
            },
            _ => CommandKind::SetVariables {
                values: json!({ "v1": "set" }).as_object().unwrap().clone(),
                by: by(),
            },
        };
        self.write(command, "other")
    }

    /// Chooses a running effect that the run still waits for.
    fn still_meant(&mut self) -> Option<usize> {
        let len = self.running.len();
        let at = (len > 0).then(|| self.choices.place(len))?;
        let job = &self.running[at];
        effects(self.machine, &self.run)
            .iter()
            .any(|effect| {
                let open = matches!(effect.status, EffectStatus::Running | EffectStatus::Person);
                open && effect.id == job.id && effect.attempt == job.attempt
            })
            .then_some(at)
    }

    fn write(&mut self, command: CommandKind, who: &str) -> bool {
        let command = Command {
            at_ms: self.now_ms,
            kind: command,
        };
        let decision = decide(self.machine, &self.run, &command);
        let refused = matches!(decision.reply, Reply::Refused(_));
        if refused || decision.events.is_empty() {
            return false;
        }
        self.keep(&decision.events, who);
        true
    }

    /// Ends one of the running effects.
    fn end(&mut self, at: usize) -> (String, u32, Outcome) {
        let job = self.running.remove(at);
        let killed = job.stopping && self.choices.below(2) == 0;
        let outcome = if killed {
            Failed::new(130, "it was cancelled").into()
        } else {
            job.outcome
        };
        self.past
            .push((job.id.clone(), job.attempt, outcome.clone()));
        (job.id, job.attempt, outcome)
    }

    fn ended(&mut self, at: usize) -> Happening {
        let (id, attempt, outcome) = self.end(at);
        self.note(|| format!("ended: {id} try {attempt}: {outcome:?}"));
        Happening::Ended {
            id,
            attempt,
            outcome,
        }
    }

    /// Chooses a disturbance; returns `None` if none happens.
    fn troubled(&mut self) -> Result<Option<Happening>, Stop> {
        match self.choices.below(40) {
            30 if self.trouble() => {
                self.note(|| "crash".to_owned());
                Err(Stop::Crash)
            }
            31 if !self.past.is_empty() => {
                let at = self.choices.place(self.past.len());
                let (id, attempt, outcome) = self.past[at].clone();
                // An effect whose end the host has reported is not running.
                if self.running.iter().any(|job| job.id == id) {
                    return Ok(None);
                }
                self.note(|| format!("told again: {id} try {attempt}"));
                Ok(Some(Happening::Ended {
                    id,
                    attempt,
                    outcome,
                }))
            }
            32..=34 if self.trouble() && self.other_writer() => Ok(Some(Happening::LogGrew)),
            35 if self.trouble() => Ok(Some(Happening::CancelAsked {
                by: "somebody".to_owned(),
            })),
            36 if !self.running.is_empty() && self.trouble() => {
                // It was done, but not reported.
                let at = self.choices.place(self.running.len());
                let (id, ..) = self.end(at);
                self.note(|| format!("crash after the end of {id}"));
                Err(Stop::Crash)
            }
            37..=39 => {
                self.now_ms += 7;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn check_start(&self, order: &Order) -> Result<FramePath, String> {
        let id = &order.id;
        if self.finished.contains(id) {
            return Err(format!("`{id}` is started again after its end"));
        }
        if self.running.iter().any(|job| job.id == *id) {
            return Err(format!("`{id}` is started while it runs"));
        }
        let listed = effects(self.machine, &self.run)
            .into_iter()
            .find(|effect| effect.id == *id && effect.attempt == order.attempt)
            .filter(|effect| matches!(effect.status, EffectStatus::Running | EffectStatus::Person));
        let listed =
            listed.ok_or_else(|| format!("`{id}` is started and the log has no start of it"))?;
        self.check_caps(&listed.frame)?;
        Ok(listed.frame)
    }

    /// Counts the running branches of each fork around `frame`, independently of the engine.
    fn check_caps(&self, frame: &FramePath) -> Result<(), String> {
        let mut outer = frame.clone();
        while let Some((parent, name)) = outer.split_last() {
            let name = name.to_owned();
            if let Some(most) = cap(self.machine, self.run.frame(&parent)) {
                let depth = parent.names().len();
                let mut branches: BTreeSet<&str> = self
                    .running
                    .iter()
                    .filter(|job| parent.holds(&job.frame))
                    .filter_map(|job| job.frame.names().get(depth).map(String::as_str))
                    .collect();
                branches.insert(&name);
                if branches.len() > most {
                    return Err(format!(
                        "{} branches of `{parent}` run and {most} may",
                        branches.len()
                    ));
                }
            }
            outer = parent;
        }
        Ok(())
    }
}

/// Returns the maximum number of running branches in the fork that contains `frame`.
fn cap(machine: &Machine, frame: Option<&Frame>) -> Option<usize> {
    let frame = frame?;
    let state = machine
        .called(frame.machine.as_ref())?
        .states
        .get(&frame.at)?;
    state.activity.parallel()?.concurrency
}

/// Searches for a fork with more open branches than permitted.
fn look_at_forks(machine: &Machine, frame: &Frame, wrong: &mut Option<String>) {
    let open = frame
        .regions
        .iter()
        .filter(|child| child.ended.is_none())
        .count();
    if cap(machine, Some(frame)).is_some_and(|most| open > most) {
        *wrong = Some(format!("`{}` has {open} branches open", frame.at));
    }
    for child in &frame.regions {
        look_at_forks(machine, &child.frame, wrong);
    }
}

/// Returns the outcome of `order`, which its command determines.
fn outcome(order: &Order) -> Outcome {
    let command = order.input.get("command").and_then(Value::as_str);
    let done = |stdout: String| Outcome::Done {
        stdout,
        stderr: command.unwrap_or_default().to_owned(),
    };
    let Some(command) = command else {
        return done("yes".to_owned());
    };
    let number = |name: &str| -> Option<i64> {
        let (_, rest) = command.split_once(&format!(" {name}="))?;
        rest.split(' ').next()?.parse().ok()
    };
    let (code, until) = (number("code").unwrap_or(0), number("until").unwrap_or(0));
    if code != 0 && (until == 0 || i64::from(order.attempt) < until) {
        return Outcome::Failed(Failed {
            stderr: "why".to_owned(),
            ..Failed::new(code, format!("it ended with {code}"))
        });
    }
    match number("lines") {
        Some(lines) => done((0..lines).map(|line| format!("line {line}\n")).collect()),
        // Few values, so that some are equal.
        None => done(["a", "b", "c"][command.len() % 3].to_owned()),
    }
}

fn told(outcome: &Outcome) -> ActivityOutcome {
    match outcome {
        Outcome::Done { stdout, stderr } => ActivityOutcome::Done {
            output: json!(stdout),
            stderr: stderr.clone(),
        },
        Outcome::Failed(failed) => {
            ActivityOutcome::Failed(Cause::new(failed.code, failed.message.clone()))
        }
        Outcome::Interrupted => ActivityOutcome::Failed(Cause::new(130, "interrupted")),
    }
}

impl Host for World<'_> {
    type Error = Stop;

    fn now_ms(&mut self) -> u64 {
        self.now_ms += self.choices.below(3);
        self.now_ms
    }

    fn load(&mut self) -> Result<Run, Stop> {
        let folded = self.folded();
        if folded != self.run {
            return Err(Stop::Wrong("the log replays to another state".to_owned()));
        }
        Ok(folded)
    }

    fn events(&mut self, from: u64) -> Result<Vec<Event>, Stop> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(self.log.iter().skip(from).cloned().collect())
    }

    fn append(&mut self, expected: u64, _: u64, events: &[Event]) -> Result<Appended, Stop> {
        if events.is_empty() {
            return Ok(Appended::Kept);
        }
        self.appends += 1;
        let mut crash = match self.crash_at {
            Some((at, after)) if at == self.appends => Some(after),
            _ => None,
        };
        match self.choices.below(40) {
            30 if self.trouble() => crash = Some(false),
            31 if self.trouble() => crash = Some(true),
            32 if self.trouble() => drop(self.other_writer()),
            _ => {}
        }
        if crash == Some(false) {
            self.note(|| "crash before an append".to_owned());
            return Err(Stop::Crash);
        }
        if u64::try_from(self.log.len()).unwrap() != expected {
            return Ok(Appended::Conflict);
        }
        self.keep(events, "log");
        if crash == Some(true) {
            self.note(|| "crash after an append".to_owned());
            return Err(Stop::Crash);
        }
        Ok(Appended::Kept)
    }

    fn takes(&mut self, order: &Order) -> bool {
        match order.kind {
            EffectKind::Pause => false,
            EffectKind::Ask => order.alone && self.choices.below(2) == 0,
            _ => true,
        }
    }

    fn start(&mut self, order: Order) {
        self.note(|| format!("start: {} try {}", order.id, order.attempt));
        match self.check_start(&order) {
            Ok(frame) => self.running.push(Job {
                outcome: outcome(&order),
                id: order.id,
                attempt: order.attempt,
                frame,
                stopping: false,
            }),
            Err(wrong) => self.complain(wrong),
        }
    }

    fn stop(&mut self, id: &str) {
        self.note(|| format!("stop: {id}"));
        for job in self.running.iter_mut().filter(|job| job.id == id) {
            job.stopping = true;
        }
    }

    fn read(&mut self, paths: &[String]) -> Files {
        let files = paths
            .iter()
            .map(|path| (path.clone(), Ok("note".to_owned())));
        files.collect::<BTreeMap<_, _>>()
    }

    fn next(&mut self, until_ms: Option<u64>) -> Result<Happening, Stop> {
        self.happenings += 1;
        if self.happenings > HAPPENINGS_MAX {
            return Err(Stop::Wrong("the run has no end".to_owned()));
        }
        if let Some(wrong) = &self.wrong {
            return Err(Stop::Wrong(wrong.clone()));
        }
        if let Some(happening) = self.troubled()? {
            return Ok(happening);
        }
        match (self.running.len(), until_ms) {
            (0, Some(until)) => {
                self.now_ms = self.now_ms.max(until);
                Ok(Happening::Tick)
            }
            (0, None) if self.run.paused.is_some() => {
                let by = "somebody".to_owned();
                self.write(CommandKind::Resume { by, seen: None }, "other");
                Ok(Happening::LogGrew)
            }
            (0, None) => Err(Stop::Wrong("the runner waits for nothing".to_owned())),
            (len, Some(until))
                if until <= self.now_ms || self.choices.below(len as u64 + 1) == len as u64 =>
            {
                self.now_ms = self.now_ms.max(until);
                Ok(Happening::Tick)
            }
            (len, _) => {
                let at = self.choices.place(len);
                Ok(self.ended(at))
            }
        }
    }
}

impl World<'_> {
    /// Returns the first violated invariant, if there is one.
    pub(crate) fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }
}
