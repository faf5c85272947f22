//! What only an open connection can show.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::event::Event;

use super::*;
use crate::pin::NewRun;

fn made(directory: &Path, durability: Durability) -> RunLog {
    let machine: Machine = serde_json::from_value(serde_json::json!({
        "id": "m", "initial": "a", "states": { "a": {} }
    }))
    .map(Machine::seal)
    .unwrap();
    let source = SourceFile {
        name: "m.json".to_owned(),
        text: "{}".to_owned(),
    };
    let new = NewRun {
        machine: &machine,
        source: &source,
        project_root: Path::new("/p"),
        name: None,
        durability,
        at_ms: 1,
    };
    crate::Home::at(directory.join("state"))
        .create_run(&new)
        .unwrap()
}

fn pause(reason: &str) -> Event {
    Event::RunPaused {
        by: "ana".to_owned(),
        reason: Some(reason.to_owned()),
    }
}

#[test]
fn a_full_disk_records_nothing_and_the_run_goes_on_later() {
    let directory = tempfile::TempDir::new().unwrap();
    let mut log = made(directory.path(), Durability::Process);
    log.append(0, 1, &[pause("first")]).unwrap();
    // The nearest to a full disk that needs no disk of its own: no page may be added.
    let pages = |log: &RunLog, pragma: &str, most: Option<i64>| -> i64 {
        let pragma = most.map_or(pragma.to_owned(), |most| format!("{pragma} = {most}"));
        let sql = format!("PRAGMA {pragma}");
        log.connection
            .query_row(&sql, [], |row| row.get(0))
            .unwrap()
    };
    let before = pages(&log, "page_count", None);
    pages(&log, "max_page_count", Some(before));
    let large = pause(&"x".repeat(100_000));
    let error = log.append(1, 1, &[pause("small"), large.clone()]);
    assert!(
        matches!(error, Err(AppendError::Store(StoreError::Full { .. }))),
        "{error:?}"
    );
    assert_eq!(log.count().unwrap(), 1);
    pages(&log, "max_page_count", Some(before + 1_000));
    log.append(1, 1, &[large]).unwrap();
    assert_eq!(log.count().unwrap(), 2);
}

#[test]
fn what_a_run_survives_is_remembered_in_it() {
    for (durability, synchronous) in [(Durability::Process, 1), (Durability::Power, 2)] {
        let directory = tempfile::TempDir::new().unwrap();
        let log = made(directory.path(), durability);
        let again = RunLog::open(log.run(), log.directory()).unwrap();
        assert_eq!(again.durability(), durability);
        let set: i64 = again
            .connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .unwrap();
        assert_eq!(set, synchronous, "{durability:?}");
    }
}
