//! Appending, loading, snapshots, submitting.

use std::time::Duration;

use interlock_core::{
    Reply,
    event::Event,
    evolve,
    machine::{Machine, Object},
    names::{EventName, FramePath, StateName},
    run::Run,
};
use interlock_store::{AppendError, EventLog, Recorded, RunLog, StoreError, submit};
use serde_json::{Value, json};

use crate::world::{NOW, World, machine, pause, propose, source};

fn all(log: &RunLog) -> Vec<Recorded> {
    log.events(0).collect::<Result<_, _>>().unwrap()
}

fn folded(log: &RunLog) -> Run {
    all(log)
        .iter()
        .fold(Run::new(log.run().clone()), |run, recorded| {
            evolve(run, &recorded.event)
        })
}

#[test]
fn what_was_appended_is_read_back_in_another_process_life() {
    let world = World::new();
    let log = world.start_with_events(5);
    let events = all(&log);
    let run = log.run().clone();
    drop(log);
    let log = world.home.open_run(&run).unwrap();
    assert_eq!(all(&log), events);
    assert_eq!(events[3].event, pause(3));
    assert_eq!(events[3].at_ms, NOW + 3);
    assert_eq!(events[3].prev, events[2].hash);
    assert_eq!(log.load().unwrap(), folded(&log));
    assert_eq!(log.machine().unwrap(), machine(1));
    assert_eq!(log.source().unwrap(), source());
    assert_eq!(log.count().unwrap(), 5);
}

#[test]
fn events_are_read_from_any_point_on() {
    let world = World::new();
    let log = world.start_with_events(300);
    let events = all(&log);
    assert_eq!(events.len(), 300);
    for from in [0, 1, 255, 256, 299, 300, 1_000] {
        let later: Vec<Recorded> = log.events(from).map(Result::unwrap).collect();
        assert_eq!(later.as_slice(), events.get(from as usize..).unwrap_or(&[]));
    }
}

#[test]
fn an_append_where_another_writer_was_first_changes_nothing() {
    let world = World::new();
    let mut log = world.start_with_events(3);
    let mut other = world.home.open_run(log.run()).unwrap();
    other.append(3, NOW, &[pause(3)]).unwrap();
    for events in [vec![pause(99)], vec![]] {
        for (expected_seq, found) in [(3, 4), (0, 4), (5, 4)] {
            match log.append(expected_seq, NOW, &events) {
                Err(AppendError::Conflict {
                    expected,
                    found: has,
                }) => {
                    assert_eq!((expected, has), (expected_seq, found));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(log.count().unwrap(), 4);
    log.append(4, NOW, &[]).unwrap();
    assert_eq!(log.verify().unwrap(), 4);
}

#[test]
fn an_event_that_would_read_back_otherwise_is_not_recorded() {
    let world = World::new();
    let mut log = world.start(1);
    // What a library writes a number as, taken for one when it is read.
    let mimic = serde_json::json!({"$serde_json::private::Number": "1"});
    let noted = Event::ActivityEnded {
        path: interlock_core::names::FramePath::root(),
        output: mimic,
        error: None,
        key: None,
        stderr: String::new(),
    };
    let refused = log.append(1, NOW, &[noted]);
    assert!(
        matches!(
            &refused,
            Err(AppendError::Store(StoreError::Unwritable { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!(log.count().unwrap(), 1);
    assert_eq!(log.verify().unwrap(), 1);
}

#[test]
fn several_events_are_appended_whole_or_not_at_all() {
    let world = World::new();
    let mut log = world.start(1);
    let error = log.append(1, NOW, &[pause(1), too_deep(), pause(3)]);
    assert!(
        matches!(
            error,
            Err(AppendError::Store(StoreError::Unwritable { .. }))
        ),
        "{error:?}"
    );
    assert_eq!(log.count().unwrap(), 1);
    let batch: Vec<Event> = (1..100).map(pause).collect();
    log.append(1, NOW, &batch).unwrap();
    assert_eq!(log.verify().unwrap(), 100);
    assert_eq!(log.load().unwrap(), folded(&log));
}

/// An event that could be written and never be read again.
fn too_deep() -> Event {
    let deep = (0..200).fold(Value::Null, |inner, _| json!([inner]));
    let mut data = Object::new();
    data.insert("deep".to_owned(), deep);
    Event::TransitionTaken {
        path: FramePath::root(),
        event: EventName::new("DONE"),
        from: StateName::new("working"),
        to: StateName::new("done"),
        how: interlock_core::event::TransitionKind::Written,
        data,
        by: "agent".to_owned(),
        at_ms: NOW,
    }
}

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
    // Carried over now and then: not never, and not by each call.
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
    // Opened anew it knows as well how much has come.
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

#[test]
fn waiting_ends_when_there_are_more_events() {
    let world = World::new();
    let log = world.start_with_events(3);
    assert!(log.wait(2, Duration::ZERO).unwrap());
    assert!(!log.wait(3, Duration::ZERO).unwrap());
    std::thread::scope(|scope| {
        let run = log.run().clone();
        let home = &world.home;
        let follower = scope.spawn(move || {
            let log = home.open_run(&run).unwrap();
            log.wait(3, Duration::from_secs(60)).unwrap()
        });
        let mut writer = world.home.open_run(log.run()).unwrap();
        writer.append(3, NOW, &[pause(3)]).unwrap();
        assert!(follower.join().unwrap());
    });
}

/// A log to which somebody else always appends first, some times over.
struct Crowded {
    log: RunLog,
    others: u32,
}

impl EventLog for Crowded {
    fn append(&mut self, seq: u64, at_ms: u64, events: &[Event]) -> Result<(), AppendError> {
        if let Some(others) = self.others.checked_sub(1) {
            self.others = others;
            self.log.append(seq, at_ms, &[pause(seq)])?;
            let resumed = Event::RunResumed { by: String::new() };
            self.log.append(seq + 1, at_ms, &[resumed])?;
        }
        self.log.append(seq, at_ms, events)
    }

    fn load(&self) -> Result<Run, StoreError> {
        self.log.load()
    }

    fn count(&self) -> Result<u64, StoreError> {
        self.log.count()
    }

    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_> {
        self.log.events(from)
    }

    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError> {
        self.log.wait(seen, timeout)
    }
}

#[test]
fn a_command_is_decided_again_when_others_were_first() {
    let world = World::new();
    let log = world.start(1);
    let mut run = log.load().unwrap();
    let mut crowded = Crowded { log, others: 3 };
    let decision = submit(&mut crowded, &machine(1), &mut run, &propose("a")).unwrap();
    assert_eq!(decision.reply, Reply::Accepted);
    assert_eq!(run, crowded.load().unwrap());
    assert_eq!(run.seq, 1 + 3 * 2 + 1);

    crowded.others = u32::MAX;
    let error = submit(&mut crowded, &machine(1), &mut run, &propose("b"));
    assert!(
        matches!(error, Err(StoreError::Contended { .. })),
        "{error:?}"
    );
    assert_eq!(run, crowded.load().unwrap());
}
