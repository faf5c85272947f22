//! Concurrent writers, repeated commands, and runners that were replaced.

use interlock_core::names::RunId;
use interlock_shared::{Appended, CommandKey, SharedError, SharedRun, SharedRuns};
use interlock_store::{AppendError, EventLog as _, RunStore as _, StoreError};

use crate::{
    server,
    world::{NOW, World, in_parallel, pause},
};

/// Returns a run of a new tenant, with `events` events.
fn begun(events: u64) -> Option<(World, SharedRuns, RunId)> {
    let world = World::new();
    let runs = server::runs(&world)?;
    let world = world.with_runs(runs.clone());
    let run = world.start_with_events(events).run().clone();
    Some((world, runs, run))
}

fn shared(error: &StoreError) -> &SharedError {
    match error {
        StoreError::Elsewhere(error) => error.downcast_ref().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_many_appends_at_a_sequence_exactly_one_wins() {
    let Some((_world, runs, run)) = begun(3) else {
        return;
    };
    for seq in [3, 5, 7, 9] {
        let answers = in_parallel(6, |writer| {
            let mut log = runs.open_run(&run).unwrap();
            log.append(seq, NOW, &[pause(writer as u64), pause(99)])
        });
        let won = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(won, 1);
        for lost in answers.into_iter().filter_map(Result::err) {
            match lost {
                AppendError::Conflict { expected, found } => {
                    assert_eq!((expected, found), (seq, seq + 2));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(runs.open_run(&run).unwrap().verify().unwrap(), 11);
}

#[test]
fn a_repeated_command_is_recorded_once_and_gives_its_stored_reply() {
    let Some((_world, runs, run)) = begun(1) else {
        return;
    };
    let key = |digest: u8, reply: &[u8]| CommandKey {
        id: "c-1".to_owned(),
        digest: [digest; 32],
        reply: reply.to_vec(),
    };
    let mut log = runs.open_run(&run).unwrap();
    let first = log.append_command(1, NOW, &[pause(1)], Some(key(7, b"allowed")));
    assert_eq!(first.unwrap(), Appended::Recorded);
    log.append(2, NOW, &[pause(2)]).unwrap();
    // At any sequence number, by any process, whatever the present answer would be.
    for seq in [1, 2, 3] {
        let mut again = runs.open_run(&run).unwrap();
        let answer = again.append_command(seq, NOW, &[pause(9)], Some(key(7, b"denied")));
        let reply = b"allowed".to_vec();
        assert_eq!(answer.unwrap(), Appended::Repeated { reply, seq: 2 });
    }
    let other = log.append_command(3, NOW, &[pause(9)], Some(key(8, b"")));
    let error = other.unwrap_err();
    assert!(
        matches!(shared(&error), SharedError::OtherCommand { id } if id == "c-1"),
        "{error:?}"
    );
    assert_eq!(log.count().unwrap(), 3);
    // Refused at the wrong moment, it is not recorded, and may be sent again.
    let late = CommandKey {
        id: "c-2".to_owned(),
        ..key(7, b"x")
    };
    let conflict = log.append_command(1, NOW, &[pause(9)], Some(late.clone()));
    assert_eq!(conflict.unwrap(), Appended::Conflict { found: 3 });
    let recorded = log.append_command(3, NOW, &[pause(9)], Some(late));
    assert_eq!(recorded.unwrap(), Appended::Recorded);
    assert_eq!(log.verify().unwrap(), 4);
}

#[test]
fn one_command_asked_by_many_at_once_is_recorded_once() {
    let Some((_world, runs, run)) = begun(1) else {
        return;
    };
    let key = CommandKey {
        id: "c".to_owned(),
        digest: [1; 32],
        reply: b"yes".to_vec(),
    };
    let answers = in_parallel(6, |_| {
        let mut log = runs.open_run(&run).unwrap();
        log.append_command(1, NOW, &[pause(1)], Some(key.clone()))
            .unwrap()
    });
    let recorded = answers
        .iter()
        .filter(|answer| **answer == Appended::Recorded);
    assert_eq!(recorded.count(), 1);
    let repeated = |answer: &&Appended| matches!(answer, Appended::Repeated { seq: 2, .. });
    assert_eq!(answers.iter().filter(repeated).count(), 5);
    assert_eq!(runs.open_run(&run).unwrap().count().unwrap(), 2);
}

#[test]
fn a_stale_epoch_appends_nothing() {
    let Some((_world, runs, run)) = begun(1) else {
        return;
    };
    let carrier = |holder: &str| -> (u64, SharedRun) {
        let epoch = runs.database().take_epoch(&run, holder).unwrap();
        let mut log = runs.open_run(&run).unwrap();
        log.carry(epoch);
        (epoch, log)
    };
    let (first, mut old) = carrier("worker-1");
    old.append(1, NOW, &[pause(1)]).unwrap();
    let (second, mut new) = carrier("worker-2");
    assert_eq!((first, second), (1, 2));
    for (events, seq) in [(vec![pause(2)], 2), (vec![], 2), (vec![pause(2)], 1)] {
        let error = old.append(seq, NOW, &events).unwrap_err();
        let AppendError::Store(error) = error else {
            panic!("{error:?}");
        };
        let stale = shared(&error);
        assert!(
            matches!(
                stale,
                SharedError::StaleEpoch {
                    held: 1,
                    current: 2,
                    ..
                }
            ),
            "{stale:?}"
        );
    }
    assert_eq!(new.count().unwrap(), 2);
    new.append(2, NOW, &[pause(2)]).unwrap();
    // A person's command needs no epoch.
    let mut person = runs.open_run(&run).unwrap();
    person.append(3, NOW, &[pause(3)]).unwrap();
    assert_eq!(person.verify().unwrap(), 4);
    assert_eq!(runs.database().epoch(&run).unwrap(), 2);
}

#[test]
fn snapshots_keep_what_is_read_short_and_are_never_believed_over_the_log() {
    let Some((_world, runs, run)) = begun(40) else {
        return;
    };
    let tenant = runs.database().tenant().as_str().to_owned();
    let sql = |sql: &str| {
        server::server()
            .unwrap()
            .unfiltered("interlock_test", &tenant, sql)
    };
    let kept = sql("SELECT count(*) > 0, count(*) <= 2 FROM interlock.snapshots").unwrap();
    assert_eq!(kept, "t|t");
    let log = runs.open_run(&run).unwrap();
    let before = log.load().unwrap();
    assert_eq!(log.verify().unwrap(), 40);
    // A damaged snapshot is ignored.
    sql("UPDATE interlock.snapshots SET body = body || '\\x20'").unwrap();
    assert_eq!(log.load().unwrap(), before);
    assert_eq!(log.verify().unwrap(), 40);
}

#[test]
fn what_others_append_meanwhile_is_no_fault_of_a_log_that_is_verified() {
    let Some((_world, runs, run)) = begun(1) else {
        return;
    };
    let counts = in_parallel(2, |number| {
        let mut log = runs.open_run(&run).unwrap();
        if number == 0 {
            for seq in 1..80 {
                log.append(seq, NOW, &[pause(seq)]).unwrap();
            }
        }
        while log.verify().unwrap() < 80 {}
        log.count().unwrap()
    });
    assert_eq!(counts, [80, 80]);
}
