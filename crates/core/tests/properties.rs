//! Generated machines and commands: invariants that hold for all of them.
//!
//! Every run prints its seed on failure; `INTERLOCK_SEED` and `INTERLOCK_SEQUENCES` choose another seed and number of
//! sequences.

mod generate;
mod history;
mod reference;

use generate::{command, machine};
use interlock_core::{
    Reply, command::CommandKind, decide, event::Event, evolve, names::RunId, run::Run,
};
use interlock_testkit::dice::Dice;
use reference::Reference;

const SEQUENCES: u64 = 4_000;
const COMMANDS_MAX: u64 = 24;

#[expect(
    clippy::disallowed_methods,
    reason = "the test is told its seed, the engine is not"
)]
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn play(seed: u64) {
    let mut dice = Dice::of_seed(seed);
    let machine = machine(&mut dice);
    let mut run = Run::new(RunId::new("r"));
    let mut reference = Reference::new(&machine);
    let mut events = Vec::new();
    for step in 0..=dice.number_below(COMMANDS_MAX) {
        let command = command(&mut dice, &machine, step);
        let decision = decide(&machine, &run, &command);
        assert_eq!(
            decision,
            decide(&machine, &run, &command),
            "seed {seed} step {step}: same inputs, other decision"
        );
        let refused = matches!(
            (&command.kind, &decision.reply),
            (CommandKind::Transition(_), Reply::Refused(_))
        );
        let moved =
            |event: &Event| matches!(event, Event::TransitionTaken { by, .. } if by == "agent");
        assert!(
            !(refused && decision.events.iter().any(moved)),
            "seed {seed} step {step}: a transition that was refused moved the run\n{decision:#?}"
        );
        for event in &decision.events {
            reference.check(&run, event).unwrap_or_else(|wrong| {
                panic!("seed {seed} step {step}: {wrong}\ncommand {command:?}\nevent {event:?}\nmachine {machine:#?}")
            });
            reference.follow(&run, event);
            run = evolve(run, event);
        }
        events.extend(decision.events);
        reference.check_standing(&run).unwrap_or_else(|wrong| {
            panic!("seed {seed} step {step}: {wrong}\ncommand {command:?}\nevents {events:#?}\nrun {run:#?}\nmachine {machine:#?}")
        });
    }
    let replayed = events.iter().fold(Run::new(RunId::new("r")), evolve);
    assert_eq!(replayed, run, "seed {seed}: the replayed run differs");
    let text = serde_json::to_string(&run).expect("a run is JSON");
    let read: Run = serde_json::from_str(&text).expect("a snapshot is read back");
    assert_eq!(read, run, "seed {seed}: the snapshot differs");
}

#[test]
fn no_sequence_of_commands_breaks_a_rule() {
    let first = setting("INTERLOCK_SEED", 1);
    for seed in first..first + setting("INTERLOCK_SEQUENCES", SEQUENCES) {
        play(seed);
    }
}
