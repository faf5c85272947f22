//! Sessions and runs: who is bound to what, whatever happens in between.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use interlock_core::names::RunId;
use interlock_store::{BindError, Binding, ClientProcess, Hold, Lookup, SessionKey, StoreError};

use crate::world::{NOW, PROJECT, World, in_parallel};

fn key(session: &str) -> SessionKey {
    SessionKey::new("claude-code", session)
}

fn binding(run: &RunId, session: SessionKey) -> Binding {
    Binding {
        run: run.clone(),
        session,
        project_root: PathBuf::from(PROJECT),
        process: None,
        at_ms: NOW,
    }
}

impl World {
    fn found(&self, key: &SessionKey) -> Lookup {
        self.home.look_up(key, PROJECT.as_ref()).unwrap()
    }

    fn run(&self) -> RunId {
        self.start(1).run().clone()
    }

    fn bind(
        &self,
        run: &RunId,
        session: SessionKey,
        replacing: Option<&RunId>,
    ) -> Result<Binding, BindError> {
        self.home
            .lock_bindings()
            .unwrap()
            .bind(binding(run, session), replacing)
    }

    fn wait(&self, run: &RunId, replacing: Option<&RunId>) -> Result<(), BindError> {
        self.home
            .lock_bindings()
            .unwrap()
            .wait_for_next(run, PROJECT.as_ref(), replacing)
    }

    fn take(&self, session: &str) -> Option<RunId> {
        self.home
            .lock_bindings()
            .unwrap()
            .take_next(&key(session), PROJECT.as_ref(), None, NOW)
            .unwrap()
            .map(|binding| binding.run)
    }

    fn only_file(&self, place: &str) -> PathBuf {
        let mut files = fs::read_dir(self.home.path().join(place)).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        file
    }
}

#[test]
fn looking_up_a_session_makes_nothing() {
    let world = World::new();
    assert_eq!(world.found(&key("s1")), Lookup::Unbound);
    assert!(world.home.bound_sessions().unwrap().is_empty());
    assert!(!world.home.path().exists());
}

#[test]
fn a_bound_session_is_found_and_no_other() {
    let world = World::new();
    let run = world.run();
    let bound = world.bind(&run, key("s1"), None).unwrap();
    assert_eq!(world.found(&key("s1")), Lookup::Bound(bound.clone()));
    assert_eq!(world.found(&key("s2")), Lookup::Unbound);
    assert_eq!(
        world.found(&SessionKey::new("codex", "s1")),
        Lookup::Unbound
    );
    assert_eq!(world.home.session_of(&run).unwrap(), Some(bound));
}

#[test]
fn the_client_process_is_renewed() {
    let world = World::new();
    let run = world.run();
    world.bind(&run, key("s1"), None).unwrap();
    let mut again = binding(&run, key("s1"));
    again.process = Some(ClientProcess {
        pid: 4711,
        started: "8000".to_owned(),
    });
    world
        .home
        .lock_bindings()
        .unwrap()
        .bind(again.clone(), None)
        .unwrap();
    assert_eq!(world.found(&key("s1")), Lookup::Bound(again.clone()));
    let all = world.home.bound_sessions().unwrap();
    assert_eq!(
        all.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        [again]
    );
}

#[test]
fn neither_session_nor_run_is_bound_twice() {
    let world = World::new();
    let (first, second) = (world.run(), world.run());
    world.bind(&first, key("s1"), None).unwrap();
    let error = world.bind(&second, key("s1"), None);
    assert!(
        matches!(error, Err(BindError::SessionBound { .. })),
        "{error:?}"
    );
    let error = world.bind(&first, key("s2"), None);
    assert!(matches!(error, Err(BindError::RunHeld { .. })), "{error:?}");
    // A session of another client may have the same id.
    let error = world.bind(&first, SessionKey::new("codex", "s1"), None);
    assert!(matches!(error, Err(BindError::RunHeld { .. })), "{error:?}");
    let error = world.wait(&first, None);
    assert!(matches!(error, Err(BindError::RunHeld { .. })), "{error:?}");

    world.bind(&second, key("s1"), Some(&first)).unwrap();
    let Lookup::Bound(bound) = world.found(&key("s1")) else {
        panic!("unbound");
    };
    assert_eq!(bound.run, second);
}

