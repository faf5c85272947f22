//! The file of a run: its creation, its snapshots, its write-ahead log.

use interlock_core::{
    event::Event,
    machine::{Machine, Object},
};
use interlock_store::{EventLog as _, RunLog, StoreError};
use serde_json::json;

use crate::{
    suite::{all, folded},
    world::{NOW, World, machine, pause, source},
};

#[test]
fn the_write_ahead_log_stays_small_whoever_opens_the_run() {
    let world = World::new();
    let run = world.start(1).run().clone();
    let log_bytes = || {
        let log = world.directory(&run).join("run.db-wal");
        std::fs::metadata(log).map_or(0, |found| found.len())
    };
    let mut shrank = 0;
    for seq in 1..400 {
        let before = log_bytes();
        let mut log = world.home.open_run(&run).unwrap();
        log.append(seq, NOW, &[pause(seq)]).unwrap();
        drop(log);
        assert!(log_bytes() < 1024 * 1024, "after {seq}: {}", log_bytes());
        shrank += u32::from(log_bytes() < before);
    }
    // The log is checkpointed occasionally: not never, and not by each call.
    assert!((1..20).contains(&shrank), "{shrank}");
    assert_eq!(world.home.open_run(&run).unwrap().verify().unwrap(), 400);
}

#[test]
fn a_log_may_be_handed_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&World::new().start(1));
}

fn snapshots(world: &World, log: &RunLog) -> Vec<i64> {
    let raw = rusqlite::Connection::open(world.database(log.run())).unwrap();
    let mut select = raw
        .prepare("SELECT seq FROM snapshots ORDER BY seq")
        .unwrap();
    select
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[test]
fn a_snapshot_is_made_every_16_events_and_two_are_kept() {
    let world = World::new();
    let cases: [(u64, &[i64]); 5] = [
        (15, &[]),
        (16, &[16]),
        (17, &[16]),
        (32, &[16, 32]),
        (100, &[80, 96]),
    ];
    for (events, expected) in cases {
        let log = world.start_with_events(events);
        assert_eq!(snapshots(&world, &log), expected, "after {events} events");
        assert_eq!(log.load().unwrap(), folded(&log));
    }
}

#[test]
fn a_large_run_is_written_again_only_when_as_much_has_come() {
    let world = World::new();
    let mut log = world.start_with_events(15);
    let large = |text: &str| Event::VariablesSet {
        values: Object::from_iter([("large".to_owned(), json!(text.repeat(100_000)))]),
        by: "ana".to_owned(),
    };
    log.append(15, NOW, &[large("a")]).unwrap();
    for seq in 16..200 {
        log.append(seq, NOW, &[pause(seq)]).unwrap();
    }
    assert_eq!(snapshots(&world, &log), [16]);
    // A reopened log knows its size as well.
    let mut log = world.home.open_run(log.run()).unwrap();
    log.append(200, NOW, &[large("b")]).unwrap();
    assert_eq!(snapshots(&world, &log), [16, 201]);
    assert_eq!(log.load().unwrap(), folded(&log));
}

#[test]
fn a_damaged_snapshot_is_passed_over() {
    let damages = [
        "UPDATE snapshots SET body = X'7b7d'",
        "UPDATE snapshots SET digest = X'00'",
        "UPDATE snapshots SET head = X'00'",
        "UPDATE snapshots SET body = X'7b7d' WHERE seq = 64",
        "UPDATE snapshots SET engine = '0/none'",
        "UPDATE snapshots SET seq = seq + 1000",
        "DELETE FROM snapshots",
    ];
    for damage in damages {
        let world = World::new();
        let log = world.start_with_events(70);
        let run = log.run().clone();
        let before = log.load().unwrap();
        drop(log);
        world.raw(&run).execute_batch(damage).unwrap();
        let mut log = world.home.open_run(&run).unwrap();
        assert_eq!(log.load().unwrap(), before, "{damage}");
        log.append(70, NOW, &[pause(70)]).unwrap();
        assert_eq!(log.verify().unwrap(), 71, "{damage}");
    }
}

#[test]
fn a_snapshot_that_was_changed_and_can_still_be_read_is_passed_over() {
    let world = World::new();
    let log = world.start_with_events(70);
    let run = log.run().clone();
    let before = log.load().unwrap();
    drop(log);
    let raw = world.raw(&run);
    let select = "SELECT body FROM snapshots WHERE seq = 64";
    let body: Vec<u8> = raw.query_row(select, [], |row| row.get(0)).unwrap();
    let mut body: Object = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["paused"]["by"], "63");
    body["paused"]["by"] = json!("64");
    let body = serde_json::to_vec(&body).unwrap();
    raw.execute("UPDATE snapshots SET body = ?1 WHERE seq = 64", [body])
        .unwrap();
    drop(raw);
    assert_eq!(world.home.open_run(&run).unwrap().load().unwrap(), before);
}

#[test]
fn a_snapshot_of_another_log_is_an_error() {
    let world = World::new();
    let run = world.start_with_events(64).run().clone();
    let raw = world.raw(&run);
    raw.execute_batch("UPDATE events SET hash = zeroblob(32) WHERE seq = 63")
        .unwrap();
    drop(raw);
    let error = world.home.open_run(&run).unwrap().load().unwrap_err();
    assert!(error.to_string().contains("event 63"), "{error}");
}

#[test]
fn a_run_is_begun_with_its_first_events_or_not_made() {
    let world = World::new();
    let log = world.start(1);
    assert_eq!(all(&log)[0].event.name(), "RunStarted");
    let machine = machine(1);
    let source = source();
    let new = interlock_store::NewRun {
        machine: &machine,
        source: &source,
        project_root: std::path::Path::new("/p"),
        name: Some("bad\nname"),
        durability: interlock_store::Durability::Power,
        at_ms: NOW,
    };
    let unsealed = Machine {
        hash: String::new(),
        ..machine.clone()
    };
    let not_sealed = interlock_store::NewRun {
        machine: &unsealed,
        name: None,
        ..new
    };
    let refused = world.home.create_run(&not_sealed);
    assert!(
        matches!(refused, Err(StoreError::Unwritable { .. })),
        "{refused:?}"
    );
    let refused = world.home.create_run(&new);
    assert!(
        matches!(refused, Err(StoreError::BadName { .. })),
        "{refused:?}"
    );
    let runs = std::fs::read_dir(world.home.path().join("runs")).unwrap();
    assert_eq!(runs.count(), 1, "an unfinished run is left behind");
}
