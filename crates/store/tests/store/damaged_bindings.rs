//! Unreadable bindings are never treated as missing.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use interlock_store::{Lookup, StoreError};

use crate::{
    bindings::key,
    world::{NOW, PROJECT, World},
};

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
