//! `journeys`: runs every shipped workflow to its end with every real client.

use std::process::ExitCode;

use anyhow::Result;

use crate::{arguments, setup, steps::Steps, tools};

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    steps.own("setup", "what the tests need", setup::install);
    // By default, the tests run a sample.
    let mut tests = tools::tests_of("interlock", "e2e_journeys");
    // Writes the table in the book instead of comparing it.
    tests
        .args(["--", "--nocapture"])
        .env("INTERLOCK_JOURNEYS", "all")
        .env("INTERLOCK_BLESS", "1");
    steps.command("journeys", tests);
    Ok(steps.finish())
}
