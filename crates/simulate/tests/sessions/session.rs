//! Sessions of commands: what clients, runners and people may send to a run in its state.

use std::fmt::Write as _;

use interlock_core::{
    Decision, Reply,
    call::ToolCall,
    command::{Command, CommandKind},
    decide,
    dialogue::RunInput,
    effects,
    event::Event,
    evolve,
    machine::{Machine, Mode, ModeRules},
    names::RunId,
    pending::{asked_since, pending},
    run::{DurableRun, Run},
    stage,
};
use interlock_expr::text::Places;
use interlock_view::report;

use interlock_testkit::dice::Dice;

use crate::sessions::{source::Material, varied::varied};

/// Number of commands in a session.
const STEPS: usize = 45;
/// Approximate maximum size of a session in bytes; a longer one ends early.
const TEXT_MAX: usize = 60_000;
/// Number of variants of a session's log that are folded.
const FOLDED: usize = 2;

/// A session in progress.
pub(crate) struct Session<'m> {
    pub(crate) material: &'m Material,
    pub(crate) machine: Machine,
    pub(crate) run: Run,
    pub(crate) at_ms: u64,
    pub(crate) dice: Dice,
    /// Calls proposed so far.
    pub(crate) proposed: Vec<ToolCall>,
    events: Vec<Event>,
    text: String,
}

/// Plays a session and returns the answers, the records, and the consequences for the run.
pub(crate) fn play(material: &Material, number: u64) -> String {
    let mut dice = Dice::of(&material.name, number);
    let machine = if dice.one_in(2) {
        material.machine.clone()
    } else {
        different(&mut dice, material)
    };
    let mut session = Session {
        material,
        machine,
        run: Run::new(RunId::new("r")),
        at_ms: 1_000,
        dice,
        proposed: Vec::new(),
        events: Vec::new(),
        text: String::new(),
    };
    let start = session.start();
    session.ask(start);
    for step in 0..STEPS {
        if session.text.len() > TEXT_MAX {
            break;
        }
        session.at_ms += session.dice.number(&[0, 1, 900, 70_000]);
        if session.run.is_over() && !session.dice.one_in(4) {
            session.begin_another();
        }
        let command = session.command();
        session.ask(command);
        session.look(step % 5 == 4);
    }
    let run = serde_json::to_string(&session.run).unwrap();
    let read: Run = serde_json::from_str(&run).unwrap();
    assert!(read == session.run, "a snapshot gives the run back: {run}");
    session.fold_others();
    session.text
}

/// Returns a machine with some differences from that of the workflow.
pub(crate) fn different(dice: &mut Dice, material: &Material) -> Machine {
    let mut machine = material.machine.clone();
    if !material.may_differ {
        machine.hash = format!("again-{}", dice.below(1_000_000));
        return machine;
    }
    for _ in 0..3 {
        let states: Vec<_> = machine.states.keys().cloned().collect();
        let Some(state) = dice
            .pick(&states)
            .and_then(|name| machine.states.get_mut(name))
        else {
            break;
        };
        *state = varied(dice, state, &material.states, 1);
    }
    if dice.one_in(3) {
        machine.limits = varied(dice, &machine.limits, &[], 1);
        machine.stages = varied(dice, &machine.stages, &[], 1);
    }
    // Not computed from its content, because a new key of machines must not change the sessions.
    machine.hash = format!("different-{}", dice.below(1_000_000));
    machine
}

impl Session<'_> {
    /// Begins another run, of another variant of the machine, if one is over.
    fn begin_another(&mut self) {
        self.fold_others();
        self.machine = different(&mut self.dice, self.material);
        self.run = Run::new(RunId::new("r"));
        self.events.clear();
        let start = self.start();
        self.ask(start);
    }

    fn start(&mut self) -> CommandKind {
        let mode = [Mode::Ask, Mode::Yolo, Mode::Allowlist];
        let mode = self.dice.pick(&mode).copied().unwrap_or_default();
        let mode = self.dice.one_in(3).then(|| ModeRules {
            mode,
            allow: vec!["Bash(make *)".to_owned()],
        });
        let input = if self.dice.one_in(2) {
            Default::default()
        } else {
            self.data()
        };
        CommandKind::Start {
            input,
            by: "ana".to_owned(),
            durable: self.machine.durable.then(|| DurableRun {
                places: Places {
                    run_dir: "/run".to_owned(),
                    project: "/project".to_owned(),
                    home: "/home/you".to_owned(),
                },
                mode,
                input: Some(RunInput {
                    text: self.material.scenario.input.clone(),
                    attached: Vec::new(),
                }),
            }),
        }
    }

    fn ask(&mut self, kind: CommandKind) {
        let adopts = match &kind {
            CommandKind::Adopt { machine, .. } => Some(machine.as_ref().clone()),
            _ => None,
        };
        let before = self.run.seq;
        let command = Command {
            at_ms: self.at_ms,
            kind,
        };
        let Decision {
            events,
            reply,
            path,
        } = decide(&self.machine, &self.run, &command);
        writeln!(self.text, "{path} {reply:?}").unwrap();
        for event in &events {
            writeln!(self.text, "  {}", serde_json::to_string(event).unwrap()).unwrap();
            let run = std::mem::replace(&mut self.run, Run::new(RunId::new("r")));
            self.run = evolve(run, event);
        }
        self.events.extend(events);
        for asked in asked_since(&self.machine, &self.run, before) {
            writeln!(self.text, "  asks {} {}", asked.id(), asked.digest()).unwrap();
        }
        if let (Some(machine), Reply::Accepted) = (adopts, reply) {
            self.machine = machine;
        }
    }

    /// Writes the runs that variants of the log fold to: without an event, or with a duplicate one.
    fn fold_others(&mut self) {
        for _ in 0..FOLDED {
            let at = self.dice.below(self.events.len());
            let times = if self.dice.one_in(3) { 2 } else { 0 };
            let mut run = Run::new(RunId::new("r"));
            for (number, event) in self.events.iter().enumerate() {
                let times = if number == at { times } else { 1 };
                for _ in 0..times {
                    run = evolve(run, event);
                }
            }
            let run = serde_json::to_string(&run).unwrap();
            writeln!(self.text, "{run}").unwrap();
        }
    }

    /// Writes the views of the current run.
    fn look(&mut self, whole: bool) {
        let effects = effects(&self.machine, &self.run);
        let steps: Vec<_> = (self.run.open_leaves().iter())
            .map(|path| stage::step(&self.machine, &self.run, path))
            .collect();
        writeln!(self.text, "  {effects:?} {steps:?}").unwrap();
        if whole {
            let waiting = serde_json::to_string(&pending(&self.machine, &self.run)).unwrap();
            let report = report(&self.machine, &self.run, None);
            let report = serde_json::to_string(&report).unwrap();
            let run = serde_json::to_string(&self.run).unwrap();
            writeln!(self.text, "{waiting}\n{report}\n{run}").unwrap();
        }
    }
}
