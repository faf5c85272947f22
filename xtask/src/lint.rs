//! `lint`: what can be said about a change without running it.

use std::process::ExitCode;

use anyhow::Result;

use crate::{arguments, docs, steps::Steps, tools};

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    add(&mut steps);
    let mut pages = tools::cargo(&["doc", "--locked", "--workspace", "--no-deps"]);
    pages.env("RUSTDOCFLAGS", "-D warnings");
    steps.command("pages of the crates", pages);
    Ok(steps.finish())
}

/// Adds what the tests begin with, too: formatting, clippy and the check of links.
pub(crate) fn add(steps: &mut Steps) {
    steps.command("format", tools::cargo(&["fmt", "--all", "--check"]));
    steps.own(
        "links",
        "every link of the documentation leads somewhere",
        docs::check,
    );
    let clippy = [
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ];
    steps.command("lint", tools::cargo(&clippy));
}