#[test]
fn a_released_run_takes_another_session() {
    let world = World::new();
    let run = world.run();
    world.bind(&run, key("s1"), None).unwrap();
    let bindings = world.home.lock_bindings().unwrap();
    bindings.release(&run, PROJECT.as_ref()).unwrap();
    drop(bindings);
    assert_eq!(world.found(&key("s1")), Lookup::Unbound);
    assert_eq!(world.home.session_of(&run).unwrap(), None);
    world.wait(&run, None).unwrap();
    assert_eq!(world.take("s2"), Some(run));
}

#[test]
fn releasing_an_old_run_leaves_the_session_to_its_new_one() {
    let world = World::new();
    let (old, new) = (world.run(), world.run());
    world.bind(&old, key("s1"), None).unwrap();
    world.bind(&new, key("s1"), Some(&old)).unwrap();
    let bindings = world.home.lock_bindings().unwrap();
    bindings.release(&old, PROJECT.as_ref()).unwrap();
    drop(bindings);
    let found = world.found(&key("s1"));
    assert!(
        matches!(&found, Lookup::Bound(bound) if bound.run == new),
        "{found:?}"
    );
}

#[test]
fn a_session_named_without_its_client_is_found_with_it() {
    let world = World::new();
    let run = world.run();
    world
        .bind(&run, SessionKey::of_any_client("s1"), None)
        .unwrap();
    let Lookup::Bound(found) = world.found(&key("s1")) else {
        panic!("unbound");
    };
    assert_eq!((&found.run, &found.session), (&run, &key("s1")));
    // The first hook call tells the client.
    let bound = world.bind(&run, found.session, None).unwrap();
    assert_eq!(world.found(&key("s1")), Lookup::Bound(bound));
    world.only_file("sessions");
    assert_eq!(
        world.found(&SessionKey::new("codex", "s1")),
        Lookup::Unbound
    );

    let next = world.run();
    let error = world.bind(&next, SessionKey::of_any_client("s1"), None);
    assert!(
        matches!(error, Err(BindError::SessionBound { .. })),
        "{error:?}"
    );
    let kept = world
        .bind(&next, SessionKey::of_any_client("s1"), Some(&run))
        .unwrap();
    assert_eq!(kept.session, key("s1"));
    assert_eq!(world.found(&key("s1")), Lookup::Bound(kept));
}

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
fn a_session_that_is_being_bound_is_at_no_moment_unbound() {
    let world = World::new();
    let (first, second) = (world.run(), world.run());
    let watched = |act: &(dyn Fn() + Sync)| {
        let watchers = 3;
        let ready = std::sync::Barrier::new(watchers + 1);
        in_parallel(watchers + 1, |index| {
            if index == 0 {
                ready.wait();
                act();
                return;
            }
            let mut waits = true;
            assert_ne!(world.found(&key("s1")), Lookup::Unbound);
            ready.wait();
            while waits {
                match world.found(&key("s1")) {
                    Lookup::Unbound => panic!("a hook would have let its call pass"),
                    Lookup::Waiting(_) | Lookup::Project(_) => {}
                    Lookup::Bound(bound) => waits = bound.process.is_none(),
                }
            }
        });
    };
    let mut seen = binding(&second, key("s1"));
    seen.process = Some(ClientProcess {
        pid: 1,
        started: String::new(),
    });
    for _ in 0..15 {
        // From the run that waits, then from the session a person named without its client.
        world.wait(&first, None).unwrap();
        watched(&|| {
            world.take("s1");
            let mut seen = seen.clone();
            seen.run = first.clone();
            world
                .home
                .lock_bindings()
                .unwrap()
                .bind(seen, None)
                .unwrap();
        });
        let bindings = world.home.lock_bindings().unwrap();
        bindings.release(&first, PROJECT.as_ref()).unwrap();
        drop(bindings);
        world
            .bind(&second, SessionKey::of_any_client("s1"), None)
            .unwrap();
        watched(&|| {
            let bindings = world.home.lock_bindings().unwrap();
            bindings.bind(seen.clone(), None).unwrap();
        });
        let bindings = world.home.lock_bindings().unwrap();
        bindings.release(&second, PROJECT.as_ref()).unwrap();
    }
}

