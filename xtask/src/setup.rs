//! `setup`: what the tests need, at pinned versions.

use std::process::ExitCode;

use anyhow::Result;

use crate::{chores, npm, tools};

/// Where the real clients are named that the end-to-end tests run.
const CLIENTS: &str = "tests/e2e";

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    chores::none(arguments)?;
    install()?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the programs and installs the clients.
pub(crate) fn install() -> Result<()> {
    tools::check_programs()?;
    if npm::install(CLIENTS)? {
        println!("{CLIENTS}: installed");
    } else {
        println!("{CLIENTS}: as its lock file has it, nothing to do");
    }
    Ok(())
}
