//! `test`: all that a change must pass. `.ci/run` is this and nothing else.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::{lint, setup, steps::Steps, tools};

/// The test programs that run real clients, or take long for another reason; `--quick` leaves them out.
const END_TO_END: &[&str] = &[
    "claude_code",
    "e2e_claude",
    "e2e_clients",
    "e2e_escape",
    "e2e_mods",
    "e2e_sessions",
    "e2e_journeys",
    "e2e_steps",
    "hook_process",
    "kernel_alone",
    "mcp_conformance",
    "mcp_inspector",
    "mcp_load",
    "real_clients",
];
/// What `interlock test` plays.
const CASES: &[&str] = &["tests/cases", "workflows"];

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let quick = match *arguments {
        [] => false,
        ["--quick"] => true,
        _ => bail!("`test` takes `--quick` and nothing else"),
    };
    let mut steps = Steps::default();
    lint::add(&mut steps);
    if !quick {
        steps.own("setup", "what the tests need", setup::install);
    }
    tests(&mut steps, quick)?;
    cases(&mut steps)?;
    Ok(steps.finish())
}

fn tests(steps: &mut Steps, quick: bool) -> Result<()> {
    // Another profile or other features would build everything a second time.
    let mut call = vec!["--locked", "--workspace", "--no-fail-fast"];
    let targets = if quick { Some(quick_targets()?) } else { None };
    let chosen: Vec<&str> = targets.iter().flatten().map(String::as_str).collect();
    if tools::cargo_has("nextest") {
        call.extend(&chosen);
        steps.command(
            "tests",
            tools::cargo(&[&["nextest", "run"], &call[..]].concat()),
        );
        let doc = ["test", "--locked", "--workspace", "--no-fail-fast", "--doc"];
        steps.command("doctests", tools::cargo(&doc));
        return Ok(());
    }
    call.extend(&chosen);
    steps.command("tests", tools::cargo(&[&["test"], &call[..]].concat()));
    Ok(())
}

/// Names every test program but those of [`END_TO_END`].
fn quick_targets() -> Result<Vec<String>> {
    let mut targets = vec!["--lib".to_owned(), "--bins".to_owned()];
    let root = tools::root();
    let mut places = folders(&root.join("crates"))?;
    places.push(root.join("xtask"));
    for place in places {
        for name in test_programs(&place.join("tests"))? {
            if !END_TO_END.contains(&name.as_str()) {
                targets.extend(["--test".to_owned(), name]);
            }
        }
    }
    Ok(targets)
}

fn folders(place: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries =
        fs::read_dir(place).with_context(|| format!("`{}` cannot be read", place.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Lists the test programs of a crate; one without any has none.
fn test_programs(place: &Path) -> Result<Vec<String>> {
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let files = folders(place)?;
    let programs = files
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| path.file_stem())
        .map(|stem| stem.to_string_lossy().into_owned());
    Ok(programs.collect())
}

/// Plays the cases through the program that the tests have built.
fn cases(steps: &mut Steps) -> Result<()> {
    let program = tools::built("debug")?.join("interlock");
    let mut call = tools::program(&program.to_string_lossy(), &["test"]);
    call.args(CASES);
    steps.command("cases", call);
    Ok(())
}
