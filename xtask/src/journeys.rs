//! `journeys`: every shipped workflow, finished by every real client.

use std::process::ExitCode;

use anyhow::Result;

use crate::{arguments, setup, steps::Steps, tools};

/// The tests that play a sample of the journeys where this does not ask for all.
const TEST: &[&str] = &[
    "test",
    "--locked",
    "--package",
    "interlock",
    "--test",
    "e2e_journeys",
    "--",
    "--nocapture",
];

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    steps.own("setup", "what the tests need", setup::install);
    let mut tests = tools::cargo(TEST);
    // The table in the book is written, not compared.
    tests
        .env("INTERLOCK_JOURNEYS", "all")
        .env("INTERLOCK_BLESS", "1");
    steps.command("journeys", tests);
    Ok(steps.finish())
}
