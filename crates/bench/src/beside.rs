//! Compares the engine with XState: transitions a second with the same workflow.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use interlock_core::{
    Reply,
    command::{CommandKind, TransitionRequest},
    decide, evolve,
    machine::Object,
    names::RunId,
    run::Run,
};
use serde_json::json;

use crate::{
    arguments::Arguments,
    engine::{begun, command},
    sample,
    table::Table,
    workflow,
};

/// Number of alternations, so that load on the machine slows both.
const TURNS: usize = 5;

/// Measures a guarded transition that changes the context, decided and folded.
pub(crate) fn transitions(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        ours.push(one()?);
        theirs.push(other(&arguments.beside)?);
    }
    let (ours, theirs) = (
        a_second(sample::median(ours)),
        a_second(sample::median(theirs)),
    );
    table.seen(
        "beside: transitions a second, without a store",
        format!("{ours:.0}"),
        format!("XState: {theirs:.0}"),
        ours / theirs,
    );
    Ok(())
}

fn a_second(took: Duration) -> f64 {
    1.0 / took.as_secs_f64()
}

/// Measures one transition of ours.
fn one() -> Result<Duration> {
    let machine = workflow::machine(&workflow::rounds())?;
    let mut run = begun(&machine);
    let mut round = 0_u64;
    let mut refused = None;
    let took = sample::time(|| {
        round += 1;
        let mut data = Object::new();
        data.insert("round".to_owned(), json!(round));
        let request = TransitionRequest {
            event: "GO".to_owned(),
            data,
            branch: None,
            agent: None,
            by: "agent".to_owned(),
            approved_by: None,
        };
        let decision = decide(&machine, &run, &command(CommandKind::Transition(request)));
        if decision.reply != Reply::Accepted {
            refused = Some(decision.reply);
        }
        let before = std::mem::replace(&mut run, Run::new(RunId::new("")));
        run = decision.events.iter().fold(before, evolve);
    });
    ensure!(refused.is_none(), "a transition is refused: {refused:?}");
    let kept = run.root.line.context.get("round");
    ensure!(
        kept == Some(&json!(round)),
        "the data is not kept: {kept:?}"
    );
    Ok(took)
}

/// Returns the time of one of their transitions, as printed by their script.
fn other(script: &str) -> Result<Duration> {
    let mut node = Command::new("node");
    let output = node.arg(script).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    let nanos: f64 = text
        .trim()
        .parse()
        .with_context(|| format!("`{text}` is not a time"))?;
    Ok(Duration::from_secs_f64(nanos / 1e9))
}
