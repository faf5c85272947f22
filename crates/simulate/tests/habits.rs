//! Judges the lines of `tests/habits` and prints what share of them is judged as wanted.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]
#![expect(clippy::print_stdout, reason = "the shares are the result")]

#[path = "habits/rows.rs"]
mod rows;

use interlock_core::machine::Machine;
use interlock_facts::GivenDisk;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_sandbox::Level;
use interlock_simulate::{Setting, explain};
use rows::{Kind, Row, rows};

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

/// Of reading lines, what may be refused at most, in percent.
const REFUSED_MAX: f64 = 2.0;

#[test]
fn at_most_two_percent_of_reading_is_refused() {
    let rows = of(&[Kind::Read, Kind::Fetch]);
    let refused: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("  `{}`: {}", row.line, short(&refusal(row)?))))
        .collect();
    let share = percent(refused.len(), rows.len());
    println!(
        "reading refused: {} of {} lines, {share:.1} %",
        refused.len(),
        rows.len()
    );
    println!("{}", refused.join("\n"));
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

/// Returns why a state that may not write refuses the line.
fn refusal(row: &Row) -> Option<String> {
    let state = match row.kind {
        Kind::Fetch => "fetches",
        _ => "reads",
    };
    let told = explain(
        &machine(),
        state,
        &row.line,
        &Setting {
            transparent: vec!["rtk".to_owned()],
            level: Level::Files,
            ..Setting::default()
        },
        &GivenDisk::empty(),
    );
    let told = told.unwrap();
    told.code
        .map(|code| format!("{}: {}", code.as_str(), told.message))
}

fn short(text: &str) -> String {
    text.chars().take(160).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred lines")]
fn percent(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}
