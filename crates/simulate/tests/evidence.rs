//! What counts as evidence: no way of hiding an exit code, or of choosing fewer tests, counts.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(clippy::panic, reason = "a row that cannot be read names itself")]

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Setting, Simulation};
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

/// Makes a machine that is left by evidence of `check` alone.
fn machine(check: &str) -> Machine {
    let text = format!(
        "id: w\ninitial: a\nguards: {{seen: {{evidence: {{command: \"{check}\"}}}}}}\nstates:\n  \
         a: {{allowed_tools: [Read, Edit, Bash], on: {{GO: {{target: b, guard: seen}}}}}}\n  b: {{type: final}}\n"
    );
    load(&Source::new("w.yaml", &text), None, &NoWorkflows)
        .unwrap()
        .machine
}

/// Tells whether `line`, seen to end with 0, is evidence of the machine's check.
fn counts(machine: &Machine, line: &str) -> bool {
    counts_given(machine, line, &[])
}

/// The same where the shell is given variables of these names.
fn counts_given(machine: &Machine, line: &str, variables: &[&str]) -> bool {
    let setting = Setting {
        variables: variables.iter().map(|name| (*name).to_owned()).collect(),
        ..Setting::default()
    };
    let mut simulation = Simulation::new(machine.clone(), setting);
    let mut step = |line: serde_json::Value| simulation.step(&line.to_string()).unwrap();
    step(json!({"tool": "Bash", "input": {"command": line}}));
    step(json!({"result": {"ok": true, "exit": 0}}));
    step(json!({"transition": "GO"})).ok
}

/// The rows of the table: what they do to a check.
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

/// Reads rows of a guard and a line.
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
