//! `plugins`: the plugins of the clients, written from what `init` writes.

use std::process::ExitCode;

use anyhow::Result;

use crate::{arguments, steps::Steps, tools};

/// The test that compares them otherwise.
const TEST: &[&str] = &[
    "test",
    "--locked",
    "--package",
    "interlock-clients",
    "--test",
    "plugins",
];

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    let mut tests = tools::cargo(TEST);
    tests.env("INTERLOCK_BLESS", "1");
    steps.command("plugins", tests);
    Ok(steps.finish())
}