#[test]
fn a_bound_session_takes_no_other_run() {
    let world = World::new();
    let (bound, waiting) = (world.run(), world.run());
    world.bind(&bound, key("s1"), None).unwrap();
    world.wait(&waiting, None).unwrap();
    assert_eq!(world.take("s1"), Some(bound));
    assert_eq!(world.take("s2"), Some(waiting));
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
    // As it was right after the run's own word was written.
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

    // A session that has gone on to another run is left there.
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
fn a_file_that_cannot_be_read_is_never_absent() {
    let damages: &[(&str, fn(&PathBuf), fn(&StoreError) -> bool)] = &[
        (
            "empty",
            |file| fs::write(file, "").unwrap(),
            |error| matches!(error, StoreError::Damaged { .. }),
        ),
        (
            "half",
            |file| {
                let text = fs::read(file).unwrap();
                fs::write(file, &text[..text.len() / 2]).unwrap();
            },
            |error| matches!(error, StoreError::Damaged { .. }),
        ),
        (
            "no text",
            |file| fs::write(file, [0xff; 64]).unwrap(),
            |error| matches!(error, StoreError::Damaged { .. }),
        ),
        (
            "too large",
            |file| fs::write(file, " ".repeat(1 << 20)).unwrap(),
            |error| matches!(error, StoreError::Damaged { .. }),
        ),
        (
            "newer",
            |file| fs::write(file, r#"{"version":2,"content":{}}"#).unwrap(),
            |error| matches!(error, StoreError::Newer { found: 2, .. }),
        ),
        (
            "another's",
            |file| {
                let text = fs::read_to_string(file).unwrap();
                let text = text.replace("s1", "s2").replace(PROJECT, "/projects/other");
                fs::write(file, text).unwrap();
            },
            |error| matches!(error, StoreError::Damaged { .. }),
        ),
        (
            "a key too many",
            |file| {
                let text = fs::read_to_string(file).unwrap();
                fs::write(file, text.replacen("{\"run\"", "{\"rum\":1,\"run\"", 1)).unwrap();
            },
            |error| matches!(error, StoreError::Damaged { .. }),
        ),
        (
            "a directory",
            |file| {
                fs::remove_file(file).unwrap();
                fs::create_dir(file).unwrap();
            },
            |error| matches!(error, StoreError::Unsafe { .. }),
        ),
        (
            "a link",
            |file| {
                fs::remove_file(file).unwrap();
                symlink("/dev/null", file).unwrap();
            },
            |error| matches!(error, StoreError::Unsafe { .. }),
        ),
    ];
    for (name, damage, expected) in damages {
        let world = World::new();
        world.bind(&world.run(), key("s1"), None).unwrap();
        damage(&world.only_file("sessions"));
        let error = world
            .home
            .look_up(&key("s1"), PROJECT.as_ref())
            .unwrap_err();
        assert!(expected(&error), "session, {name}: {error:?}");
        assert_eq!(
            world.found(&key("s7")),
            Lookup::Unbound,
            "another session, {name}"
        );

        let world = World::new();
        world.wait(&world.run(), None).unwrap();
        damage(&world.only_file("projects"));
        let error = world
            .home
            .look_up(&key("s1"), PROJECT.as_ref())
            .unwrap_err();
        assert!(expected(&error), "project, {name}: {error:?}");
    }
}

#[test]
fn a_session_whose_run_is_gone_is_not_unbound() {
    let world = World::new();
    let (bound, waiting) = (world.run(), world.run());
    world.bind(&bound, key("s1"), None).unwrap();
    world.wait(&waiting, None).unwrap();
    fs::remove_dir_all(world.directory(&bound)).unwrap();
    fs::remove_dir_all(world.directory(&waiting)).unwrap();

    let found = world.found(&key("s1"));
    assert!(
        matches!(&found, Lookup::Bound(binding) if binding.run == bound),
        "{found:?}"
    );
    let error = world.home.open_run(&bound).unwrap_err();
    assert!(matches!(error, StoreError::MissingRun { .. }), "{error:?}");
    let bindings = world.home.lock_bindings().unwrap();
    let error = bindings
        .take_next(&key("s2"), PROJECT.as_ref(), None, NOW)
        .unwrap_err();
    assert!(matches!(error, StoreError::MissingRun { .. }), "{error:?}");
    assert!(!world.directory(&waiting).exists());
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
            // Once more after the last.
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
    let refused = bindings.begin_waiting(world.prepared_for_all(), Hold::Next, None);
    assert!(
        matches!(&refused, Err(BindError::OtherWaits { run }) if *run == first),
        "{refused:?}"
    );
    let runs = fs::read_dir(world.home.path().join("runs")).unwrap();
    assert_eq!(runs.count(), 1);
    let prepared = world.prepared_for_all();
    let started = bindings
        .begin_waiting(prepared, Hold::Every, Some(&first))
        .unwrap();
    let waiting = world.home.waiting_in(PROJECT.as_ref()).unwrap();
    assert_eq!(waiting, Some((started.run.id, Hold::Every)));
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

    // In place of the one that has ended.
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
fn the_session_of_a_process_is_the_one_bound_last() {
    let world = World::new();
    let run = world.run();
    let process = ClientProcess {
        pid: 7,
        started: "then".to_owned(),
    };
    let bound = |session| Binding {
        process: Some(process.clone()),
        ..binding(&run, key(session))
    };
    let last = || {
        world
            .home
            .session_of_process("claude-code", &process)
            .unwrap()
    };
    assert_eq!(last(), None);
    world
        .home
        .lock_bindings()
        .unwrap()
        .bind(bound("s1"), None)
        .unwrap();
    assert_eq!(last(), Some(key("s1")));
    world
        .home
        .lock_bindings()
        .unwrap()
        .share(&bound("s2"))
        .unwrap();
    assert_eq!(last(), Some(key("s2")));
    let later = ClientProcess {
        started: "later".to_owned(),
        ..process.clone()
    };
    assert_eq!(
        world
            .home
            .session_of_process("claude-code", &later)
            .unwrap(),
        None
    );
    world.home.forget_process("claude-code", &process).unwrap();
    assert_eq!(last(), None);
}

#[test]
fn a_run_takes_the_place_of_the_one_that_was_named_and_of_no_other() {
    for which in ["nobody", "another", "it"] {
        let world = World::new();
        let (held, other, next) = (world.run(), world.run(), world.run());
        let replacing = match which {
            "it" => Some(&held),
            "another" => Some(&other),
            _ => None,
        };
        world.bind(&held, key("s1"), None).unwrap();
        let bound = world.bind(&next, key("s1"), replacing);
        assert_eq!(bound.is_ok(), which == "it", "{which}: {bound:?}");
        let world = World::new();
        let (held, other, next) = (world.run(), world.run(), world.run());
        let replacing = match which {
            "it" => Some(&held),
            "another" => Some(&other),
            _ => None,
        };
        world.wait(&held, None).unwrap();
        let waits = world.wait(&next, replacing);
        assert_eq!(waits.is_ok(), which == "it", "{which}: {waits:?}");
        let taken = world.take("s1");
        let wanted = if which == "it" { next } else { held };
        assert_eq!(taken, Some(wanted), "{which}");
    }
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
        // Of the one that waits it is the end.
        let is_waiting = |world: &World| world.home.waiting_in(PROJECT.as_ref()).unwrap().is_some();
        end(&world, &waits);
        assert_eq!(is_waiting(&world), what == "it is let go", "{what}");
    }
}

#[test]
fn a_session_is_as_old_as_its_first_binding() {
    let world = World::new();
    let (first, second) = (world.run(), world.run());
    world.bind(&first, key("s1"), None).unwrap();
    for (run, at_ms) in [(&first, NOW + 5), (&second, NOW + 9)] {
        let again = Binding {
            at_ms,
            ..binding(run, key("s1"))
        };
        let bindings = world.home.lock_bindings().unwrap();
        bindings.bind(again, Some(&first)).unwrap();
        drop(bindings);
        let found = world.home.presence(&key("s1"), PROJECT.as_ref()).unwrap();
        assert_eq!(found.unwrap().since_ms, NOW, "{at_ms}");
    }
}
