//! A large workflow, checked by the program itself.

use std::{
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, ensure};

use crate::{arguments::Arguments, sample, table::Table, workflow};

const STATES: usize = 1_000;
const TARGET: Duration = Duration::from_millis(300);

/// Measures `interlock check`, from the start of the process to its end.
pub(crate) fn check(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ring.json");
    fs::write(&file, workflow::ring(STATES))?;
    let run = || {
        let mut command = Command::new(&arguments.interlock);
        command.arg("check").arg(&file).stdin(Stdio::null());
        command.output()
    };
    let output = run()?;
    ensure!(output.status.success(), "{output:?}");
    let took = sample::time(run);
    table.time(
        format!("check: a workflow of {STATES} states"),
        took,
        TARGET,
    );
    Ok(())
}
