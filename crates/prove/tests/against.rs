//! Two versions of a workflow, one file each; the first line of the new one states the expected result.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed test panics, and the cases are files"
)]

use std::path::{Path, PathBuf};

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_prove::{By, Comparison, compare, written_steps};
use interlock_simulate::{Scenario, Simulation};

fn machine(path: &Path) -> (String, Machine) {
    let text = std::fs::read_to_string(path).unwrap();
    match load(
        &Source::new(path.display().to_string(), text.clone()),
        None,
        &NoWorkflows,
    ) {
        Ok(loaded) => (text, loaded.machine),
        Err(found) => panic!("{}: {found:#?}", path.display()),
    }
}

fn found(compared: &Comparison) -> String {
    match (&compared.permitted, &compared.doubt) {
        (Some(permission), _) => format!("permits more: {}", permission.what),
        (None, Some(_)) => "unknown".to_owned(),
        (None, None) if compared.removed.is_empty() => "same".to_owned(),
        (None, None) => "stricter".to_owned(),
    }
}

/// Plays a trace; returns whether each line was allowed without a person.
fn lets_pass(machine: &Machine, compared: &Comparison) -> bool {
    let permission = compared.permitted.as_ref().unwrap();
    let input = permission.input.clone();
    let mut simulation = Simulation::begun_with(machine.clone(), Scenario::default(), input);
    let lines = written_steps(&permission.trace);
    let passed = lines.iter().all(|line| {
        let answer = simulation.step(&line.to_string());
        answer.is_ok_and(|answer| answer.ok)
    });
    passed && simulation.run().root.stay.request.is_none()
}

#[test]
fn what_is_newly_permitted_is_found_and_what_is_not_is_not() {
    assert!(cases("against", By::Steps) >= 9);
}

#[test]
fn calls_are_compared_whatever_states_and_events_are_called() {
    assert!(cases("by_calls", By::Calls) >= 8);
}

/// Compares the versions in a folder, and returns their number.
fn cases(folder: &str, by: By) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".new.yaml"))
        .collect();
    files.sort();
    for path in &files {
        let (text, new) = machine(path);
        let beside = path.to_string_lossy().replace(".new.yaml", ".old.yaml");
        let (_, old) = machine(Path::new(&beside));
        let wanted = text.lines().next().unwrap().trim_start_matches("# ");
        let compared = compare(&new, &old, by, 20_000, None);
        assert_eq!(
            found(&compared),
            wanted,
            "{}: {compared:#?}",
            path.display()
        );
        if compared.permitted.is_some() {
            assert!(lets_pass(&new, &compared), "{}", path.display());
            if by == By::Steps {
                assert!(!lets_pass(&old, &compared), "{}", path.display());
            }
        }
    }
    files.len()
}

/// Loads a shipped workflow, and a version of it with other instructions.
fn shipped(name: &str) -> (Machine, Machine) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    let (_, machine) = machine(&folder.join(name).with_extension("yaml"));
    let mut told = machine.clone();
    for state in told.states.values_mut() {
        state.instructions = Some("Do it well.".to_owned());
    }
    (machine, told)
}

#[test]
fn every_shipped_workflow_is_the_same_as_itself() {
    for name in ["bugfix", "migration", "release"] {
        for by in [By::Steps, By::Calls] {
            let (machine, _) = shipped(name);
            let compared = compare(&machine, &machine.clone(), by, 3_000, None);
            assert_eq!(found(&compared), "same", "{name}: {compared:#?}");
        }
    }
}

#[test]
fn other_instructions_permit_nothing_more() {
    for name in ["bugfix", "migration", "release", "research", "review"] {
        for by in [By::Steps, By::Calls] {
            let (old, new) = shipped(name);
            let compared = compare(&new, &old, by, 3_000, None);
            assert_eq!(found(&compared), "same", "{name}: {compared:#?}");
        }
    }
}

#[test]
fn a_limit_that_no_run_reaches_permits_nothing_more() {
    for name in ["research", "review"] {
        let (old, mut new) = shipped(name);
        // A limit that no run reaches permits the same, and is another rule.
        for state in new.states.values_mut() {
            state.policy.iterations_max = state.policy.iterations_max.or(Some(1_000_000));
        }
        let compared = compare(&new, &old, By::Steps, 3_000, None);
        assert!(compared.permitted.is_none(), "{name}: {compared:#?}");
    }
}
