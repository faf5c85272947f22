//! Sessions of sub-agents, and active sessions.

use interlock_store::{ClientProcess, Presence, SessionKey, StoreError};

use crate::world::{NOW, PROJECT, World};

fn key(session: &str) -> SessionKey {
    SessionKey::new("copilot", session)
}

#[test]
fn a_sub_agent_s_session_leads_to_the_topmost() {
    let world = World::new();
    let home = &world.home;
    home.remember_parent(&key("child"), &key("top"), NOW)
        .unwrap();
    // Without records, there is nothing to inherit.
    assert!(!home.path().exists());
    home.lock_bindings().unwrap();
    home.remember_parent(&key("child"), &key("top"), NOW)
        .unwrap();
    home.remember_parent(&key("deep"), &key("child"), NOW)
        .unwrap();
    assert_eq!(home.top_session(&key("top")).unwrap(), None);
    assert_eq!(
        home.top_session(&key("child")).unwrap(),
        Some((key("top"), key("child")))
    );
    assert_eq!(
        home.top_session(&key("deep")).unwrap(),
        Some((key("top"), key("child")))
    );
    let other = SessionKey::new("opencode", "child");
    assert_eq!(home.top_session(&other).unwrap(), None);
}

#[test]
fn the_first_parent_counts_and_no_session_is_its_own() {
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    home.remember_parent(&key("a"), &key("a"), NOW).unwrap();
    assert_eq!(home.top_session(&key("a")).unwrap(), None);
    home.remember_parent(&key("a"), &key("b"), NOW).unwrap();
    home.remember_parent(&key("a"), &key("c"), NOW).unwrap();
    assert_eq!(
        home.top_session(&key("a")).unwrap(),
        Some((key("b"), key("a")))
    );
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
        home.remember_parent(&key(&format!("child{number}")), &key("top"), NOW)
            .unwrap();
    }
    assert!(
        home.top_session(&key("old")).unwrap().is_some(),
        "there is room"
    );
    home.remember_parent(&key("one more"), &key("top"), NOW)
        .unwrap();
    assert_eq!(home.top_session(&key("old")).unwrap(), None);
    for kept in ["child0", "child510", "one more"] {
        assert!(home.top_session(&key(kept)).unwrap().is_some(), "{kept}");
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
fn of_few_sessions_none_is_forgotten_whose_process_is_gone() {
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    for (session, process) in [("ended", None), ("at-work", Some(7))] {
        let presence = Presence {
            session: key(session),
            project_root: PROJECT.into(),
            process: process.map(|pid| ClientProcess {
                pid,
                started: "1".to_owned(),
            }),
            since_ms: NOW,
            told: Vec::new(),
        };
        home.remember_presence(&presence, |_| true).unwrap();
    }
    let kept = home.presences(std::path::Path::new(PROJECT)).unwrap();
    assert_eq!(kept.len(), 2, "{kept:?}");
}

#[test]
fn a_record_of_another_session_is_an_error() {
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    home.remember_parent(&key("a"), &key("top"), NOW).unwrap();
    let records = home.path().join("session_parents");
    std::fs::rename(
        records.join(key("a").file_name()),
        records.join(key("b").file_name()),
    )
    .unwrap();
    assert_eq!(home.top_session(&key("a")).unwrap(), None);
    assert!(matches!(
        home.top_session(&key("b")),
        Err(StoreError::Damaged { .. })
    ));
}

#[test]
fn sessions_that_started_each_other_are_an_error() {
    let world = World::new();
    let home = &world.home;
    home.lock_bindings().unwrap();
    home.remember_parent(&key("a"), &key("b"), NOW).unwrap();
    home.remember_parent(&key("b"), &key("a"), NOW).unwrap();
    assert!(matches!(
        home.top_session(&key("a")),
        Err(StoreError::Damaged { .. })
    ));
}
