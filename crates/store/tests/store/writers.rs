//! Concurrent writers, and writers that are killed.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
};

use interlock_core::{event::Event, names::RunId};
use interlock_store::{AppendError, EventLog as _, Home, Lookup, RunLog, SessionKey, submit};

use crate::world::{NOW, PROJECT, World, in_parallel, machine, pause, propose};

const CALLS: u64 = 10;

/// The part of a test that runs in a separate process, selected by the environment.
#[test]
fn child() {
    let variable = |name: &str| std::env::var(name).ok();
    let Some(role) = variable("STORE_TEST_ROLE") else {
        return;
    };
    let home = Home::at(PathBuf::from(variable("STORE_TEST_HOME").unwrap()));
    let run = RunId::new(variable("STORE_TEST_RUN").unwrap());
    match role.as_str() {
        "propose" => propose_all(&home, &run, &std::process::id().to_string()),
        "append forever" => append_forever(&home, &run),
        "take" => {
            let key = SessionKey::new("claude-code", std::process::id().to_string());
            let bindings = home.lock_bindings().unwrap();
            let taken = bindings
                .take_next(&key, PROJECT.as_ref(), None, NOW)
                .unwrap();
            println!("TOOK {}", taken.is_some());
        }
        other => panic!("no role `{other}`"),
    }
}

fn propose_all(home: &Home, run: &RunId, name: &str) {
    let mut log = home.open_run(run).unwrap();
    let mut run = log.load().unwrap();
    for number in 0..CALLS {
        let call = propose(&format!("{name}-{number}"));
        submit(&mut log, &machine(CALLS), &mut run, &call).unwrap();
    }
}

fn append_forever(home: &Home, run: &RunId) {
    let mut log = home.open_run(run).unwrap();
    for seq in log.count().unwrap().. {
        log.append(seq, NOW, &[pause(seq)]).unwrap();
        println!("ACK {seq}");
        std::io::stdout().flush().unwrap();
    }
}

fn counts(log: &RunLog) -> (usize, usize) {
    let names: Vec<&str> = log
        .events(0)
        .map(|recorded| recorded.unwrap().event.name())
        .collect();
    let of = |wanted: &str| names.iter().filter(|name| **name == wanted).count();
    (of("CallAllowed"), of("CallDenied"))
}

#[test]
fn threads_never_take_more_calls_than_are_allowed() {
    let world = World::new();
    let log = world.start(CALLS);
    let run = log.run().clone();
    in_parallel(6, |index| {
        propose_all(&world.home, &run, &index.to_string())
    });
    assert_eq!(counts(&log), (10, 50));
    assert_eq!(log.verify().unwrap(), log.load().unwrap().seq);
}

#[test]
fn processes_never_take_more_calls_than_are_allowed() {
    let world = World::new();
    let log = world.start(CALLS);
    let children: Vec<_> = (0..4)
        .map(|_| world.process("propose", log.run()))
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(counts(&log), (10, 30));
    assert_eq!(log.verify().unwrap(), log.load().unwrap().seq);
}

#[test]
fn two_appends_at_the_same_place_never_both_succeed() {
    let world = World::new();
    let log = world.start(1);
    let run = log.run().clone();
    for seq in 1..20 {
        let won = in_parallel(4, |index| {
            let mut log = world.home.open_run(&run).unwrap();
            match log.append(seq, NOW, &[pause(index as u64)]) {
                Ok(()) => true,
                Err(AppendError::Conflict { .. }) => false,
                Err(error) => panic!("{error:?}"),
            }
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "at {seq}");
    }
    assert_eq!(log.verify().unwrap(), 20);
}

#[test]
fn a_killed_writer_loses_and_doubles_no_event_it_was_told_of() {
    let world = World::new();
    let log = world.start(1);
    let run = log.run().clone();
    drop(log);
    let mut seed: u64 = 0x5eed;
    for round in 0..12 {
        // An LCG, so that the rounds are the same on every machine.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let acks = 1 + (seed >> 33) % 120;
        let mut child = world.process("append forever", &run);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let last: u64 = lines
            .map(Result::unwrap)
            .filter_map(|line| line.strip_prefix("ACK ")?.parse().ok())
            .nth(acks as usize - 1)
            .unwrap();
        child.kill().unwrap();
        child.wait().unwrap();

        let log = world.home.open_run(&run).unwrap();
        let count = log.verify().unwrap();
        assert!(
            count > last,
            "round {round}: {last} was told and {count} are there"
        );
        for recorded in log.events(1) {
            let recorded = recorded.unwrap();
            assert_eq!(recorded.event, pause(recorded.seq), "round {round}");
        }
        assert_eq!(log.load().unwrap().seq, count);
    }
}

#[test]
fn of_two_processes_one_takes_the_next_session() {
    let world = World::new();
    let log = world.start(1);
    world
        .home
        .lock_bindings()
        .unwrap()
        .wait_for_next(log.run(), PROJECT.as_ref(), None)
        .unwrap();
    let children: Vec<_> = (0..4).map(|_| world.process("take", log.run())).collect();
    let took = children
        .into_iter()
        .map(|child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
        .filter(|told| told.contains("TOOK true"))
        .count();
    assert_eq!(took, 1);
    let holder = world.home.session_of(log.run()).unwrap().unwrap();
    let found = world
        .home
        .look_up(&holder.session, PROJECT.as_ref())
        .unwrap();
    assert_eq!(found, Lookup::Bound(holder));
}

#[test]
fn a_writer_that_holds_on_makes_others_say_so() {
    let world = World::new();
    let mut log = world.start(1);
    let holder = rusqlite::Connection::open(world.database(log.run())).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = log.append(1, NOW, &[pause(1)]);
    assert!(
        matches!(
            error,
            Err(AppendError::Store(interlock_store::StoreError::Busy { .. }))
        ),
        "{error:?}"
    );
    assert_eq!(log.load().unwrap().seq, 1, "readers do not wait");
    holder.execute_batch("ROLLBACK").unwrap();
    let resumed = Event::RunResumed { by: String::new() };
    log.append(1, NOW, &[resumed]).unwrap();
}
