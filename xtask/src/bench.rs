//! `bench`: measurements against the targets, as ratios within one run.

use std::process::ExitCode;

use anyhow::Result;

use crate::{chores, npm, steps::Steps, tools};

/// Where the state machine library is named that the engine is measured beside.
const OTHERS: &str = "tests/bench";

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    chores::none(arguments)?;
    tools::check_node()?;
    npm::install(OTHERS)?;
    let mut steps = Steps::default();
    steps.command("build", tools::cargo(&["build", "--release", "--locked"]));
    Ok(steps.finish())
}
