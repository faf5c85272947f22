//! Judges the lines of `tests/habits` and prints the proportion of expected verdicts.
#![expect(clippy::print_stdout, reason = "the shares are the result")]

mod rows;

use interlock_core::{facts::NetworkDirection, machine::Machine};
use interlock_facts::GivenDisk;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_sandbox::Level;
use interlock_simulate::{Explanation, Reach, Scenario, Simulation, explain};
use rows::{Kind, Row, rows};
use serde_json::{Value, json};

const READING: &str = r"
id: w
initial: reads
states:
  reads:
    allowed_tools: [Read, Grep, Glob, Bash]
    on: {NEXT: fetches}
  fetches:
    allowed_tools: [Read, Grep, Glob, Bash, WebFetch]
    on: {NEXT: end}
  end: {type: final}
";

const CHECKED: &str = r"
id: w
initial: works
states:
  works:
    allowed_tools: [Read, Edit, Write, Bash]
    on: {DONE: {target: end, guard: {evidence: {command: GUARD, directory: PLACE}}}}
  end: {type: final}
";

/// Minimum percentage of whole test runs that must count as evidence.
const COUNTED_MIN: f64 = 92.0;

/// Maximum percentage of reading lines that may be refused.
const REFUSED_MAX: f64 = 2.0;

#[test]
fn at_most_two_percent_of_reading_is_refused() {
    let rows = of(&[Kind::Read, Kind::Fetch]);
    let refused: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("  `{}`: {}", row.line, short(&refusal(row)?))))
        .collect();
    let unheld = rows
        .iter()
        .filter(|row| told(row, Level::Environment).code.is_some());
    let unheld = unheld.count();
    let asked = rows.iter().filter(|row| is_asked_about(row)).count();
    let share = percent(refused.len(), rows.len());
    println!(
        "reading refused: {} of {} lines, {share:.1} %",
        refused.len(),
        rows.len()
    );
    println!("{}", refused.join("\n"));
    println!(
        "the same below level `files`: {unheld}, {:.1} %",
        percent(unheld, rows.len())
    );
    println!(
        "prompts asked: {asked}, {:.1} %",
        percent(asked, rows.len())
    );
    assert!(share <= REFUSED_MAX, "{share:.1} %");
}

#[test]
fn no_line_that_writes_is_allowed_where_nothing_may_be_written() {
    let rows = of(&[Kind::Write]);
    let allowed: Vec<&str> = rows
        .iter()
        .filter(|row| refusal(row).is_none())
        .map(|row| row.line.as_str())
        .collect();
    println!("writing allowed: {} of {} lines", allowed.len(), rows.len());
    assert!(allowed.is_empty(), "{}", allowed.join("\n"));
}

#[test]
fn at_least_ninety_two_percent_of_whole_test_runs_count() {
    let rows = of(&[Kind::Suite]);
    let lost: Vec<String> = rows
        .iter()
        .filter(|row| !counts(row))
        .map(|row| format!("  `{}`", row.line))
        .collect();
    let share = percent(rows.len() - lost.len(), rows.len());
    println!(
        "evidence won: {} of {} whole test runs, {share:.1} %",
        rows.len() - lost.len(),
        rows.len()
    );
    println!("{}", lost.join("\n"));
    assert!(share >= COUNTED_MIN, "{share:.1} %");
}

#[test]
fn no_narrowed_test_run_counts() {
    let rows = of(&[Kind::Narrowed]);
    let counted: Vec<&str> = rows
        .iter()
        .filter(|row| counts(row))
        .map(|row| row.line.as_str())
        .collect();
    println!(
        "narrowed runs that count: {} of {}",
        counted.len(),
        rows.len()
    );
    assert!(counted.is_empty(), "{}", counted.join("\n"));
}

#[test]
fn a_suite_below_the_root_counts_only_where_the_guard_says_so() {
    let mut rows = of(&[Kind::Suite]);
    rows.retain(|row| row.directory.is_some());
    assert!(!rows.is_empty());
    for row in &mut rows {
        assert!(counts(row), "`{}`", row.line);
        row.directory = None;
        assert!(!counts(row), "`{}` counts for the root", row.line);
    }
}

/// Returns whether the guard of a row holds after its line, if all commands ended with 0.
fn counts(row: &Row) -> bool {
    let guard = row.guard.as_deref().unwrap();
    let place = row.directory.as_deref().unwrap_or(".");
    let text = CHECKED
        .replace("GUARD", &format!("'{guard}'"))
        .replace("PLACE", &format!("'{place}'"));
    let machine = load(&Source::new("w.yaml", &text), None, &NoWorkflows)
        .unwrap()
        .machine;
    let setting = Scenario::default();
    let told = explain(&machine, "works", &row.line, &setting, &GivenDisk::empty());
    let ends: Vec<Value> = told
        .unwrap()
        .commands
        .iter()
        .filter_map(|words| words.first())
        .filter(|name| !name.contains(|c: char| !c.is_ascii_alphanumeric() && !"./_-".contains(c)))
        .map(|name| json!({ "command": name, "exit": 0 }))
        .collect();
    let mut simulation = Simulation::new(machine, setting);
    let mut play = |step: Value| simulation.step(&step.to_string()).unwrap();
    let proposed = play(json!({ "tool": "Bash", "input": { "command": row.line } }));
    if !proposed.ok {
        return false;
    }
    play(json!({ "result": { "exit": 0, "commands": ends } }));
    play(json!({ "transition": "DONE" })).ok
}

fn of(kinds: &[Kind]) -> Vec<Row> {
    let mut rows = rows();
    rows.retain(|row| kinds.contains(&row.kind));
    rows
}

fn machine() -> Machine {
    load(&Source::new("w.yaml", READING), None, &NoWorkflows)
        .unwrap()
        .machine
}

/// Returns why a state that may not write refuses the line, if the kernel would confine it.
fn refusal(row: &Row) -> Option<String> {
    let told = told(row, Level::Files);
    told.code
        .map(|code| format!("{}: {}", code.as_str(), told.message))
}

/// Returns whether a client asks its person about an allowed line, because it accesses servers.
fn is_asked_about(row: &Row) -> bool {
    let told = told(row, Level::Files);
    let reaches = |reach: &Reach| reach.direction != NetworkDirection::Local;
    told.code.is_none() && told.network.iter().any(reaches)
}

/// Judges a line in a no-write state, confined at `level`.
fn told(row: &Row, level: Level) -> Explanation {
    let state = match row.kind {
        Kind::Fetch => "fetches",
        _ => "reads",
    };
    let setting = Scenario {
        transparent: vec!["rtk".to_owned()],
        level,
        ..Scenario::default()
    };
    explain(&machine(), state, &row.line, &setting, &GivenDisk::empty()).unwrap()
}

fn short(text: &str) -> String {
    text.chars().take(160).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred lines")]
fn percent(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}
