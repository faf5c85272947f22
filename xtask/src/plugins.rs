//! `plugins`: writes the plugins of the clients from the output of `init`.

use std::process::ExitCode;

use anyhow::Result;

use crate::{arguments, steps::Steps, tools};

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    // The test that otherwise compares them.
    let mut tests = tools::tests_of("interlock-clients", "plugins");
    tests.env("INTERLOCK_BLESS", "1");
    steps.command("plugins", tests);
    Ok(steps.finish())
}
