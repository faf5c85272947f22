//! Runs that wait for a session, begin for one, or are passed on to the next.

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use interlock_core::names::RunId;
use interlock_store::{BindError, Lookup, SessionKey, SessionScope};

use crate::{
    bindings::key,
    world::{PROJECT, World, in_parallel},
};

#[test]
fn exactly_one_session_takes_the_run_that_waits() {
    let world = World::new();
    let run = world.run();
    world.wait(&run, None).unwrap();
    assert_eq!(world.found(&key("s0")), Lookup::Waiting(run.clone()));
    let taken = in_parallel(8, |index| world.take(&format!("s{index}")));
    assert_eq!(taken.iter().flatten().collect::<Vec<_>>(), [&run]);
    assert_eq!(world.found(&key("s9")), Lookup::Unbound);
}

#[test]
fn two_hooks_of_one_session_both_find_it_bound() {
    let world = World::new();
    let run = world.run();
    world.wait(&run, None).unwrap();
    for taken in in_parallel(8, |_| world.take("s1")) {
        assert_eq!(taken, Some(run.clone()));
    }
}

#[test]
fn one_run_waits_at_a_time() {
    let world = World::new();
    let (first, second) = (world.run(), world.run());
    world.wait(&first, None).unwrap();
    world.wait(&first, None).unwrap();
    let error = world.wait(&second, None);
    assert!(
        matches!(error, Err(BindError::OtherWaits { .. })),
        "{error:?}"
    );
    world.wait(&second, Some(&first)).unwrap();
    assert_eq!(world.take("s1"), Some(second));
    let elsewhere = world
        .home
        .look_up(&key("s2"), "/projects/other".as_ref())
        .unwrap();
    assert_eq!(elsewhere, Lookup::Unbound);
}

#[test]
fn a_process_stopped_while_it_took_the_run_has_taken_it() {
    let world = World::new();
    let run = world.run();
    world.wait(&run, None).unwrap();
    let waiting = world.only_file("projects");
    let told = fs::read(&waiting).unwrap();
    assert_eq!(world.take("s1"), Some(run.clone()));
    // The state right after the run's own record was written.
    let stopped = || {
        fs::write(&waiting, &told).unwrap();
        fs::remove_file(world.only_file("sessions")).unwrap();
    };
    stopped();
    assert_eq!(world.take("s1"), Some(run.clone()));
    stopped();
    assert_eq!(world.take("s2"), None);
    assert_eq!(world.found(&key("s2")), Lookup::Unbound);
    let found = world.found(&key("s1"));
    assert!(
        matches!(&found, Lookup::Bound(bound) if bound.run == run),
        "{found:?}"
    );

    // A session that has moved on to another run stays there.
    let next = world.run();
    world.bind(&next, key("s1"), Some(&run)).unwrap();
    fs::write(&waiting, &told).unwrap();
    assert_eq!(world.take("s3"), None);
    let found = world.found(&key("s1"));
    assert!(
        matches!(&found, Lookup::Bound(bound) if bound.run == next),
        "{found:?}"
    );
}

#[test]
fn a_run_handed_on_goes_to_the_next_session_and_keeps_the_first() {
    let world = World::new();
    let run = world.run();
    world.bind(&run, key("s1"), None).unwrap();
    let hand_on = |run| {
        let bindings = world.home.lock_bindings().unwrap();
        bindings.hand_on(run, PROJECT.as_ref())
    };
    hand_on(&run).unwrap();
    assert_eq!(world.take("s2"), Some(run.clone()));
    for session in ["s1", "s2"] {
        let found = world.found(&key(session));
        assert!(
            matches!(&found, Lookup::Bound(binding) if binding.run == run),
            "{session}: {found:?}"
        );
    }
    assert_eq!(world.found(&key("s3")), Lookup::Unbound);
    assert_eq!(
        world.home.session_of(&run).unwrap().unwrap().session,
        key("s2")
    );

    let other = world.run();
    world.wait(&other, None).unwrap();
    let error = hand_on(&run).unwrap_err();
    assert!(matches!(error, BindError::OtherWaits { .. }), "{error:?}");
    assert!(world.home.session_of(&run).unwrap().is_some());
}

#[test]
fn a_run_that_begins_for_a_session_is_never_seen_without_it() {
    const RUNS: usize = 25;
    let world = World::new();
    let begun = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            // Once more after the last one.
            loop {
                let last = begun.load(Ordering::SeqCst);
                for run in world.home.list_runs().unwrap() {
                    let holder = world.home.session_of(&run.id).unwrap();
                    assert!(holder.is_some(), "run {} holds nobody", run.id);
                    seen.insert(run.id);
                }
                if last {
                    return seen;
                }
            }
        });
        for number in 0..RUNS {
            let prepared = world.prepared(&key(&format!("s{number}")));
            let bindings = world.home.lock_bindings().unwrap();
            bindings.begin(prepared, None).unwrap();
        }
        begun.store(true, Ordering::SeqCst);
        looker.join().unwrap()
    });
    assert_eq!(seen.len(), RUNS);
}

