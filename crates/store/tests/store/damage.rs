//! Damaged, foreign and missing runs: each gives a clear error, and nothing is created or removed.

use std::{fs, os::unix::fs::symlink, path::Path};

use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Home, Listed, StoreError};

use crate::world::World;

struct Case {
    name: &'static str,
    damage: fn(&World, &RunId),
    error: fn(&StoreError) -> bool,
}

fn sql(world: &World, run: &RunId, text: &str) {
    world.raw(run).execute_batch(text).unwrap();
}

fn damaged(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged { .. })
}

fn overwrite(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

const CASES: &[Case] = &[
    Case {
        name: "an empty file",
        damage: |world, run| fs::write(world.database(run), "").unwrap(),
        error: damaged,
    },
    Case {
        name: "text in place of a database",
        damage: |world, run| fs::write(world.database(run), "hello\n".repeat(2_000)).unwrap(),
        error: damaged,
    },
    Case {
        name: "a file cut in half",
        damage: |world, run| {
            drop(world.raw(run));
            overwrite(&world.database(run), |bytes| {
                bytes.truncate(bytes.len() / 2)
            });
        },
        error: damaged,
    },
    Case {
        name: "a file cut inside its first page",
        damage: |world, run| {
            drop(world.raw(run));
            overwrite(&world.database(run), |bytes| bytes.truncate(50));
        },
        error: damaged,
    },
    Case {
        name: "pages of zeros",
        damage: |world, run| {
            drop(world.raw(run));
            overwrite(&world.database(run), |bytes| bytes[4_096..].fill(0));
        },
        error: damaged,
    },
    Case {
        name: "a database of another program",
        damage: |world, run| sql(world, run, "PRAGMA application_id = 0"),
        error: |error| matches!(error, StoreError::Foreign { .. }),
    },
    Case {
        name: "a newer layout",
        damage: |world, run| sql(world, run, "PRAGMA user_version = 99"),
        error: |error| matches!(error, StoreError::Newer { found: 99, .. }),
    },
    Case {
        name: "no layout",
        damage: |world, run| sql(world, run, "PRAGMA user_version = 0"),
        error: damaged,
    },
    Case {
        name: "a directory in place of the file",
        damage: |world, run| {
            drop(world.raw(run));
            fs::remove_file(world.database(run)).unwrap();
            fs::create_dir(world.database(run)).unwrap();
        },
        error: |error| matches!(error, StoreError::Unsafe { .. }),
    },
    Case {
        name: "a link in place of the file",
        damage: |world, run| {
            drop(world.raw(run));
            let moved = world.directory(run).join("elsewhere.db");
            fs::rename(world.database(run), &moved).unwrap();
            symlink(&moved, world.database(run)).unwrap();
        },
        error: |error| matches!(error, StoreError::Unsafe { .. }),
    },
    Case {
        name: "a link in place of the run's directory",
        damage: |world, run| {
            drop(world.raw(run));
            let moved = world.home.path().join("elsewhere");
            fs::rename(world.directory(run), &moved).unwrap();
            symlink(&moved, world.directory(run)).unwrap();
        },
        error: |error| matches!(error, StoreError::Unsafe { .. }),
    },
    Case {
        name: "no file",
        damage: |world, run| fs::remove_file(world.database(run)).unwrap(),
        error: damaged,
    },
    Case {
        name: "the file of another run",
        damage: |world, run| {
            let other = world.start(1).run().clone();
            drop((world.raw(run), world.raw(&other)));
            fs::copy(world.database(&other), world.database(run)).unwrap();
        },
        error: damaged,
    },
    Case {
        name: "no pin",
        damage: |world, run| sql(world, run, "DELETE FROM pin"),
        error: damaged,
    },
    Case {
        name: "a changed machine",
        damage: |world, run| {
            sql(
                world,
                run,
                "UPDATE pin SET machine = CAST(replace(CAST(machine AS TEXT), 'DONE', 'GONE') AS BLOB)",
            );
        },
        error: damaged,
    },
    Case {
        name: "a changed workflow text",
        damage: |world, run| sql(world, run, "UPDATE pin SET source = 'id: other'"),
        error: damaged,
    },
    Case {
        name: "another durability than there is",
        damage: |world, run| sql(world, run, "UPDATE pin SET durability = 'none'"),
        error: damaged,
    },
    Case {
        name: "a gap in the log",
        damage: |world, run| sql(world, run, "DELETE FROM events WHERE seq = 5"),
        error: damaged,
    },
    Case {
        name: "no first event",
        damage: |world, run| sql(world, run, "DELETE FROM events WHERE seq = 0"),
        error: damaged,
    },
    Case {
        name: "an event that is not JSON",
        damage: |world, run| sql(world, run, "UPDATE events SET body = X'7b' WHERE seq = 5"),
        error: damaged,
    },
    Case {
        name: "a negative time",
        damage: |world, run| sql(world, run, "UPDATE events SET at_ms = -1 WHERE seq = 5"),
        error: damaged,
    },
    Case {
        name: "no table of events",
        damage: |world, run| sql(world, run, "DROP TABLE events"),
        error: damaged,
    },
    Case {
        name: "a view in place of the events",
        damage: |world, run| {
            sql(
                world,
                run,
                "ALTER TABLE events RENAME TO kept; CREATE VIEW events AS SELECT * FROM kept;",
            );
        },
        error: damaged,
    },
];

/// Reads everything of a run that a call could need.
fn use_run(home: &Home, run: &RunId) -> Result<(), StoreError> {
    let log = home.open_run(run)?;
    log.machine()?;
    log.source()?;
    log.load()?;
    log.events(0).collect::<Result<Vec<_>, _>>().map(|_| ())
}

#[test]
fn a_damaged_run_is_an_error_and_stays_as_it_is() {
    for case in CASES {
        let world = World::new();
        let run = world.start_with_events(8).run().clone();
        let healthy = world.start(1).run().clone();
        (case.damage)(&world, &run);
        let before = fs::read(world.database(&run)).ok();

        for _ in 0..2 {
            let error = use_run(&world.home, &run).unwrap_err();
            assert!((case.error)(&error), "{}: {error:?}", case.name);
            let told = error.to_string();
            assert!(told.contains(run.as_str()), "{}: {told}", case.name);
        }
        let listed = world.home.list_runs().unwrap();
        let of = |id: &RunId| &listed.iter().find(|run| run.id == *id).unwrap().listed;
        assert!(matches!(of(&healthy), Listed::Known(_)), "{}", case.name);
        if case.name != "a changed workflow text" {
            use_run(&world.home, &healthy).unwrap();
        }
        assert!(matches!(of(&run), Listed::Damaged { .. }), "{}", case.name);
        assert_eq!(fs::read(world.database(&run)).ok(), before, "{}", case.name);
    }
}

#[test]
fn a_run_that_is_gone_is_missing_and_not_made_anew() {
    let world = World::new();
    let run = world.start(1).run().clone();
    fs::remove_dir_all(world.directory(&run)).unwrap();
    let error = world.home.open_run(&run).unwrap_err();
    assert!(matches!(error, StoreError::MissingRun { .. }), "{error:?}");
    assert!(!world.directory(&run).exists());

    let nowhere = World::new();
    let error = nowhere.home.open_run(&run).unwrap_err();
    assert!(matches!(error, StoreError::MissingRun { .. }), "{error:?}");
    assert!(!nowhere.home.path().exists());
}

#[test]
fn nothing_is_appended_to_a_log_with_a_gap() {
    let world = World::new();
    let run = world.start_with_events(40).run().clone();
    sql(&world, &run, "DELETE FROM events WHERE seq = 35");
    let mut log = world.home.open_run(&run).unwrap();
    let batch: Vec<_> = (40..70).map(crate::world::pause).collect();
    log.append(40, 1, &batch).unwrap_err();
    assert_eq!(log.count().unwrap(), 40);
    drop(log);
    // A snapshot never hides events that it was not folded from.
    let error = use_run(&world.home, &run).unwrap_err();
    assert!(error.to_string().contains("event 35"), "{error}");
}

#[test]
fn an_id_never_leads_out_of_the_directory_of_runs() {
    let world = World::new();
    world.start(1);
    for text in ["", ".", "..", "../runs", "/etc/passwd", "a/b"] {
        let error = world.home.open_run(&RunId::new(text)).unwrap_err();
        assert!(matches!(error, StoreError::BadRunId { .. }), "{error:?}");
    }
}
