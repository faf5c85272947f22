//! The location of the state directory, and whether it can be trusted.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use interlock_core::names::RunId;
use interlock_store::{Home, Lookup, SessionKey, StoreError};

use crate::world::{NOW, PROJECT, World};

#[test]
fn the_state_directory_is_where_the_variables_say() {
    let cases: &[(&[(&str, &str)], Option<&str>)] = &[
        (
            &[("XDG_STATE_HOME", "/x"), ("HOME", "/h")],
            Some("/x/interlock"),
        ),
        (&[("HOME", "/h")], Some("/h/.local/state/interlock")),
        (
            &[("XDG_STATE_HOME", ""), ("HOME", "/h")],
            Some("/h/.local/state/interlock"),
        ),
        (&[("XDG_STATE_HOME", "x"), ("HOME", "/h")], None),
        (&[("HOME", "h")], None),
        (&[], None),
    ];
    for (variables, expected) in cases {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let found = Home::locate(|name| variables.get(name).map(OsString::from));
        assert_eq!(
            found.ok().as_ref().map(Home::path),
            expected.map(Path::new),
            "{variables:?}"
        );
    }
}

#[test]
fn only_the_owner_may_enter_or_read() {
    let world = World::new();
    let log = world.start(1);
    let key = SessionKey::new("claude-code", "s1");
    let bindings = world.home.lock_bindings().unwrap();
    bindings
        .wait_for_next(log.run(), PROJECT.as_ref(), None)
        .unwrap();
    bindings
        .take_next(&key, PROJECT.as_ref(), None, NOW)
        .unwrap();
    world.home.make_token(Vec::new()).unwrap();
    let mut seen = 0;
    let mut places = vec![world.home.path().to_owned()];
    while let Some(place) = places.pop() {
        let found = fs::symlink_metadata(&place).unwrap();
        let others = found.permissions().mode() & 0o077;
        assert_eq!(others, 0, "{}", place.display());
        if found.is_dir() {
            places.extend(
                fs::read_dir(&place)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
        seen += 1;
    }
    assert!(seen > 8, "{seen}");
}

#[test]
fn a_state_directory_that_is_not_ours_is_refused() {
    let cases: &[(&str, fn(&Path))] = &[
        ("others may write", |root| {
            fs::create_dir(root).unwrap();
            fs::set_permissions(root, Permissions::from_mode(0o777)).unwrap();
        }),
        ("a file", |root| fs::write(root, "").unwrap()),
        ("a link to nowhere", |root| {
            symlink("/nowhere/at/all", root).unwrap()
        }),
        ("a link to a file", |root| {
            symlink("/dev/null", root).unwrap()
        }),
        ("a link to itself", |root| symlink(root, root).unwrap()),
    ];
    for (name, make) in cases {
        let directory = tempfile::TempDir::new().unwrap();
        let home = Home::at(directory.path().join("interlock"));
        make(home.path());
        let key = SessionKey::new("claude-code", "s1");
        home.look_up(&key, PROJECT.as_ref()).unwrap_err();
        home.list_runs().unwrap_err();
        home.make_token(Vec::new()).unwrap_err();
        home.token_made_below("x").unwrap_err();
        home.open_run(&RunId::new("0".repeat(26))).unwrap_err();
        let error = home.lock_bindings().unwrap_err();
        assert!(
            matches!(error, StoreError::Unsafe { .. } | StoreError::Io { .. }),
            "{name}: {error:?}"
        );
    }
}

#[test]
fn a_state_directory_behind_a_link_of_ours_is_used() {
    let directory = tempfile::TempDir::new().unwrap();
    let real = directory.path().join("disk2");
    fs::create_dir(&real).unwrap();
    fs::set_permissions(&real, Permissions::from_mode(0o700)).unwrap();
    symlink(&real, directory.path().join("state")).unwrap();
    let world = World::at(directory, "state/interlock");
    let run = world.start(1).run().clone();
    assert!(real.join("interlock/runs").join(run.as_str()).is_dir());
    world.home.open_run(&run).unwrap();
    let found = world
        .home
        .look_up(&SessionKey::new("claude-code", "s1"), PROJECT.as_ref())
        .unwrap();
    assert_eq!(found, Lookup::Unbound);
}