#[test]
fn a_run_that_would_wait_beside_another_leaves_nothing() {
    let world = World::new();
    let first = world.run();
    let bindings = world.home.lock_bindings().unwrap();
    bindings
        .wait_for_next(&first, PROJECT.as_ref(), None)
        .unwrap();
    let refused = bindings.begin_waiting(world.prepared_for_all(), SessionScope::Next, None);
    assert!(
        matches!(&refused, Err(BindError::OtherWaits { run }) if *run == first),
        "{refused:?}"
    );
    let runs = fs::read_dir(world.home.path().join("runs")).unwrap();
    assert_eq!(runs.count(), 1);
    let prepared = world.prepared_for_all();
    let started = bindings
        .begin_waiting(prepared, SessionScope::Every, Some(&first))
        .unwrap();
    let waiting = world.home.waiting_in(PROJECT.as_ref()).unwrap();
    assert_eq!(waiting, Some((started.run.id, SessionScope::Every)));
}

#[test]
fn a_prepared_run_is_seen_when_it_begins_and_leaves_nothing_when_it_does_not() {
    let world = World::new();
    let prepared = world.prepared(&key("s1"));
    assert!(world.home.list_runs().unwrap().is_empty());
    let run = prepared.id().clone();
    let bindings = world.home.lock_bindings().unwrap();
    let (started, bound) = bindings.begin(prepared, None).unwrap();
    assert_eq!((started.log.run(), &bound.run), (&run, &run));
    assert_eq!(world.found(&key("s1")), Lookup::Bound(bound.clone()));
    assert_eq!(world.home.session_of(&run).unwrap(), Some(bound));

    let error = bindings.begin(world.prepared(&key("s1")), None);
    assert!(
        matches!(error, Err(BindError::SessionBound { .. })),
        "{error:?}"
    );
    drop(world.prepared(&key("s2")));
    let left = fs::read_dir(world.home.path().join("runs")).unwrap();
    assert_eq!(left.count(), 1);

    // Instead of the one that has ended.
    let (next, _) = bindings
        .begin(world.prepared(&key("s1")), Some(&run))
        .unwrap();
    let Lookup::Bound(bound) = world.found(&key("s1")) else {
        panic!("unbound");
    };
    assert_eq!(&bound.run, next.log.run());
}

#[test]
fn a_run_that_begins_for_a_session_of_any_client_keeps_the_client_that_is_known() {
    let world = World::new();
    let first = world.run();
    world.bind(&first, key("s1"), None).unwrap();
    let prepared = world.prepared(&SessionKey::of_any_client("s1"));
    let bindings = world.home.lock_bindings().unwrap();
    let (started, bound) = bindings.begin(prepared, Some(&first)).unwrap();
    assert_eq!(bound.session, key("s1"));
    assert_eq!(
        world.home.session_of(started.log.run()).unwrap(),
        Some(bound)
    );
}

#[test]
fn a_run_that_holds_every_session_goes_on_to_do_so_when_it_is_handed_on() {
    let world = World::new();
    let run = world.run();
    let bindings = || world.home.lock_bindings().unwrap();
    bindings().hold_every(&run, PROJECT.as_ref(), None).unwrap();
    assert_eq!(world.take("s1").as_ref(), Some(&run));
    assert_eq!(world.take("s2").as_ref(), Some(&run));
    bindings().hand_on(&run, PROJECT.as_ref()).unwrap();
    assert_eq!(world.found(&key("s3")), Lookup::Project(run.clone()));
    assert_eq!(world.take("s3").as_ref(), Some(&run));
    assert_eq!(world.found(&key("s4")), Lookup::Project(run.clone()));
    bindings().stop_waiting(&run, PROJECT.as_ref()).unwrap();
    assert_eq!(world.found(&key("s4")), Lookup::Unbound);
    assert!(matches!(world.found(&key("s1")), Lookup::Bound(_)));
}

#[test]
fn what_ends_one_run_leaves_another_that_waits() {
    type End = fn(&World, &RunId);
    let ends: [(&str, End); 4] = [
        ("it waits no more", |world, run| {
            let bindings = world.home.lock_bindings().unwrap();
            bindings.stop_waiting(run, PROJECT.as_ref()).unwrap();
        }),
        ("it is released", |world, run| {
            let bindings = world.home.lock_bindings().unwrap();
            bindings.release(run, PROJECT.as_ref()).unwrap();
        }),
        ("it is bound", |world, run| {
            world.bind(run, key(run.as_str()), None).unwrap();
        }),
        ("it is let go", |world, run| {
            world.home.lock_bindings().unwrap().let_go(run).unwrap();
        }),
    ];
    for (what, end) in ends {
        let world = World::new();
        let (ends, waits) = (world.run(), world.run());
        world.wait(&waits, None).unwrap();
        end(&world, &ends);
        assert_eq!(
            world.found(&key("s1")),
            Lookup::Waiting(waits.clone()),
            "{what}"
        );
        // The waiting one ends there.
        let is_waiting = |world: &World| world.home.waiting_in(PROJECT.as_ref()).unwrap().is_some();
        end(&world, &waits);
        assert_eq!(is_waiting(&world), what == "it is let go", "{what}");
    }
}
