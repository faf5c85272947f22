//! The log of each case is unchanged: a refactoring must leave the list as it is.
//!
//! `data/logs.txt` has a line for each case: a digest of its events and of the run they fold to, and the names of the
//! events. `INTERLOCK_BLESS=1` rewrites it; after an intended change, review which cases are affected.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use interlock_core::{event::Event, evolve, machine::Machine, names::RunId, run::Run, text_digest};

use crate::support::played_cases::played_cases;

/// Maximum number of differences shown in full.
const SHOWN_MAX: usize = 3;

/// A case, and the events recorded when it is played.
struct PlayedCase {
    name: String,
    events: Vec<Event>,
}

/// Gives a machine the same hash for all versions of its format.
fn unhashed(mut machine: Machine) -> Machine {
    machine.hash = "hash".to_owned();
    machine
}

/// Returns the records of a case, one per line, and the run after them.
fn log(case: &PlayedCase) -> String {
    let mut text = String::new();
    let mut run = Run::new(RunId::new("r"));
    for event in &case.events {
        writeln!(text, "{}", serde_json::to_string(event).unwrap()).unwrap();
        run = evolve(run, event);
    }
    writeln!(text, "{}", serde_json::to_string(&run).unwrap()).unwrap();
    text
}

/// Returns the line of a case in the list.
fn line(case: &PlayedCase) -> String {
    let digest = text_digest(&log(case)).to_string();
    let names: Vec<&str> = case.events.iter().map(|event| event.name()).collect();
    let short: String = digest.chars().take(12).collect();
    format!("{} = {short} {}", case.name, names.join(" "))
}

#[test]
fn the_log_of_each_case_is_what_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/logs.txt");
    let cases = played_cases(unhashed, |name, _, events| PlayedCase { name, events });
    let found: Vec<String> = cases.iter().map(line).collect();
    if std::env::var_os("INTERLOCK_BLESS").is_some() {
        fs::write(&path, found.join("\n") + "\n").unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let known: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let mut wrong = String::new();
    let mut shown = 0;
    for (case, line) in cases.iter().zip(&found) {
        let now = line.split_once(" = ").map(|(_, now)| now);
        let was = known.get(case.name.as_str()).copied();
        if was == now {
            continue;
        }
        writeln!(wrong, "{}\n  was {was:?}\n  is  {now:?}", case.name).unwrap();
        if shown < SHOWN_MAX {
            wrong.push_str(&log(case));
            shown += 1;
        }
    }
    assert!(
        wrong.is_empty() && known.len() == cases.len(),
        "the logs of some cases are not what they were; if that is meant, see the head of this test\n{wrong}"
    );
    assert!(cases.len() > 1_000, "{} cases", cases.len());
}
