//! Measures the loading of a long run.

use std::time::Duration;

use anyhow::{Result, ensure};
use interlock_core::{
    call::CallResult,
    command::{Command, CommandKind},
    evolve,
    machine::Object,
    names::CallId,
    run::Run,
};
use interlock_store::{
    Durability, EventLog as _, Home, NewRun, RunLog, SourceFile, Started, submit,
};
use serde_json::json;

use crate::{arguments::Arguments, engine::call, sample, table::Table, workflow};

const EVENTS: u64 = 10_000;
const TARGET: Duration = Duration::from_millis(100);

/// Measures what each hook does first, and the cost of reading the whole log.
pub(crate) fn load(_: &Arguments, table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let home = Home::at(folder.path().join("state"));
    let log = written(&home)?;
    let (id, count) = (log.run().clone(), log.count()?);
    drop(log);
    let loaded = || -> Result<Run> { Ok(home.open_run(&id)?.load()?) };
    ensure!(loaded()?.seq == count, "every event is loaded");
    let took = sample::time(loaded);
    table.time(
        format!("load: a run of {count} events opened"),
        took,
        TARGET,
    );
    let folded = || -> Result<Run> {
        let log = home.open_run(&id)?;
        let mut run = Run::new(id.clone());
        for recorded in log.events(0) {
            run = evolve(run, &recorded?.event);
        }
        Ok(run)
    };
    ensure!(
        folded()? == loaded()?,
        "a snapshot is what the events fold to"
    );
    let took = sample::time(folded);
    table.time(
        format!("load: its {count} events read and folded"),
        took,
        TARGET,
    );
    Ok(())
}

/// Starts a run of a ring of states.
pub(crate) fn started(home: &Home) -> Result<Started> {
    started_with(home, 20)
}

/// Starts a run of a ring of this many states.
pub(crate) fn started_with(home: &Home, states: usize) -> Result<Started> {
    let text = workflow::ring(states);
    let machine = workflow::machine(&text)?;
    let source = SourceFile {
        name: "bench.json".to_owned(),
        text,
    };
    let new = NewRun {
        machine: &machine,
        source: &source,
        project_root: home.path(),
        name: None,
        durability: Durability::Process,
        at_ms: 1_000,
    };
    Ok(home.start_run(&new, Object::new(), "bench")?)
}

/// Creates a run of calls, each proposed and recorded.
fn written(home: &Home) -> Result<RunLog> {
    let machine = workflow::machine(&workflow::ring(20))?;
    let Started {
        mut log, mut run, ..
    } = started(home)?;
    let input = json!({"file_path": "src/main.rs"});
    for number in 0.. {
        if run.seq >= EVENTS {
            break;
        }
        let mut call = call("Read", &input);
        call.id = CallId::new(format!("call_{number}"));
        let result = CallResult {
            id: Some(call.id.clone()),
            ok: true,
            exit: None,
            bytes: 512,
            wrote: Vec::new(),
            commands: Vec::new(),
            checked: interlock_core::substance::Checked::default(),
        };
        for command in [
            CommandKind::Propose(Box::new(call)),
            CommandKind::Record(result),
        ] {
            let at_ms = 1_000 + number;
            submit(
                &mut log,
                &machine,
                &mut run,
                &Command {
                    at_ms,
                    kind: command,
                },
            )?;
        }
    }
    Ok(log)
}
