//! What only an open connection can show.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::event::Event;

use super::*;
use crate::pin::NewRun;

fn made(directory: &Path, durability: Durability) -> SqliteRun {
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
    let made = crate::Home::at(directory.join("state")).create_run(&new);
    again(&*made.unwrap())
}

/// Opens a run's file once more.
fn again(log: &dyn RunStore) -> SqliteRun {
    SqliteRun::open(log.run(), log.folder().path()).unwrap()
}

fn stay_open(mut log: SqliteRun) -> SqliteRun {
    log.stay_open();
    log
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
    let pages = |log: &SqliteRun, pragma: &str, most: Option<i64>| -> i64 {
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
        let again = again(&log);
        assert_eq!(again.durability(), durability);
        let set: i64 = again
            .connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .unwrap();
        assert_eq!(set, synchronous, "{durability:?}");
    }
}

/// Appends until the write-ahead log is longer than `bytes`, or `tries` are used up; returns how long it was at most.
fn fill(log: &mut SqliteRun, bytes: u64, tries: u32) -> u64 {
    let mut longest = 0;
    for _ in 0..tries {
        let seq = log.count().unwrap();
        log.append(seq, 1, &[pause(&"x".repeat(60_000))]).unwrap();
        longest = longest.max(log_bytes(log));
        if longest > bytes {
            break;
        }
    }
    longest
}

fn log_bytes(log: &SqliteRun) -> u64 {
    fs::metadata(log.path.with_extension("db-wal")).map_or(0, |found| found.len())
}

#[test]
fn a_log_that_is_opened_for_each_append_stays_short() {
    let directory = tempfile::TempDir::new().unwrap();
    let mut log = made(directory.path(), Durability::Process);
    let more = 2 * sqlite::LOG_BYTES_MAX;
    assert!(fill(&mut log, more, 40) < more);
}

#[test]
fn a_log_that_is_kept_open_grows_and_leaves_a_short_one_behind() {
    let directory = tempfile::TempDir::new().unwrap();
    let mut log = stay_open(made(directory.path(), Durability::Process));
    let more = 2 * sqlite::LOG_BYTES_MAX;
    assert!(fill(&mut log, more, 40) > more);
    let most = fill(&mut log, u64::MAX, 80);
    assert!(most < 2 * sqlite::KEPT_LOG_BYTES_MAX, "{most}");
    fill(&mut log, more, 40);
    log.tidy_up();
    assert_eq!(log_bytes(&log), 0);
}

#[test]
fn a_log_that_was_exchanged_or_written_over_is_not_in_place() {
    let directory = tempfile::TempDir::new().unwrap();
    let log = stay_open(made(directory.path(), Durability::Process));
    assert!(log.is_in_place());
    let aside = log.path.with_extension("aside");
    fs::copy(&log.path, &aside).unwrap();
    fs::rename(&aside, &log.path).unwrap();
    assert!(!log.is_in_place(), "another file with the same bytes");
    let log = stay_open(again(&log));
    assert!(log.is_in_place());
    fs::write(
        &log.path,
        "something else, longer than the head of a database",
    )
    .unwrap();
    assert!(!log.is_in_place(), "the same file with other bytes");
    fs::remove_file(&log.path).unwrap();
    assert!(!log.is_in_place(), "no file");
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_is_opened_again_keeps_the_locks_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let first = stay_open(made(directory.path(), Durability::Process));
    first.load().unwrap();
    let number = fs::metadata(&first.path).unwrap().ino();
    let own = format!(" {} ", std::process::id());
    let held = || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let of_file = |line: &&str| line.contains(&own) && line.contains(&format!(":{number} "));
        locks.lines().filter(of_file).count()
    };
    let before = held();
    assert!(before > 0);
    let second = again(&first);
    second.load().unwrap();
    // The kernel reads its table in pieces: a line may be left out of one
    // reading while other processes lock and unlock.
    assert!((0..1_000).any(|_| held() == before), "a lock was lost");
}
