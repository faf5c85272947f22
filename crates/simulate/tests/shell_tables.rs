//! The rows of `tests/shell`: tricks change something and are refused, harmless lines do neither.
//!
//! Each is judged; bash runs one in sixteen, others each day. `cargo xtask soak` runs all.

mod folder;
mod rows;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use folder::Template;
use interlock_core::machine::Machine;
use interlock_facts::RealDisk;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Scenario, explain};
use interlock_testkit::sample;
use rows::{Row, rows};

/// One in this many rows is run.
const RUN: usize = 16;

const READING: &str = r"
id: w
initial: reads
states:
  reads:
    allowed_tools: [Read, Grep, Glob, Bash]
    blocked_env: [PROD_DB_URL]
    on: {NEXT: end}
  end: {type: final}
";

#[test]
fn every_trick_changes_something_and_is_refused() {
    let rows = rows(include_str!("../../../tests/shell/tricks.txt"));
    assert!(rows.len() >= 300, "{} tricks", rows.len());
    report(&check(&rows, |row, template, machine| {
        let mut wrong = Vec::new();
        if sample::has(row.number, RUN) {
            let ran = template.run(row);
            let lacking = row.effects.iter();
            for effect in lacking.filter(|effect| !ran.effects.contains(effect)) {
                wrong.push(format!(
                    "has no effect `{effect}`; it had {:?}",
                    ran.effects
                ));
            }
            wrong.extend(ran.missing());
        }
        if row.effects.is_empty() {
            wrong.push("does not say what it changes".to_owned());
        }
        if verdict(row, template, machine).is_none() {
            wrong.push("is allowed".to_owned());
        }
        wrong
    }));
}

#[test]
fn every_harmless_line_changes_nothing_and_passes() {
    let rows = rows(include_str!("../../../tests/shell/harmless.txt"));
    assert!(rows.len() >= 150, "{} harmless lines", rows.len());
    report(&check(&rows, |row, template, machine| {
        let mut wrong = Vec::new();
        if sample::has(row.number, RUN) {
            let ran = template.run(row);
            wrong.extend(ran.missing());
            if !ran.effects.is_empty() {
                wrong.push(format!("changes {:?}", ran.effects));
            }
        }
        if let Some(refusal) = verdict(row, template, machine) {
            wrong.push(format!("is refused: {refusal}"));
        }
        wrong
    }));
}

/// Returns why a state that may only read refuses the line.
fn verdict(row: &Row, template: &Template, machine: &Machine) -> Option<String> {
    let place = |name: &str| template.place(name).display().to_string();
    let setting = Scenario {
        project_root: place("project"),
        home: place("home"),
        temporary: place("tmp"),
        ..Scenario::default()
    };
    let told = explain(machine, "reads", &row.line, &setting, &RealDisk).unwrap();
    told.code
        .map(|code| format!("{}: {}", code.as_str(), told.message))
}

/// Checks rows on a few threads; returns their errors, in order.
fn check(
    rows: &[Row],
    one: impl Fn(&Row, &Template, &Machine) -> Vec<String> + Sync,
) -> Vec<String> {
    let machine = load(&Source::new("w.yaml", READING), None, &NoWorkflows)
        .unwrap()
        .machine;
    let template = Template::new();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for wrong in one(row, &template, &machine) {
                        let text = format!("{}: `{}` {wrong}", row.number, row.shown);
                        found.lock().unwrap().push((row.number, text));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    found.into_iter().map(|(_, text)| text).collect()
}

fn report(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} complaints\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
