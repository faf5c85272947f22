//! Evidence: no attempt to hide an exit code, or to choose fewer tests, counts.

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Scenario, Simulation};
use proptest::prelude::*;
use serde_json::json;

const CHECKS: [&str; 7] = [
    "cargo test",
    "pytest",
    "npm test",
    "make check",
    "go test",
    "npx jest",
    "./check.sh",
];

/// Returns a machine whose only exit requires evidence of `check`.
fn machine(check: &str) -> Machine {
    machine_since(check, "last_edit")
}

/// Returns the same, with evidence counting since some moment.
fn machine_since(check: &str, since: &str) -> Machine {
    let text = format!(
        "id: w\ninitial: a\nguards: {{seen: {{evidence: {{command: \"{check}\", since: {since}}}}}}}\nstates:\n  \
         a: {{allowed_tools: [Read, Edit, Bash], on: {{GO: {{target: b, guard: seen}}}}}}\n  b: {{type: final}}\n"
    );
    load(&Source::new("w.yaml", &text), None, &NoWorkflows)
        .unwrap()
        .machine
}

/// Returns whether `line`, which ended with 0, is evidence of the machine's check.
fn counts(machine: &Machine, line: &str) -> bool {
    counts_given(machine, line, &[])
}

/// Returns the same if the shell has variables with these names.
fn counts_given(machine: &Machine, line: &str, variables: &[&str]) -> bool {
    let setting = Scenario {
        variables: variables.iter().map(|name| (*name).to_owned()).collect(),
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(machine.clone(), setting);
    let mut step = |line: serde_json::Value| simulation.step(&line.to_string()).unwrap();
    step(json!({"tool": "Bash", "input": {"command": line}}));
    step(json!({"result": {"ok": true, "exit": 0}}));
    step(json!({"transition": "GO"})).ok
}

/// The rows of the table: changes of a check.
fn rows() -> Vec<(&'static str, String)> {
    include_str!("data/evidence.txt")
        .lines()
        .filter(|row| !row.starts_with('#') && !row.is_empty())
        .map(|row| {
            let (kind, line) = row
                .split_once("  ")
                .unwrap_or_else(|| panic!("no kind in `{row}`"));
            (kind, line.replace('⏎', "\n"))
        })
        .collect()
}

fn of(kind: &str) -> Vec<String> {
    rows()
        .into_iter()
        .filter(|(found, _)| *found == kind)
        .map(|(_, line)| line)
        .collect()
}

#[test]
fn a_check_is_known_in_other_words_than_the_entry_has() {
    for (check, line, wanted) in [
        ("go test ./...", "go test -v -race ./...", true),
        ("go test ./...", "go test -run x ./...", false),
        ("go test ./...", "go test -v ./... -run x", false),
        ("make test", "make -s -j4 test", true),
        ("make test", "make -j 4 test", true),
        ("make test", "make -j$(nproc) test", true),
        ("make test", "make test -j$(nproc)", true),
        ("make test", "make test -j$N", false),
        // An option in the entry takes no value from the words after it.
        ("make -j", "make -j 4", false),
        // The entry itself contains the directory.
        ("make -C sub check", "make -C sub check", true),
        // The name suggests that it chooses tests, whatever it does.
        ("cargo test", "RUST_TEST_THREADS=1 cargo test", false),
        ("cargo test", "RUST_BACKTRACE=1 cargo test", true),
        // A variable without influence on one program may influence another.
        ("npm test", "LOG_LEVEL=x npm test", true),
        ("cargo test", "LOG_LEVEL=x cargo test", false),
        // Its value is taken, and no goal is left.
        ("npm test", "npm --loglevel test", false),
        // The value is missing: the program's reaction is unknown.
        ("npm test", "npm test --loglevel", false),
        ("pytest", "pytest -n auto", true),
        ("pytest", "pytest --timeout 60 -q", true),
        ("pytest", "pytest -q --timeout", false),
        ("mvn test", "mvn -q clean test", true),
        ("pytest", "venv/bin/pytest -q", true),
        ("pytest", "/project/.venv/bin/pytest", true),
        ("pytest", "/elsewhere/venv/bin/pytest", false),
        ("pytest", "./bin/pytest", false),
        ("pytest", "venv/bin/pytest a.py", false),
        ("jest", "./node_modules/.bin/jest --ci", true),
        // After a launcher, the words belong to the runner before them.
        ("npx jest", "npx jest --ci", true),
        ("npx jest", "npx --ci jest", true),
        ("npx jest", "npx jest mocha --exit", false),
        (
            "docker run node npm test",
            "docker run node npm test -- --ci",
            true,
        ),
        ("git push", "git push origin", true),
        ("git push", "git -c a=b push", false),
        ("git push", "git push --dry-run", false),
        ("git push", "git push -n", false),
        ("git tag", "git tag -l", false),
        ("git commit", "git commit --help", false),
        ("rsync a b", "rsync a b -h", false),
        ("rsync a b", "rsync a b -h -v", true),
    ] {
        // Some of them write files themselves.
        let counted = counts(&machine_since(check, "run_start"), line);
        assert_eq!(counted, wanted, "{line}");
    }
}

#[test]
fn every_row_does_what_it_says_to_every_check() {
    let mut wrong = Vec::new();
    for check in CHECKS {
        let machine = machine(check);
        for (kind, row) in rows() {
            let line = row.replace("{c}", check);
            if counts(&machine, &line) != kind.starts_with("keeps") {
                wrong.push(format!("{kind}: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Parses rows of a guard and a line.
fn guarded(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines()
        .filter(|row| !row.starts_with('#') && !row.is_empty())
        .map(|row| {
            row.split_once("  ")
                .unwrap_or_else(|| panic!("no guard in `{row}`"))
        })
}

#[test]
fn a_variable_that_is_exported_already_is_set_for_the_check() {
    let machine = machine("npm test");
    for line in ["PREFIX=x; npm test", "read -r PREFIX < f; npm test"] {
        assert!(counts_given(&machine, line, &["HOME"]), "{line}");
        assert!(!counts_given(&machine, line, &["HOME", "PREFIX"]), "{line}");
    }
}

/// Ways to set a variable for a command; `{n}` is its name, `{c}` the command.
const WAYS: [&str; 14] = [
    "{n}=1 {c}",
    "env {n}=1 {c}",
    "export {n}=1; {c}",
    "export {n}=1 && {c}",
    "{n}=1; export {n}; {c}",
    "{n}=1 && export {n} && {c}",
    "export {n}; {n}=1; {c}",
    "declare -x {n}=1; {c}",
    "typeset -x {n}=1; {c}",
    "set -a; {n}=1; {c}",
    "set -o allexport; {n}=1; {c}",
    "export CI=1 {n}=1; {c}",
    "(export {n}=1; {c})",
    "bash -c 'export {n}=1; {c}'",
];

#[test]
fn a_variable_that_chooses_tests_does_so_however_it_is_set() {
    let mut wrong = Vec::new();
    for (check, name, keeps) in [
        ("cargo test", "RUST_BACKTRACE", true),
        ("cargo test", "RUST_TEST_THREADS", false),
        ("cargo test", "RUST_TEST_NOCAPTURE", false),
        ("cargo test", "CARGO_BUILD_TARGET", false),
        ("npm test", "NODE_ENV", true),
        ("npm test", "JEST_FILTER", false),
        ("pytest", "PYTHONUNBUFFERED", true),
        ("pytest", "PYTEST_ADDOPTS", false),
    ] {
        let machine = machine(check);
        for way in WAYS {
            let line = way.replace("{n}", name).replace("{c}", check);
            if counts(&machine, &line) != keeps {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_runs_nothing_proves_nothing() {
    let counted: Vec<String> = guarded(include_str!("data/runs_nothing.txt"))
        .filter(|(guard, line)| counts(&machine(guard), line))
        .map(|(guard, line)| format!("`{line}` counts as `{guard}`"))
        .collect();
    assert!(counted.is_empty(), "\n{}", counted.join("\n"));
}

#[test]
fn what_chooses_nothing_keeps_the_proof() {
    let lost: Vec<String> = guarded(include_str!("data/runs_all.txt"))
        .filter(|(guard, line)| !counts(&machine(guard), line))
        .map(|(guard, line)| format!("`{line}` does not count as `{guard}`"))
        .collect();
    assert!(lost.is_empty(), "\n{}", lost.join("\n"));
}

proptest! {
    #[test]
    fn what_is_hidden_stays_hidden(
        check in prop::sample::select(CHECKS.to_vec()),
        hides in prop::sample::select(of("hides")),
        around in prop::collection::vec(prop::sample::select(of("keeps lists")), 0..4),
    ) {
        let mut line = hides.replace("{c}", check);
        for keeps in around {
            line = keeps.replace("{c}", &line);
        }
        prop_assert!(!counts(&machine(check), &line), "`{}` counts as `{}`", line, check);
    }
}
