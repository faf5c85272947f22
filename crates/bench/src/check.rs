//! Measures the check of a large workflow by the program.

use std::{
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::{arguments::Arguments, sample, table::Table, workflow};

const STATES: usize = 1_000;
const TARGET: Duration = Duration::from_millis(300);

/// Measures `interlock check` from the start of the process to its end.
pub(crate) fn check(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ring.json");
    let in_one_line = workflow::ring(STATES);
    let value: Value = serde_json::from_str(&in_one_line)?;
    let in_many = serde_json::to_string_pretty(&value)?;
    for (text, how) in [(in_many, "many lines"), (in_one_line, "one line")] {
        fs::write(&file, text)?;
        let run = || {
            let mut command = Command::new(&arguments.interlock);
            command.arg("check").arg(&file).stdin(Stdio::null());
            command.output()
        };
        let output = run()?;
        ensure!(output.status.success(), "{output:?}");
        let took = sample::time(run);
        let what = format!("check: a workflow of {STATES} states in {how}");
        table.time(what, took, TARGET);
    }
    Ok(())
}
