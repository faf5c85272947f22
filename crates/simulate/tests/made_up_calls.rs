//! Sessions of calls with generated facts: the verdict and the consequences of each are unchanged.
//!
//! Facts are generated field by field, so that the rules get combinations that no line of the other tables has. The
//! lists `data/made_up_calls.txt` and those beside it have a line for each group of sessions. After an intended change,
//! `INTERLOCK_BLESS=1` rewrites them; with `INTERLOCK_FOUND=DIRECTORY`, every session is written there, for comparison
//! with the previous revision.

mod facts;
mod machines;

use std::{fmt::Write as _, ops::Range, path::Path};

use interlock_core::{
    call::ToolCall,
    command::{AGENT, Answer, Command, CommandKind, LineEnd, LineStart, TransitionRequest},
    confinement, decide, evolve,
    guard::GuardRef,
    holds::{Scope, read, unmet},
    keeps_running,
    machine::Machine,
    names::{AgentId, CallId, FramePath, RunId},
    run::{Phase, Run},
    shell_finding,
};
use interlock_testkit::{dice::Dice, found::compare};
use serde_json::{Value, json};

/// Number of groups of sessions, each with its own line in the list.
const GROUPS: u64 = 32;
/// Number of sessions in a group.
const SESSIONS: u64 = 16;
/// Number of commands in a session.
const COMMANDS: usize = 12;
/// Number of moments in a group at which guards are evaluated.
const MOMENTS: u64 = 24;

/// Compares the findings in some of the groups with the list of that name.
fn compare_groups(list: &str, groups: Range<u64>, found: impl Fn(u64) -> String) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let found: Vec<(String, String)> = groups
        .map(|group| (format!("{list}/{group:02}"), found(group)))
        .collect();
    compare(&data.join(format!("{list}.txt")), &found).unwrap();
}

fn sessions(group: u64) -> String {
    let numbers = group * SESSIONS..(group + 1) * SESSIONS;
    numbers.map(Session::played).collect()
}

fn moments(group: u64) -> String {
    let numbers = group * MOMENTS..(group + 1) * MOMENTS;
    numbers.map(moment).collect()
}

// Each in two halves, which run in parallel.

#[test]
fn sessions_of_made_up_calls_are_judged_and_remembered_as_they_were() {
    compare_groups("made_up_calls", 0..GROUPS / 2, sessions);
}

#[test]
fn further_sessions_of_made_up_calls_are_judged_and_remembered_as_they_were() {
    compare_groups("made_up_calls_further", GROUPS / 2..GROUPS, sessions);
}

#[test]
fn guards_say_of_made_up_evidence_what_they_said() {
    compare_groups("made_up_evidence", 0..GROUPS / 2, moments);
}

#[test]
fn guards_say_of_further_made_up_evidence_what_they_said() {
    compare_groups("made_up_evidence_further", GROUPS / 2..GROUPS, moments);
}

/// Returns the results of all guards with a few open calls and generated evidence.
fn moment(number: u64) -> String {
    let mut session = Session::started("made-up evidence", number);
    for _ in 0..session.dice.below(3) {
        let command = session.proposal();
        session.asks(command);
    }
    let mut run = json!(session.run);
    let seq = session.run.seq;
    let keys: Vec<String> = session
        .machine
        .evidence_guards()
        .map(|guard| guard.key())
        .collect();
    for key in keys {
        if !session.dice.one_in(5) {
            run["evidence"][&key] = facts::seen(&mut session.dice, seq);
        }
        if !session.dice.one_in(4) {
            run["baselines"][&key] = facts::baseline(&mut session.dice);
        }
    }
    run["frozen"] = facts::frozen(&mut session.dice);
    let numbers: Vec<u64> = (0..=seq).collect();
    run["last_write"] = match session.dice.one_in(3) {
        true => json!(null),
        false => json!(session.dice.number(&numbers)),
    };
    session.run = serde_json::from_value(run).unwrap();
    session.tells_guards(usize::MAX);
    session.told
}

/// A session, and its answers.
struct Session {
    dice: Dice,
    machine: Machine,
    run: Run,
    calls: usize,
    told: String,
}

impl Session {
    fn started(seed: &str, number: u64) -> Self {
        let mut dice = Dice::of(seed, number);
        let machine: Machine = serde_json::from_value(machines::machine(&mut dice)).unwrap();
        let mut session = Self {
            dice,
            machine,
            run: Run::new(RunId::new("r")),
            calls: 0,
            told: format!("== {number}\n"),
        };
        session.asks(CommandKind::Start {
            input: Default::default(),
            by: "ana".to_owned(),
            durable: None,
        });
        session
    }

    fn played(number: u64) -> String {
        let mut session = Self::started("made-up calls", number);
        for _ in 0..COMMANDS {
            if matches!(session.run.phase, Phase::Ended { .. }) {
                break;
            }
            let command = session.command();
            session.asks(command);
        }
        session.told
    }

