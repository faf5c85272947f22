//! `verify` on a log that was modified.

use interlock_core::names::RunId;
use interlock_store::{Broken, ChainHash, EventLog as _, FirstBroken, StoreError, VerifyError};
use rusqlite::Connection;

use crate::world::World;

fn first_hash(world: &World, run: &RunId) -> ChainHash {
    let log = world.home.open_run(run).unwrap();
    log.events(0).next().unwrap().unwrap().prev
}

/// Recomputes the hashes of all events, as a patient attacker would.
fn rechain(raw: &Connection, mut prev: ChainHash) {
    let mut select = raw
        .prepare("SELECT seq, at_ms, body FROM events ORDER BY seq")
        .unwrap();
    let rows: Vec<(i64, i64, Vec<u8>)> = select
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (seq, at_ms, body) in rows {
        prev = ChainHash::link(prev, seq as u64, at_ms as u64, &body);
        raw.execute(
            "UPDATE events SET hash = ?1 WHERE seq = ?2",
            rusqlite::params![prev.as_bytes(), seq],
        )
        .unwrap();
    }
}

const SWAP: &str = "
    UPDATE events SET seq = -1 WHERE seq = 5;
    UPDATE events SET seq = 5 WHERE seq = 6;
    UPDATE events SET seq = 6 WHERE seq = -1;";
const RENAME: &str = "UPDATE events SET body = \
    CAST(replace(CAST(body AS TEXT), '\"by\":\"5\"', '\"by\":\"x\"') AS BLOB) WHERE seq = 5;";

enum Then {
    Leave,
    Rechain,
}

#[test]
fn verify_names_the_first_event_that_was_changed() {
    // 40 events: a snapshot after event 15, and one after event 31.
    let cases: &[(&str, &str, Then, Result<u64, (u64, Broken)>)] = &[
        ("nothing", "", Then::Leave, Ok(40)),
        ("a body", RENAME, Then::Leave, Err((5, Broken::Hash))),
        (
            "a time",
            "UPDATE events SET at_ms = at_ms + 1 WHERE seq = 5",
            Then::Leave,
            Err((5, Broken::Hash)),
        ),
        (
            "a hash",
            "UPDATE events SET hash = zeroblob(32) WHERE seq = 5",
            Then::Leave,
            Err((5, Broken::Hash)),
        ),
        (
            "two rows swapped",
            SWAP,
            Then::Leave,
            Err((5, Broken::Hash)),
        ),
        (
            "a row removed",
            "DELETE FROM events WHERE seq = 5",
            Then::Leave,
            Err((5, Broken::Missing)),
        ),
        (
            "the first row removed",
            "DELETE FROM events WHERE seq = 0",
            Then::Leave,
            Err((0, Broken::Missing)),
        ),
        (
            "a row removed and the rest moved up",
            "DELETE FROM events WHERE seq = 5; UPDATE events SET seq = seq - 1 WHERE seq > 5;",
            Then::Leave,
            Err((5, Broken::Hash)),
        ),
        (
            "the tail removed up to before a snapshot",
            "DELETE FROM events WHERE seq >= 20",
            Then::Leave,
            Err((20, Broken::Missing)),
        ),
        (
            "a body, all hashes made to fit",
            RENAME,
            Then::Rechain,
            Err((15, Broken::Snapshot)),
        ),
        // Changes that cannot be detected from the file alone: see the docs of `verify`.
        (
            "the tail removed after the last snapshot",
            "DELETE FROM events WHERE seq >= 35",
            Then::Leave,
            Ok(35),
        ),
        (
            "the tail and the snapshots removed",
            "DELETE FROM events WHERE seq >= 20; DELETE FROM snapshots;",
            Then::Leave,
            Ok(20),
        ),
        (
            "a body, all hashes made to fit, no snapshot",
            "UPDATE events SET at_ms = at_ms + 1 WHERE seq = 5; DELETE FROM snapshots;",
            Then::Rechain,
            Ok(40),
        ),
    ];
    for (what, sql, then, expected) in cases {
        let world = World::new();
        let run = world.start_with_events(40).run().clone();
        let first = first_hash(&world, &run);
        let raw = world.raw(&run);
        raw.execute_batch(sql).unwrap();
        if let Then::Rechain = then {
            rechain(&raw, first);
        }
        drop(raw);
        let found = world.home.open_run(&run).unwrap().verify();
        match (found, expected) {
            (Ok(count), Ok(wanted)) => assert_eq!(count, *wanted, "{what}"),
            (Err(VerifyError::Broken(found)), Err((seq, broken))) => {
                let wanted = FirstBroken {
                    seq: *seq,
                    broken: broken.clone(),
                };
                assert_eq!(found, wanted, "{what}");
            }
            (found, _) => panic!("{what}: {found:?}"),
        }
    }
}

