//! `test`: all that a change must pass. `.ci/run` is this and nothing else.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

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
    let mut call = tools::cargo(&["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    let output = call.output().context("`cargo metadata` cannot be asked")?;
    let said: Value = serde_json::from_slice(&output.stdout)
        .context("`cargo metadata` says no JSON: is `Cargo.lock` as it should be?")?;
    let programs = test_programs(&said);
    if programs.is_empty() {
        bail!("`cargo metadata` names no test program");
    }
    let mut targets = vec!["--lib".to_owned(), "--bins".to_owned()];
    for name in programs {
        if !END_TO_END.contains(&name.as_str()) {
            targets.extend(["--test".to_owned(), name]);
        }
    }
    Ok(targets)
}

/// Lists the test programs of all crates, whatever form their files have.
fn test_programs(metadata: &Value) -> BTreeSet<String> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned();
    let packages = list(metadata, "packages").unwrap_or_default();
    let targets = packages
        .iter()
        .filter_map(|package| list(package, "targets"));
    targets
        .flatten()
        .filter(|target| {
            let kinds = list(target, "kind").unwrap_or_default();
            kinds.iter().any(|kind| kind == "test")
        })
        .filter_map(|target| target.get("name")?.as_str().map(str::to_owned))
        .collect()
}

/// Plays the cases through the program that the tests have built.
fn cases(steps: &mut Steps) -> Result<()> {
    let program = tools::built("debug")?.join("interlock");
    let mut call = tools::program(&program.to_string_lossy(), &["test"]);
    call.args(CASES);
    steps.command("cases", call);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::test_programs;

    #[test]
    fn a_test_program_may_be_a_folder() {
        let target = |kind: &str, name: &str, place: &str| json!({"kind": [kind], "name": name, "src_path": place});
        let metadata = json!({"packages": [
            {"targets": [target("lib", "a", "/a/src/lib.rs"), target("test", "one", "/a/tests/one.rs")]},
            {"targets": [target("test", "many", "/b/tests/many/main.rs"), target("bench", "c", "/b/c.rs")]},
        ]});
        let found: Vec<String> = test_programs(&metadata).into_iter().collect();
        assert_eq!(found, ["many", "one"]);
    }
}
