//! A run that has begun.

use interlock_core::{
    command::{Command, CommandKind},
    decide, evolve,
    machine::Machine,
    names::RunId,
    run::Run,
};

/// Starts a run of a machine, without input.
pub(crate) fn started(machine: &Machine) -> Run {
    let run = Run::new(RunId::new("r"));
    let command = CommandKind::Start {
        input: Default::default(),
        by: "ana".to_owned(),
        durable: None,
    };
    let decision = decide(
        machine,
        &run,
        &Command {
            at_ms: 1,
            kind: command,
        },
    );
    decision.events.iter().fold(run, evolve)
}
