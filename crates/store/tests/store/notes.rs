//! Notes of control calls, and the person's token.

use std::{fs, path::PathBuf};

use interlock_core::{
    call::ControlTool,
    event::Event,
    names::{AgentId, CallId, Digest, RunId},
};
use interlock_store::{
    ClientProcess, EventLog as _, Home, NOTE_AGE_MAX_MS, Note, SessionKey, StoreError,
    TokenStanding,
};

use crate::world::{NOW, PROJECT, World, in_parallel};

fn note(session: &str, at_ms: u64) -> Note {
    Note {
        session: SessionKey::new("claude-code", session),
        run: None,
        project_root: PathBuf::from(PROJECT),
        agent: None,
        process: None,
        call: None,
        tool: ControlTool::Transition.into(),
        digest: Digest::new("d1"),
        asked: false,
        question: None,
        unattended: false,
        judged: None,
        at_ms,
    }
}

fn asking(session: &str, at_ms: u64) -> Note {
    Note {
        asked: true,
        ..note(session, at_ms)
    }
}

impl World {
    fn take_note(&self, now_ms: u64) -> Option<Note> {
        self.home
            .take_note(ControlTool::Transition, &Digest::new("d1"), now_ms, |_| {
                true
            })
            .unwrap()
    }
}

#[test]
fn a_note_is_taken_once() {
    let world = World::new();
    assert_eq!(world.take_note(NOW), None);
    assert!(!world.home.path().exists());
    world.home.leave_note(&note("s1", NOW)).unwrap();
    let taken = in_parallel(8, |_| world.take_note(NOW));
    assert_eq!(
        taken.into_iter().flatten().collect::<Vec<_>>(),
        [note("s1", NOW)]
    );
    let left = fs::read_dir(world.home.path().join("notes")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn a_note_is_for_its_tool_and_arguments_only() {
    let world = World::new();
    world.home.leave_note(&note("s1", NOW)).unwrap();
    let take = |tool, digest: &str| {
        world
            .home
            .take_note(tool, &Digest::new(digest), NOW, |_| true)
            .unwrap()
    };
    assert_eq!(take(ControlTool::Transition, "d2"), None);
    assert_eq!(take(ControlTool::Pause, "d1"), None);
    assert!(take(ControlTool::Transition, "d1").is_some());
}

#[test]
fn notes_are_taken_oldest_first_among_those_that_fit() {
    let world = World::new();
    for (session, at_ms) in [("s3", NOW + 3), ("s1", NOW + 1), ("s2", NOW + 2)] {
        world.home.leave_note(&note(session, at_ms)).unwrap();
    }
    let second = SessionKey::new("claude-code", "s2");
    let fitting = world
        .home
        .take_note(ControlTool::Transition, &Digest::new("d1"), NOW, |note| {
            note.session == second
        })
        .unwrap();
    assert_eq!(fitting, Some(note("s2", NOW + 2)));
    assert_eq!(world.take_note(NOW), Some(note("s1", NOW + 1)));
    assert_eq!(world.take_note(NOW), Some(note("s3", NOW + 3)));
    assert_eq!(world.take_note(NOW), None);
}

#[test]
fn an_old_note_counts_no_more_whichever_way_the_clock_went() {
    for (left, now, counts) in [
        (NOW, NOW + NOTE_AGE_MAX_MS, true),
        (NOW, NOW + NOTE_AGE_MAX_MS + 1, false),
        (NOW + NOTE_AGE_MAX_MS + 1, NOW, false),
    ] {
        let world = World::new();
        world.home.leave_note(&asking("s1", left)).unwrap();
        assert_eq!(
            world.take_note(now).is_some(),
            counts,
            "left {left}, now {now}"
        );
    }
}

#[test]
fn a_second_question_for_the_same_call_ends_the_first() {
    let world = World::new();
    world.home.leave_note(&asking("s1", NOW)).unwrap();
    let other_agent = Note {
        agent: Some(AgentId::new("sub")),
        ..asking("s1", NOW + 1)
    };
    world.home.leave_note(&other_agent).unwrap();
    world.home.leave_note(&asking("s2", NOW + 2)).unwrap();
    // The person denied the first; it must not replace a later approval.
    world.home.leave_note(&note("s1", NOW + 3)).unwrap();
    let taken: Vec<Note> = std::iter::from_fn(|| world.take_note(NOW)).collect();
    assert_eq!(
        taken,
        [other_agent, asking("s2", NOW + 2), note("s1", NOW + 3)]
    );
}

#[test]
fn a_session_takes_its_notes_with_it() {
    let world = World::new();
    let session = SessionKey::new("claude-code", "s1");
    world.home.drop_notes(&session).unwrap();
    world.home.leave_note(&asking("s1", NOW)).unwrap();
    world.home.leave_note(&asking("s2", NOW)).unwrap();
    world.home.drop_notes(&session).unwrap();
    assert_eq!(world.take_note(NOW), Some(asking("s2", NOW)));
    assert_eq!(world.take_note(NOW), None);
}

#[test]
fn a_damaged_note_is_an_error_until_it_is_too_old() {
    let world = World::new();
    world.home.leave_note(&note("s1", NOW)).unwrap();
    let directory = world.home.path().join("notes");
    let file = fs::read_dir(&directory).unwrap().next().unwrap().unwrap();
    fs::write(file.path(), "").unwrap();
    let digest = Digest::new("d1");
    let error = world
        .home
        .take_note(ControlTool::Transition, &digest, NOW, |_| true);
    assert!(
        matches!(error, Err(StoreError::Damaged { .. })),
        "{error:?}"
    );
    let later = NOW + NOTE_AGE_MAX_MS + 1;
    world.home.leave_note(&note("s1", later)).unwrap();
    assert_eq!(world.take_note(later), Some(note("s1", later)));
}

#[test]
fn only_the_newest_token_holds() {
    let world = World::new();
    let below = |token: &str| world.home.token_made_below(token).unwrap();
    assert_eq!(below(""), None);
    assert!(!world.home.revoke_token().unwrap());
    assert!(!world.home.path().exists());
    let shell = vec![ClientProcess {
        pid: 4711,
        started: "8000".to_owned(),
    }];
    let first = world.home.make_token(shell.clone()).unwrap();
    assert_eq!(below(&first), Some(shell));
    let second = world.home.make_token(Vec::new()).unwrap();
    assert_eq!(below(&first), None);
    assert_eq!(below(&second), Some(Vec::new()));
    let upper = second.to_uppercase();
    for wrong in ["", "ilk_", upper.as_str(), &second[1..]] {
        assert_eq!(below(wrong), None, "{wrong}");
    }
    let kept = fs::read_to_string(world.home.path().join("token.json")).unwrap();
    assert!(
        !kept.contains(second.strip_prefix("ilk_").unwrap()),
        "{kept}"
    );
    assert!(world.home.revoke_token().unwrap());
    assert_eq!(below(&second), None);
}

#[test]
fn a_token_that_an_agent_has_seen_is_void_until_there_is_a_new_one() {
    let world = World::new();
    let home = &world.home;
    let run = interlock_store::run_id(NOW).unwrap();
    let other = interlock_store::run_id(NOW).unwrap();
    let token = home.make_token(Vec::new()).unwrap();
    assert_eq!(home.void_token("ilk_", &run).unwrap(), None);
    assert_eq!(home.refuse_token_for(&token, &other).unwrap(), Some(true));
    assert_eq!(home.refuse_token_for(&token, &other).unwrap(), Some(false));
    assert_eq!(
        home.token_standing(&token).unwrap(),
        TokenStanding::Good {
            made_below: Vec::new(),
            not_for: vec![other],
        }
    );
    assert_eq!(home.void_token(&token, &run).unwrap(), Some(true));
    assert_eq!(home.void_token(&token, &run).unwrap(), Some(false));
    assert_eq!(
        home.token_standing(&token).unwrap(),
        TokenStanding::Void(run)
    );
    assert_eq!(home.token_made_below(&token).unwrap(), None);
    let renewed = home.make_token(Vec::new()).unwrap();
    assert_eq!(
        home.token_standing(&renewed).unwrap(),
        TokenStanding::Good {
            made_below: Vec::new(),
            not_for: Vec::new(),
        },
        "what was seen of another token is nothing of this one"
    );
}

#[test]
fn a_token_is_found_wherever_it_stands_in_what_an_agent_reads_or_writes() {
    let run = RunId::new("r1");
    let found = |look: &dyn Fn(&Home, &str) -> Option<bool>| {
        let world = World::new();
        let token = world.home.make_token(Vec::new()).unwrap();
        let seen = look(&world.home, &token);
        let is_void = world.home.token_made_below(&token).unwrap().is_none();
        assert_eq!(is_void, seen == Some(true));
        is_void
    };
    assert!(found(&|home, token| {
        let text = format!("ilk_ ilk_{} é x{token}y", "a".repeat(63));
        home.void_token_in_text(&text, &run).unwrap()
    }));
    assert!(found(&|home, token| {
        let value = serde_json::json!({"a": [1, {token: null}]});
        home.void_token_in(&value, &run).unwrap()
    }));
    assert!(found(&|home, token| {
        let raw = serde_json::json!([token])
            .to_string()
            .replace("ilk_", "\\u0069lk_");
        home.void_token_in_json(&raw, &run).unwrap()
    }));
    assert!(!found(&|home, token| {
        let text = format!("ilk_{} {}", "0".repeat(64), token.to_uppercase());
        home.void_token_in_text(&text, &run).unwrap()
    }));
}

#[test]
fn a_token_that_cannot_be_checked_does_not_hold() {
    let world = World::new();
    let token = world.home.make_token(Vec::new()).unwrap();
    fs::write(world.home.path().join("token.json"), "{}").unwrap();
    let error = world.home.token_made_below(&token).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_credential_leads_to_its_run_until_it_is_taken_back() {
    let world = World::new();
    let home = &world.home;
    assert_eq!(home.run_of_credential("ilr_abc").unwrap(), None);
    let (one, other) = (
        interlock_store::run_id(NOW).unwrap(),
        interlock_store::run_id(NOW).unwrap(),
    );
    let credentials = [&one, &one, &other].map(|run| home.make_credential(run).unwrap());
    for (credential, run) in credentials.iter().zip([&one, &one, &other]) {
        assert_eq!(
            home.run_of_credential(credential).unwrap().as_ref(),
            Some(run)
        );
    }
    for wrong in [
        "",
        "ilr_",
        "../token",
        &credentials[0].to_uppercase(),
        &credentials[0][..60],
    ] {
        assert_eq!(home.run_of_credential(wrong).unwrap(), None, "{wrong}");
    }
    assert_eq!(home.revoke_credentials(&one).unwrap(), 2);
    assert_eq!(home.run_of_credential(&credentials[0]).unwrap(), None);
    assert_eq!(
        home.run_of_credential(&credentials[2]).unwrap(),
        Some(other)
    );
    assert_eq!(home.revoke_credentials(&one).unwrap(), 0);
}

#[test]
fn credentials_of_runs_that_are_over_or_gone_are_deleted() {
    let world = World::new();
    let open = world.start(1).run().clone();
    let mut log = world.start(1);
    let over = log.run().clone();
    let (seq, by) = (log.count().unwrap(), "ana".to_owned());
    log.append(seq, NOW, &[Event::RunCancelled { by }]).unwrap();
    let home = &world.home;
    let gone = interlock_store::run_id(NOW).unwrap();
    let credentials = [&open, &over, &over, &gone].map(|run| home.make_credential(run).unwrap());
    // It is unknown whether this one is over.
    let damaged = world.start(1).run().clone();
    let kept = home.make_credential(&damaged).unwrap();
    fs::write(world.database(&damaged), "hello\n".repeat(2_000)).unwrap();
    let directory = home.path().join("credentials");
    fs::write(directory.join("damaged.json"), "{").unwrap();
    assert_eq!(home.drop_ended_credentials().unwrap(), 3);
    let led = credentials.map(|credential| home.run_of_credential(&credential).unwrap());
    assert_eq!(led, [Some(open), None, None, None]);
    assert_eq!(home.run_of_credential(&kept).unwrap(), Some(damaged));
    let left = fs::read_dir(&directory).unwrap().count();
    assert_eq!(left, 3, "what cannot be read is left as it is");
    assert_eq!(home.drop_ended_credentials().unwrap(), 0);
}

#[test]
fn the_spans_that_calls_lie_in_are_kept_beside_the_log() {
    let world = World::new();
    let run = world.start(1).run().clone();
    let home = &world.home;
    assert!(home.call_parents(&run).unwrap().is_empty());
    let call = CallId::new("c1");
    home.keep_call_parent(&run, &call, "00-a-b-01").unwrap();
    home.keep_call_parent(&run, &CallId::new("c2"), &"x".repeat(1_000))
        .unwrap();
    home.keep_call_parent(&run, &CallId::new("c3"), "a\nb")
        .unwrap();
    let kept = home.call_parents(&run).unwrap();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[&call], "00-a-b-01");
}

#[test]
fn a_credential_is_kept_only_as_its_hash() {
    let world = World::new();
    let run = interlock_store::run_id(NOW).unwrap();
    let credential = world.home.make_credential(&run).unwrap();
    let secret = credential.strip_prefix("ilr_").unwrap();
    let directory = world.home.path().join("credentials");
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        assert!(!path.to_string_lossy().contains(secret));
        assert!(!fs::read_to_string(&path).unwrap().contains(secret));
    }
}

#[test]
fn a_mod_is_accepted_as_a_person_saw_it_and_no_other() {
    use interlock_store::ClientMod;
    let world = World::new();
    let home = &world.home;
    let of = |path: &str, digit: &str| ClientMod {
        path: path.to_owned(),
        digest: digit.repeat(64),
    };
    let seen = of("/p/a.ts", "1");
    assert!(!home.is_accepted_mod(&seen).unwrap());
    home.accept_mod(&seen).unwrap();
    let short = ClientMod {
        path: "/p/a.ts".to_owned(),
        digest: "1".repeat(63),
    };
    for (found, wanted) in [
        (seen.clone(), true),
        (of("/p/a.ts", "2"), false),
        (of("/p/b.ts", "1"), false),
        (short.clone(), false),
    ] {
        assert_eq!(home.is_accepted_mod(&found).unwrap(), wanted, "{found:?}");
    }
    // The newest decision counts.
    home.accept_mod(&of("/p/a.ts", "2")).unwrap();
    assert!(!home.is_accepted_mod(&seen).unwrap());
    // A partially read mod can be accepted by nobody.
    for part in [short, of("/p/a.ts", "g")] {
        home.accept_mod(&part).unwrap();
        assert!(!home.is_accepted_mod(&part).unwrap(), "{part:?}");
    }
}
