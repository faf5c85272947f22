//! Recorded runs of every version of the log, which must always replay to the same state.
//!
//! A file contains events, one per line, and in its last line the run that they fold to.

#![expect(
    clippy::disallowed_methods,
    reason = "the test reads recorded files, the engine does not"
)]

use std::{fs, path::Path};

use interlock_core::{event::Event, evolve, names::RunId, run::Run};

use crate::support::event_names::event_names;

#[test]
fn recorded_runs_replay_alike_and_each_event_stands_in_one() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/histories");
    let mut files = 0;
    let mut missing = event_names();
    assert!(missing.len() > 50, "{missing:?}");
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let (events, last) = text.trim_end().rsplit_once('\n').unwrap();
        let expected: Run = serde_json::from_str(last).unwrap();
        let replayed = events.lines().fold(Run::new(RunId::new("r")), |run, line| {
            let event: Event = serde_json::from_str(line).unwrap();
            missing.remove(event.name());
            assert_eq!(
                serde_json::to_string(&event).unwrap(),
                line,
                "{}",
                path.display()
            );
            evolve(run, &event)
        });
        assert_eq!(replayed, expected, "{}", path.display());
        files += 1;
    }
    assert!(files > 0, "there are no recorded runs");
    assert!(
        missing.is_empty(),
        "{missing:?}: see tests/histories/README.md"
    );
}
