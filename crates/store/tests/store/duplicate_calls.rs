//! Calls that a client reports to two hooks.

use interlock_core::names::{CallId, Digest, RunId};
use interlock_store::{DuplicateCall, SessionKey};

use crate::world::{World, in_parallel};

fn key(session: &str) -> SessionKey {
    SessionKey::new("copilot", session)
}

fn duplicate(call: &str, side: &str) -> DuplicateCall {
    DuplicateCall {
        run: RunId::new("r"),
        call: CallId::new(call),
        entered_seq: 1,
        key: Digest::new("k"),
        side: side.to_owned(),
        refusal: None,
    }
}

#[test]
fn a_duplicate_call_is_taken_once_and_the_oldest_first() {
    let world = World::new();
    let session = key("s");
    let mut calls = world.home.lock_duplicate_calls(&session).unwrap();
    let left = [
        duplicate("1", "shell"),
        duplicate("2", "shell"),
        duplicate("1", "general"),
    ];
    calls.leave(left, |_| true).unwrap();
    drop(calls);
    let take = |_: usize| {
        let mut calls = world.home.lock_duplicate_calls(&session).unwrap();
        let taken = calls.take(&Digest::new("k"), "shell", |call| call.entered_seq == 1);
        taken.unwrap().map(|call| call.call.to_string())
    };
    let mut taken: Vec<String> = in_parallel(6, take).into_iter().flatten().collect();
    taken.sort();
    assert_eq!(taken, ["1", "2"]);
    let mut calls = world.home.lock_duplicate_calls(&session).unwrap();
    assert_eq!(
        calls
            .take(&Digest::new("other"), "general", |_| true)
            .unwrap(),
        None
    );
    assert_eq!(
        calls.take(&Digest::new("k"), "general", |_| false).unwrap(),
        None
    );
    calls.leave([], |_| false).unwrap();
    assert_eq!(
        calls.take(&Digest::new("k"), "general", |_| true).unwrap(),
        None
    );
}

#[test]
fn the_end_of_a_session_removes_its_duplicate_calls() {
    let world = World::new();
    world.home.drop_duplicate_calls(&key("s")).unwrap();
    assert!(!world.home.path().exists());
    let mut calls = world.home.lock_duplicate_calls(&key("s")).unwrap();
    calls.leave([duplicate("1", "shell")], |_| true).unwrap();
    drop(calls);
    world.home.drop_duplicate_calls(&key("s")).unwrap();
    let mut calls = world.home.lock_duplicate_calls(&key("s")).unwrap();
    assert_eq!(
        calls.take(&Digest::new("k"), "shell", |_| true).unwrap(),
        None
    );
}