#[test]
fn one_event_with_a_fitting_hash_breaks_the_next() {
    let world = World::new();
    let run = world.start_with_events(8).run().clone();
    let fourth = world
        .home
        .open_run(&run)
        .unwrap()
        .events(4)
        .next()
        .unwrap()
        .unwrap();
    let raw = world.raw(&run);
    raw.execute_batch(RENAME).unwrap();
    let (at_ms, body): (i64, Vec<u8>) = raw
        .query_row("SELECT at_ms, body FROM events WHERE seq = 5", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let hash = ChainHash::link(fourth.hash, 5, at_ms as u64, &body);
    raw.execute(
        "UPDATE events SET hash = ?1 WHERE seq = 5",
        [hash.as_bytes()],
    )
    .unwrap();
    drop(raw);
    let found = world.home.open_run(&run).unwrap().verify();
    assert!(
        matches!(
            found,
            Err(VerifyError::Broken(FirstBroken {
                seq: 6,
                broken: Broken::Hash
            }))
        ),
        "{found:?}"
    );
}

#[test]
fn a_first_event_of_another_run_or_machine_is_found() {
    let cases: &[(&str, fn(&RunId) -> Broken)] = &[
        (
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), \
             '\"hash\":\"', '\"hash\":\"0') AS BLOB) WHERE seq = 0",
            |_| Broken::OtherMachine,
        ),
        (
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), \
             (SELECT run FROM pin), '00000000000000000000000000') AS BLOB) WHERE seq = 0",
            |_| Broken::OfRun(RunId::new("0".repeat(26))),
        ),
        (
            "UPDATE events SET body = (SELECT body FROM events WHERE seq = 1) WHERE seq = 0",
            |_| Broken::NotAStart("RunPaused"),
        ),
        (
            "UPDATE events SET body = CAST('{\"TeaServed\":{}}' AS BLOB) WHERE seq = 0",
            |_| Broken::Unreadable(String::new()),
        ),
    ];
    for (sql, wanted) in cases {
        let world = World::new();
        let run = world.start_with_events(8).run().clone();
        let first = first_hash(&world, &run);
        let raw = world.raw(&run);
        raw.execute_batch(sql).unwrap();
        rechain(&raw, first);
        drop(raw);
        let log = world.home.open_run(&run).unwrap();
        match (log.verify(), wanted(&run)) {
            (
                Err(VerifyError::Broken(FirstBroken {
                    seq: 0,
                    broken: Broken::Unreadable(_),
                })),
                Broken::Unreadable(_),
            ) => {}
            (Err(VerifyError::Broken(found)), wanted) => {
                assert_eq!(
                    found,
                    FirstBroken {
                        seq: 0,
                        broken: wanted
                    }
                );
            }
            (found, _) => panic!("{sql}: {found:?}"),
        }
        let error = log.machine().unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    }
}

#[test]
fn a_tail_removed_from_under_a_snapshot_stops_the_run() {
    let world = World::new();
    let run = world.start_with_events(40).run().clone();
    let raw = world.raw(&run);
    raw.execute_batch("DELETE FROM events WHERE seq >= 31")
        .unwrap();
    drop(raw);
    let log = world.home.open_run(&run).unwrap();
    let error = log.load().unwrap_err();
    assert!(error.to_string().contains("event 31"), "{error}");
}
