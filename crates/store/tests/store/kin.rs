//! Sessions of sub-agents, and calls that are told of twice.

use interlock_core::names::{CallId, Digest, RunId};
use interlock_store::{ClientProcess, DuplicateCall, Presence, SessionKey, StoreError};

use crate::world::{NOW, PROJECT, World, in_parallel};

fn key(session: &str) -> SessionKey {
    SessionKey::new("copilot", session)
}

#[test]
fn a_sub_agent_s_session_leads_to_the_topmost() {
    let world = World::new();
    let home = &world.home;
    home.remember_parent(&key("kid"), &key("top"), NOW).unwrap();
    // Where nothing is kept there is nothing to inherit.
    assert!(!home.path().exists());
    home.lock_bindings().unwrap();
    home.remember_parent(&key("kid"), &key("top"), NOW).unwrap();
    home.remember_parent(&key("deep"), &key("kid"), NOW)
        .unwrap();
    assert_eq!(home.eldest(&key("top")).unwrap(), None);
    assert_eq!(
        home.eldest(&key("kid")).unwrap(),
        Some((key("top"), key("kid")))
    );
    assert_eq!(
        home.eldest(&key("deep")).unwrap(),
        Some((key("top"), key("kid")))
    );
    let other = SessionKey::new("opencode", "kid");
    assert_eq!(home.eldest(&other).unwrap(), None);
}

#[test]
fn the_first_parent_counts_and_no_session_is_its_own() {
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    home.remember_parent(&key("a"), &key("a"), NOW).unwrap();
    assert_eq!(home.eldest(&key("a")).unwrap(), None);
    home.remember_parent(&key("a"), &key("b"), NOW).unwrap();
    home.remember_parent(&key("a"), &key("c"), NOW).unwrap();
    assert_eq!(home.eldest(&key("a")).unwrap(), Some((key("b"), key("a"))));
}

#[test]
fn of_many_sessions_only_those_are_forgotten_that_are_old() {
    const MONTHS_MS: u64 = 61 * 24 * 3_600_000;
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    home.remember_parent(&key("old"), &key("top"), NOW - MONTHS_MS)
        .unwrap();
    for number in 0..511 {
        home.remember_parent(&key(&format!("kid{number}")), &key("top"), NOW)
            .unwrap();
    }
    assert!(home.eldest(&key("old")).unwrap().is_some(), "there is room");
    home.remember_parent(&key("one more"), &key("top"), NOW)
        .unwrap();
    assert_eq!(home.eldest(&key("old")).unwrap(), None);
    for kept in ["kid0", "kid510", "one more"] {
        assert!(home.eldest(&key(kept)).unwrap().is_some(), "{kept}");
    }
}

#[test]
fn of_many_sessions_at_work_only_those_are_forgotten_whose_process_is_gone() {
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    let present = |number: u32| Presence {
        session: key(&format!("s{number}")),
        project_root: PROJECT.into(),
        process: Some(ClientProcess {
            pid: number,
            started: "1".to_owned(),
        }),
        since_ms: NOW,
        told: Vec::new(),
    };
    for number in 0..65 {
        home.remember_presence(&present(number), |process| process.pid < 2)
            .unwrap();
    }
    let kept = home.presences(std::path::Path::new(PROJECT)).unwrap();
    let mut kept: Vec<u32> = kept
        .iter()
        .filter_map(|one| one.process.as_ref())
        .map(|process| process.pid)
        .collect();
    kept.sort_unstable();
    assert_eq!(kept, (2..65).collect::<Vec<u32>>());
}

#[test]
fn sessions_that_started_each_other_are_an_error() {
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    home.remember_parent(&key("a"), &key("b"), NOW).unwrap();
    home.remember_parent(&key("b"), &key("a"), NOW).unwrap();
    assert!(matches!(
        home.eldest(&key("a")),
        Err(StoreError::Damaged { .. })
    ));
}

fn twin(call: &str, side: &str) -> DuplicateCall {
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
fn a_twin_is_taken_once_and_the_oldest_first() {
    let world = World::new();
    let session = key("s");
    let mut twins = world.home.lock_twins(&session).unwrap();
    let left = [twin("1", "shell"), twin("2", "shell"), twin("1", "general")];
    twins.leave(left, |_| true).unwrap();
    drop(twins);
    let take = |_: usize| {
        let mut twins = world.home.lock_twins(&session).unwrap();
        let taken = twins.take(&Digest::new("k"), "shell", |twin| twin.entered_seq == 1);
        taken.unwrap().map(|twin| twin.call.to_string())
    };
    let mut taken: Vec<String> = in_parallel(6, take).into_iter().flatten().collect();
    taken.sort();
    assert_eq!(taken, ["1", "2"]);
    let mut twins = world.home.lock_twins(&session).unwrap();
    assert_eq!(
        twins
            .take(&Digest::new("other"), "general", |_| true)
            .unwrap(),
        None
    );
    assert_eq!(
        twins.take(&Digest::new("k"), "general", |_| false).unwrap(),
        None
    );
    twins.leave([], |_| false).unwrap();
    assert_eq!(
        twins.take(&Digest::new("k"), "general", |_| true).unwrap(),
        None
    );
}

#[test]
fn the_end_of_a_session_takes_its_twins() {
    let world = World::new();
    world.home.drop_twins(&key("s")).unwrap();
    assert!(!world.home.path().exists());
    let mut twins = world.home.lock_twins(&key("s")).unwrap();
    twins.leave([twin("1", "shell")], |_| true).unwrap();
    drop(twins);
    world.home.drop_twins(&key("s")).unwrap();
    let mut twins = world.home.lock_twins(&key("s")).unwrap();
    assert_eq!(
        twins.take(&Digest::new("k"), "shell", |_| true).unwrap(),
        None
    );
}
