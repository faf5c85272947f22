//! Mutants of the shipped workflows.
//!
//! Each violates a property, which `prove` finds. If no property detects a mutant, `mutants.txt` lists it with the
//! reason and with the result of comparing both versions: a new permission, or that they are equivalent.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed test panics, and the cases are files"
)]

use std::path::{Path, PathBuf};

use interlock_core::{
    guard::{Guard, GuardRef, Since},
    machine::Machine,
};
use interlock_formats::{NoWorkflows, Property, Source, load, properties_file};
use interlock_prove::{By, ProofOptions, Verdict, compare, prove};
use interlock_testkit::sample;

/// A tool that changes files.
const WRITER: &str = "Write";

struct Mutant {
    change: String,
    machine: Machine,
}

fn workflow(name: &str) -> (Machine, Vec<Property>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        Source::new(path.display().to_string(), text)
    };
    let source = read(folder.join(name).with_extension("yaml"));
    let machine = load(&source, None, &NoWorkflows).unwrap().machine;
    let beside = read(folder.join(name).with_extension("properties.yaml"));
    let properties = properties_file(&beside, &machine).unwrap();
    (machine, properties)
}

/// Makes every mutant of a machine, with one change each.
fn mutants(machine: &Machine) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut add = |change: String, make: &dyn Fn(&mut Machine)| {
        let mut changed = machine.clone();
        make(&mut changed);
        if changed != *machine {
            all.push(Mutant {
                change,
                machine: changed,
            });
        }
    };
    for name in machine.guards.keys() {
        add(format!("`{name}` since the run's start"), &|changed| {
            take_any_age(changed.guards.get_mut(name).unwrap());
        });
    }
    for (state, written) in &machine.states {
        for (event, rule) in &written.on {
            for index in 0..rule.transitions.len() {
                let which = match rule.transitions.len() {
                    1 => format!("`{event}` of `{state}`"),
                    _ => format!("`{event}` of `{state}`, branch {}", index + 1),
                };
                add(format!("{which} without guards"), &|changed| {
                    let state = changed.states.get_mut(state).unwrap();
                    let rule = state.on.get_mut(event).unwrap();
                    rule.transitions.get_mut(index).unwrap().guards.clear();
                });
                add(format!("{which} without a person"), &|changed| {
                    let state = changed.states.get_mut(state).unwrap();
                    let rule = state.on.get_mut(event).unwrap();
                    rule.transitions.get_mut(index).unwrap().approval = None;
                });
            }
        }
        add(format!("`{state}` with every tool"), &|changed| {
            changed.states.get_mut(state).unwrap().policy.allowed_tools = None;
        });
        add(format!("`{state}` with `{WRITER}`"), &|changed| {
            let policy = &mut changed.states.get_mut(state).unwrap().policy;
            let listed = policy.allowed_tools.iter_mut().next();
            if let Some(tools) = listed
                && !tools.iter().any(|tool| tool == WRITER)
            {
                tools.push(WRITER.to_owned());
            }
        });
        add(format!("`{state}` with every command"), &|changed| {
            let policy = &mut changed.states.get_mut(state).unwrap().policy;
            policy.allowed_commands = None;
        });
    }
    for name in machine.interrupts.keys() {
        add(format!("without the interrupt `{name}`"), &|changed| {
            changed.interrupts.shift_remove(name);
        });
    }
    all
}

/// Makes a guard accept evidence of any age.
fn take_any_age(guard: &mut Guard) {
    match guard {
        Guard::Evidence(one) => one.since = Since::RunStart,
        Guard::All(items) | Guard::Any(items) => {
            for item in items {
                if let GuardRef::Inline(inner) = item {
                    take_any_age(inner);
                }
            }
        }
        _ => {}
    }
}

/// Returns the properties that fail.
fn broken(machine: &Machine, properties: &[Property]) -> Vec<String> {
    let options = ProofOptions {
        states_max: 20_000,
        lines: None,
    };
    let proof = prove(machine, properties, &options);
    let failing = proof.findings.iter().filter_map(|one| match &one.verdict {
        Verdict::Fails => Some(one.name.clone()),
        Verdict::Vacuous(_) => Some(format!("{} (vacuous)", one.name)),
        _ => None,
    });
    failing.collect()
}

/// Returns what a version permits and the one before it does not.
fn permitted(new: &Machine, old: &Machine) -> String {
    let compared = compare(new, old, By::Steps, 20_000, None);
    match (compared.permitted, compared.doubt) {
        (Some(permission), _) => format!("permits more: {}", permission.what),
        (None, Some(doubt)) => format!("unknown: {doubt}"),
        (None, None) if compared.removed.is_empty() => "same".to_owned(),
        (None, None) => "stricter".to_owned(),
    }
}

/// Returns the lines of `mutants.txt` about a workflow: the change, and the violated property or the reason why there
/// is none.
fn expected(name: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| {
        let line = line.strip_prefix(name)?.strip_prefix(": ")?;
        let (change, what) = line.split_once(" → ").unwrap();
        Some((change.to_owned(), what.to_owned()))
    });
    lines.collect()
}

/// One in this many mutants is proved, others each day.
const SAMPLE: usize = 5;
/// Separator before the comparison's result for a mutant that no property detects.
const COMPARED: &str = "; compared: ";

/// Proves mutants of a workflow, and compares the violations with the expected ones.
///
/// Without `INTERLOCK_WHOLE`, one in [`SAMPLE`] mutants is proved, and none of a `slow` workflow.
fn check(name: &str, slow: bool) {
    let (machine, properties) = workflow(name);
    let expected = expected(name);
    let mut wrong = Vec::new();
    let all = mutants(&machine);
    let is_proved = |index| sample::has(index, SAMPLE) && (!slow || sample::is_whole());
    for (index, mutant) in all.iter().enumerate() {
        let written = expected.iter().find(|(change, _)| *change == mutant.change);
        let written = written.map_or("", |(_, what)| what);
        if !is_proved(index) {
            if written.is_empty() {
                wrong.push(format!("{name}: {} is not written", mutant.change));
            }
            continue;
        }
        let mut found = broken(&mutant.machine, &properties).join("; ");
        if found.is_empty() {
            let reason = written.strip_prefix("unnoticed: ").unwrap_or_default();
            let reason = reason.split(COMPARED).next().unwrap_or_default();
            let permitted = permitted(&mutant.machine, &machine);
            found = format!("unnoticed: {reason}{COMPARED}{permitted}");
        }
        if found != written || found.contains(": unknown") || found.contains("unnoticed: ;") {
            wrong.push(format!("{name}: {} → {found}", mutant.change));
        }
    }
    assert!(wrong.is_empty(), "not as written:\n{}", wrong.join("\n"));
    assert_eq!(all.len(), expected.len(), "{name}: lines without a change");
}

#[test]
fn changes_of_bugfix() {
    check("bugfix", false);
}

#[test]
fn changes_of_feature() {
    check("feature", false);
}

/// Each of its proofs takes seconds.
#[test]
fn changes_of_migration() {
    check("migration", true);
}

#[test]
fn changes_of_refactor() {
    check("refactor", false);
}

#[test]
fn changes_of_release() {
    check("release", false);
}

#[test]
fn changes_of_research() {
    check("research", false);
}

#[test]
fn changes_of_review() {
    check("review", false);
}
