//! Judges the lines of `tests/dangers` in a state of each kind and prints how many verdicts are as expected.
#![expect(clippy::print_stdout, reason = "the shares are the result")]

use std::{collections::BTreeMap, fs, path::Path};

use interlock_core::machine::Machine;
use interlock_facts::GivenDisk;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_sandbox::Level;
use interlock_simulate::{Scenario, explain};
use serde::Deserialize;

const STATES: &str = r"
id: w
initial: no_write
states:
  no_write: {allowed_tools: [Read, Grep, Glob, Bash], on: {NEXT: writing}}
  writing: {allowed_tools: [Read, Grep, Glob, Edit, Write, Bash], on: {NEXT: secrets}}
  secrets: {allowed_tools: [Read, Grep, Glob, Edit, Write, Bash], secrets: deny, on: {NEXT: free}}
  free: {on: {NEXT: end}}
  end: {type: final}
";

/// Minimum number of lines, so that none gets lost.
const LINES_MIN: usize = 400;

/// The verdict of a state on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    Allow,
    Deny,
}

/// A line with the verdict of each state.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    line: String,
    free: Wanted,
    no_write: Wanted,
    writing: Wanted,
    secrets: Wanted,
}

impl Row {
    fn wanted(&self) -> [(&'static str, Wanted); 4] {
        [
            ("free", self.free),
            ("no_write", self.no_write),
            ("writing", self.writing),
            ("secrets", self.secrets),
        ]
    }
}

#[test]
fn every_line_of_a_dangerous_kind_is_judged_as_a_person_classed_it() {
    let machine = load(&Source::new("w.yaml", STATES), None, &NoWorkflows)
        .unwrap()
        .machine;
    let (mut lines, mut wrong) = (0, Vec::new());
    println!(
        "{:<12} {:>5}  denied: free, no_write, writing, secrets",
        "class", "lines"
    );
    for (class, rows) in classes() {
        let mut denied = [0; 4];
        for row in &rows {
            for (denied, (state, wanted)) in denied.iter_mut().zip(row.wanted()) {
                let (found, why) = judged(&machine, state, &row.line);
                *denied += usize::from(found == Wanted::Deny);
                if found != wanted {
                    wrong.push(format!(
                        "  {class}, {state}: `{}` is {found:?}: {why}",
                        row.line
                    ));
                }
            }
        }
        let shares = denied.map(|denied| format!("{:>4.0} %", percent(denied, rows.len())));
        println!("{class:<12} {:>5}  {}", rows.len(), shares.join(" "));
        lines += rows.len();
    }
    println!(
        "as wanted: {:.1} % of {lines} lines in 4 states",
        percent(lines * 4 - wrong.len(), lines * 4)
    );
    assert!(lines >= LINES_MIN, "{lines} lines");
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn judged(machine: &Machine, state: &str, line: &str) -> (Wanted, String) {
    let setting = Scenario {
        level: Level::Files,
        ..Scenario::default()
    };
    let told = explain(machine, state, line, &setting, &GivenDisk::empty()).unwrap();
    match told.code {
        None => (Wanted::Allow, String::new()),
        Some(code) => (Wanted::Deny, format!("{}: {}", code.as_str(), told.message)),
    }
}

/// Reads every class: the name of its file, and its rows.
fn classes() -> BTreeMap<String, Vec<Row>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/dangers");
    let files = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| {
            let class = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let rows = text.lines().enumerate().map(|(at, line)| {
                serde_json::from_str(line)
                    .unwrap_or_else(|error| panic!("{}:{}: {error}", path.display(), at + 1))
            });
            (class, rows.collect())
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred lines")]
fn percent(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}
