//! `test`: all that a change must pass. `.ci/run` is this and nothing else.

use std::{collections::BTreeSet, fs, path::Path, process::ExitCode, thread};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{console, lint, setup, steps::Steps, tools};

/// The test programs that run real clients, or take long for another reason; `--quick` leaves them out,
/// and those whose names begin with `e2e_`.
const END_TO_END: &[&str] = &[
    "claude_code",
    "hook_process",
    "kernel_alone",
    "mcp_conformance",
    "mcp_inspector",
    "mcp_load",
    "packages",
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
    // It waits for the network, and lint for the compiler.
    let setup = (!quick).then(|| thread::spawn(setup::install));
    lint::add(&mut steps);
    if let Some(setup) = setup {
        steps.own("setup", "what the tests need", || match setup.join() {
            Ok(installed) => installed,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        steps.own(
            "console",
            "the built page is that of its sources",
            console::check,
        );
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
        // Many tests wait for a client or a server: one more than there are cores.
        let threads = thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
        let threads = threads.to_string();
        call.extend(["--test-threads", &threads]);
        call.extend(&chosen);
        steps.command(
            "tests",
            tools::cargo(&[&["nextest", "run"], &call[..]].concat()),
        );
        // All libraries are built once more for them.
        if has_examples(&tools::root().join("crates"))? {
            let doc = ["test", "--locked", "--workspace", "--no-fail-fast", "--doc"];
            steps.command("doctests", tools::cargo(&doc));
        }
        return Ok(());
    }
    call.extend(&chosen);
    steps.command("tests", tools::cargo(&[&["test"], &call[..]].concat()));
    Ok(())
}

/// Tells whether a source below `folder` has an example in its docs that is compiled.
fn has_examples(folder: &Path) -> Result<bool> {
    let unreadable = || format!("`{}` cannot be read", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let found = if path.is_dir() {
            has_examples(&path)?
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("`{}` cannot be read", path.display()))?;
            begins_example(&text)
        } else {
            false
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn begins_example(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(language) = doc.and_then(|doc| doc.trim_start().strip_prefix("```")) else {
            continue;
        };
        let words = ["text", "json", "yaml", "toml", "sh", "ignore"];
        if !inside && !words.contains(&language.trim()) {
            return true;
        }
        inside = !inside;
    }
    false
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
        if !name.starts_with("e2e_") && !END_TO_END.contains(&name.as_str()) {
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

    use super::{begins_example, test_programs};

    #[test]
    fn an_example_of_the_docs_is_seen() {
        for (text, seen) in [
            ("/// Words.\n/// ```\n/// one();\n/// ```\n", true),
            ("    //! ```no_run\n    //! one();\n    //! ```\n", true),
            ("/// ```text\n/// one\n/// ```\nfn one() {}\n", false),
            ("let text = \"```\";\n// ```\n", false),
        ] {
            assert_eq!(begins_example(text), seen, "{text}");
        }
    }

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
