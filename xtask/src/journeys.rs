//! `journeys`: every shipped workflow, finished by every real client.

use std::process::ExitCode;

use anyhow::Result;

use crate::{arguments, setup, steps::Steps, tools};

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    steps.own("setup", "what the tests need", setup::install);
    // They play a sample where this does not ask for all.
    let mut tests = tools::tests_of("interlock", "e2e_journeys");
    // The table in the book is written, not compared.
    tests
        .args(["--", "--nocapture"])
        .env("INTERLOCK_JOURNEYS", "all")
        .env("INTERLOCK_BLESS", "1");
    steps.command("journeys", tests);
    Ok(steps.finish())
}
