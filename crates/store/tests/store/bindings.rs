//! Sessions and runs: their bindings, whatever happens in between.

use std::{fs, path::PathBuf};

use interlock_core::names::RunId;
use interlock_store::{BindError, Binding, ClientProcess, Lookup, SessionKey};

use crate::world::{NOW, PROJECT, World, in_parallel};

pub(crate) fn key(session: &str) -> SessionKey {
    SessionKey::new("claude-code", session)
}

pub(crate) fn binding(run: &RunId, session: SessionKey) -> Binding {
    Binding {
        run: run.clone(),
        session,
        project_root: PathBuf::from(PROJECT),
        process: None,
        at_ms: NOW,
    }
}

impl World {
    pub(crate) fn found(&self, key: &SessionKey) -> Lookup {
        self.home.look_up(key, PROJECT.as_ref()).unwrap()
    }

    pub(crate) fn run(&self) -> RunId {
        self.start(1).run().clone()
    }

    pub(crate) fn bind(
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

    pub(crate) fn wait(&self, run: &RunId, replacing: Option<&RunId>) -> Result<(), BindError> {
        self.home
            .lock_bindings()
            .unwrap()
            .wait_for_next(run, PROJECT.as_ref(), replacing)
    }

    pub(crate) fn take(&self, session: &str) -> Option<RunId> {
        self.home
            .lock_bindings()
            .unwrap()
            .take_next(&key(session), PROJECT.as_ref(), None, NOW)
            .unwrap()
            .map(|binding| binding.run)
    }

    pub(crate) fn only_file(&self, place: &str) -> PathBuf {
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
    // The first hook call reveals the client.
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
        // From the pending run, then from the session that a person named without its client.
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
