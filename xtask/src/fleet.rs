//! `bench fleet` and `nemesis`: the figures of the fleet, and its log under faults, by a program of their own.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::tools;

/// What is built together: the programs as they are shipped, and the one that starts them.
const BUILDS: &[&[&str]] = &[
    &[
        "--package",
        "interlock",
        "--package",
        "interlock-shared",
        "--package",
        "interlock-worker",
    ],
    &["--package", "interlock-fleet-trials"],
];

/// Measures the fleet.
pub(crate) fn bench(arguments: &[&str]) -> Result<ExitCode> {
    trial("bench", arguments)
}

/// Tries the log of the fleet under faults.
pub(crate) fn nemesis(arguments: &[&str]) -> Result<ExitCode> {
    trial("nemesis", arguments)
}

fn trial(name: &str, arguments: &[&str]) -> Result<ExitCode> {
    for packages in BUILDS {
        let build = [&["build", "--release", "--locked", "--quiet"], *packages].concat();
        if !tools::cargo(&build).status()?.success() {
            bail!("`cargo {}` failed", build.join(" "));
        }
    }
    let program = tools::built("release")?.join("interlock-fleet-trials");
    let words = [&[name], arguments].concat();
    let status = tools::program(&program.to_string_lossy(), &words).status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