    fn asks(&mut self, kind: CommandKind) {
        let command = Command {
            at_ms: 1_000 * self.run.seq,
            kind,
        };
        if let CommandKind::Propose(call) = &command.kind {
            self.looks_at(call);
        }
        let decision = decide(&self.machine, &self.run, &command);
        let _ = writeln!(self.told, "{:?}", decision.reply);
        for event in &decision.events {
            let _ = writeln!(self.told, "{}", json!(event));
        }
        let run = std::mem::replace(&mut self.run, Run::new(RunId::new("r")));
        self.run = decision.events.iter().fold(run, evolve);
        self.tells_guards(4);
    }

    /// Records the findings of the shell rules in a call, and how the kernel would be asked to confine it.
    fn looks_at(&mut self, call: &ToolCall) {
        let finding = shell_finding(&self.machine, &self.run, call);
        let told = &mut self.told;
        let _ = writeln!(told, "{} {}: {finding:?}", call.id, call.tool);
        if let Some(confinement) = confinement(&self.machine, &self.run, call) {
            let listed: Vec<_> = confinement.listed.iter().map(|one| &one.words).collect();
            let is = [
                confinement.by_person,
                confinement.reads,
                confinement.contained,
                confinement.nothing,
                confinement.fetches,
                keeps_running(confinement.policy, call.facts.shell.as_ref().unwrap()),
            ];
            let _ = writeln!(
                told,
                "  at {}: {:?} {is:?} {:?} {listed:?}",
                confinement.path, confinement.stance, confinement.probes
            );
        }
    }

    /// Records for some of the guards whether they hold now, and what they read.
    fn tells_guards(&mut self, most: usize) {
        let scope = Scope {
            machine: &self.machine,
            run: &self.run,
            frame: &self.run.root,
        };
        let guards = self.machine.guards.len();
        let from = self.dice.below(guards);
        for name in self
            .machine
            .guards
            .keys()
            .cycle()
            .skip(from)
            .take(most.min(guards))
        {
            let guard = [GuardRef::Named(name.clone())];
            let (unmet, read) = (unmet(scope, &guard), read(scope, &guard));
            let _ = writeln!(self.told, "{name}: {unmet:?} {}", json!(read));
        }
    }

    fn command(&mut self) -> CommandKind {
        match self.dice.below(20) {
            0..=9 => self.proposal(),
            10..=12 => self.result(),
            13 => CommandKind::StartLine(LineStart {
                call: self.some_call(),
                level: self.dice.word(&["files", "environment"]),
                unconfined: Vec::new(),
            }),
            14 | 15 => self.line_end(),
            16 | 17 => self.transition(),
            18 => self.answer(),
            _ => self.report(),
        }
    }

    fn proposal(&mut self) -> CommandKind {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        CommandKind::Propose(Box::new(facts::call(&mut self.dice, &id)))
    }

    /// Returns the id of a proposed call.
    fn some_call(&mut self) -> CallId {
        let back = if self.dice.one_in(2) { 3 } else { 1 };
        let number = self.calls - self.dice.below(self.calls.min(back));
        CallId::new(format!("c{number}"))
    }

    fn result(&mut self) -> CommandKind {
        let id = (!self.dice.one_in(6)).then(|| self.some_call());
        let mut result = json!({
            "id": id, "ok": !self.dice.one_in(3), "exit": facts::exit(&mut self.dice),
            "bytes": self.dice.number(&[0, 10, 60]), "wrote": facts::wrote(&mut self.dice),
        });
        if self.dice.one_in(2) {
            result["commands"] = facts::probed(&mut self.dice);
            result["checked"] = facts::checked(&mut self.dice);
        }
        CommandKind::Record(serde_json::from_value(result).unwrap())
    }

    fn line_end(&mut self) -> CommandKind {
        let of = |value: Value| serde_json::from_value(value).unwrap();
        CommandKind::EndLine(LineEnd {
            call: self.some_call(),
            path: FramePath::root(),
            exit: serde_json::from_value(facts::exit(&mut self.dice)).unwrap(),
            wrote: of(facts::wrote(&mut self.dice)),
            commands: serde_json::from_value(facts::probed(&mut self.dice)).unwrap(),
            unseen: self.dice.one_in(4),
            checked: serde_json::from_value(facts::checked(&mut self.dice)).unwrap(),
        })
    }

    fn transition(&mut self) -> CommandKind {
        let agent = facts::agent(&mut self.dice).map(AgentId::new);
        CommandKind::Transition(TransitionRequest {
            event: self.dice.word(&["DONE", "ASK", "NEXT"]),
            data: Default::default(),
            branch: facts::branch(&mut self.dice),
            agent,
            by: AGENT.to_owned(),
            approved_by: None,
        })
    }

    fn answer(&mut self) -> CommandKind {
        let answer = Answer {
            by: "ana".to_owned(),
            ..Answer::default()
        };
        if self.dice.one_in(4) {
            CommandKind::Reject(answer)
        } else {
            CommandKind::Approve(answer)
        }
    }

    fn report(&mut self) -> CommandKind {
        if self.dice.one_in(2) {
            let changes = facts::frozen(&mut self.dice);
            return CommandKind::ReportFrozen {
                changes: serde_json::from_value(changes).unwrap(),
            };
        }
        CommandKind::ReportFiles {
            files: vec![self.dice.word(&["a", "db/x"])],
            before: None,
        }
    }
}
