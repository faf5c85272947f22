//! A run that has begun.

use interlock_core::{
    command::{Ask, Command},
    decide, evolve,
    machine::Machine,
    names::RunId,
    run::Run,
};

/// Starts a run of a machine, without input.
pub(crate) fn started(machine: &Machine) -> Run {
    let run = Run::new(RunId::new("r"));
    let ask = Ask::Start {
        input: Default::default(),
        by: "ana".to_owned(),
        durable: None,
    };
    let decision = decide(machine, &run, &Command { at_ms: 1, ask });
    decision.events.iter().fold(run, evolve)
}
