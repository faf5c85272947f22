//! Repeated lookups of bindings: read once, and again only if one has changed.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use interlock_store::{ClientProcess, KnownSessions};

use crate::{
    bindings::{binding, key},
    world::World,
};

/// So late that no directory is recent.
const LATER: u64 = u64::MAX;

/// Waits until new files are newer than the directory of the sessions.
fn let_the_clock_go_on(world: &World) {
    let changed = |path: &Path| {
        let found = fs::metadata(path).unwrap();
        (found.ctime(), found.ctime_nsec())
    };
    let [sessions, probe] = ["sessions", "probe"].map(|name| world.home.path().join(name));
    loop {
        fs::write(&probe, "x").unwrap();
        if changed(&probe) > changed(&sessions) {
            return;
        }
    }
}

#[test]
fn they_are_read_again_where_a_session_was_bound_or_has_another_process() {
    let world = World::new();
    let known = KnownSessions::default();
    let read = || {
        let found = world.home.bound_sessions_since(&known, LATER).unwrap();
        let processes = found.iter().map(|one| one.process.clone());
        processes
            .map(|process| process.map(|process| process.pid))
            .collect::<Vec<_>>()
    };
    assert!(read().is_empty());
    let (first, second) = (world.run(), world.run());
    world.bind(&first, key("s1"), None).unwrap();
    assert_eq!(read(), [None]);
    let_the_clock_go_on(&world);
    world.bind(&second, key("s2"), None).unwrap();
    assert_eq!(read(), [None, None]);
    let_the_clock_go_on(&world);
    let mut again = binding(&first, key("s1"));
    again.process = Some(ClientProcess {
        pid: 4711,
        started: "8000".to_owned(),
    });
    let bindings = world.home.lock_bindings().unwrap();
    bindings.bind(again, None).unwrap();
    assert!(read().contains(&Some(4711)));
}

#[test]
fn a_directory_that_may_still_change_unseen_is_read_each_time() {
    let world = World::new();
    let run = world.run();
    world.bind(&run, key("s1"), None).unwrap();
    let read = |known: &KnownSessions, now_ms| {
        let found = world.home.bound_sessions_since(known, now_ms);
        found.map(|found| found.len()).ok()
    };
    let (settled, young) = (KnownSessions::default(), KnownSessions::default());
    assert_eq!((read(&settled, LATER), read(&young, 0)), (Some(1), Some(1)));
    // Overwritten in place, which does not change its directory.
    fs::write(world.only_file("sessions"), "{").unwrap();
    assert_eq!(read(&settled, LATER), Some(1), "read once");
    assert_eq!(read(&young, 0), None);
    // An unreadable binding is never cached.
    assert_eq!(read(&KnownSessions::default(), LATER), None);
}
