//! `conformance` and `load`: test the gateway as a whole from outside.

use std::process::ExitCode;

use anyhow::Result;

use crate::{arguments, npm, setup, steps::Steps, tools};

/// Runs the official suite, the scripted clients and servers, and real MCP clients.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    tools::check_node()?;
    npm::install(setup::MCP)?;
    let mut steps = Steps::default();
    build(&mut steps);
    for test in ["mcp_stdio", "mcp_conformance", "mcp_inspector"] {
        let mut call = tools::tests_of("interlock", test);
        call.env("INTERLOCK_WHOLE", "1");
        steps.command(test, call);
    }
    Ok(steps.finish())
}

/// Runs long runs, two hundred clients with fifty thousand calls, and kills a run at five hundred points.
pub(crate) fn load(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    let runs = [
        "test",
        "--locked",
        "--release",
        "--package",
        "interlock-runner",
        "--test",
        "load",
    ];
    let mut runs = tools::cargo(&runs);
    // One at a time, because the tests assert the memory of the process.
    runs.args(["--", "--nocapture", "--test-threads=1"])
        .env("INTERLOCK_WHOLE", "1");
    steps.command("runs", runs);
    for test in ["mcp_load", "kill_sweep"] {
        let mut call = tools::tests_of("interlock", test);
        call.args(["--release", "--", "--nocapture"])
            .env("INTERLOCK_WHOLE", "1");
        steps.command(test, call);
    }
    Ok(steps.finish())
}

/// Builds the test servers, so that the tests do not have to.
fn build(steps: &mut Steps) {
    let programs = [
        "build",
        "--locked",
        "--package",
        "interlock-testkit",
        "--package",
        "interlock-fixture",
        "--bins",
    ];
    steps.command("servers", tools::cargo(&programs));
}
