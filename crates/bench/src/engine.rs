//! Measures one decision on one tool call, without a shell line and without a disk.

use std::time::Duration;

use anyhow::{Result, ensure};
use interlock_clients::{ClientId, tool};
use interlock_core::{
    Reply,
    call::ToolCall,
    command::{Command, CommandKind},
    decide as answer, evolve,
    machine::{Machine, Object},
    names::{CallId, RunId},
    run::Run,
};
use interlock_facts::{CallContext, GivenDisk, Proposal, facts};
use serde_json::{Value, json};

use crate::{arguments::Arguments, sample, table::Table, workflow};

const STATES: usize = 100;
const TARGET: Duration = Duration::from_micros(5);

/// Measures a verdict in a workflow of a hundred states.
pub(crate) fn decide(_: &Arguments, table: &mut Table) -> Result<()> {
    let machine = workflow::machine(&workflow::ring(STATES))?;
    let run = begun(&machine);
    for (what, tool, input, allowed) in [
        ("allowed", "Read", json!({"file_path": "src/main.rs"}), true),
        (
            "denied",
            "WebFetch",
            json!({"url": "https://example.org"}),
            false,
        ),
    ] {
        let command = command(CommandKind::Propose(Box::new(call(tool, &input))));
        let decision = answer(&machine, &run, &command);
        ensure!(
            (decision.reply == Reply::Accepted) == allowed,
            "{decision:?}"
        );
        let took = sample::time(|| answer(&machine, &run, &command));
        table.time(
            format!("decide: a call {what}, {STATES} states"),
            took,
            TARGET,
        );
    }
    Ok(())
}

/// Returns a run of the machine in its first state.
pub(crate) fn begun(machine: &Machine) -> Run {
    let run = Run::new(RunId::new("bench"));
    let start = command(CommandKind::Start {
        input: Object::new(),
        by: "bench".to_owned(),
        durable: None,
    });
    let decision = answer(machine, &run, &start);
    decision.events.iter().fold(run, evolve)
}

/// Returns a command with a fixed time.
pub(crate) fn command(ask: CommandKind) -> Command {
    Command {
        at_ms: 1_000,
        kind: ask,
    }
}

/// Returns a call of one of Claude Code's tools.
pub(crate) fn call(name: &str, input: &Value) -> ToolCall {
    let known = tool(ClientId::ClaudeCode, name);
    let proposal = Proposal {
        id: CallId::new("call"),
        tool: name,
        common: known.common,
        shape: known.shape,
        input,
        doubled: None,
        agent: None,
        branch: None,
    };
    facts(
        proposal,
        &CallContext::of_project("/project"),
        &GivenDisk::empty(),
    )
}
