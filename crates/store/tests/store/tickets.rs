//! A ticket lets one line run once, within a day by the issuer's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use interlock_core::names::{CallId, FramePath, RunId};
use interlock_store::{SessionKey, TICKET_AGE_MAX_MS, Ticket, TicketError, line_digest};
use serde_json::json;

use crate::world::{NOW, World};

const LINE: &str = "npm test";

fn ticket(session: &str, at_ms: u64) -> Ticket {
    Ticket {
        session: SessionKey::new("claude-code", session),
        run: RunId::new("r"),
        call: CallId::new("c"),
        path: FramePath::root(),
        digest: line_digest(LINE),
        proves: true,
        plan: json!({"a": 1}),
        at_ms,
    }
}

#[test]
fn it_is_taken_once() {
    let world = World::new();
    let given = ticket("s", NOW);
    let name = world.home.give_ticket(&given).unwrap();
    assert_eq!(world.home.take_ticket(&name, LINE, NOW).unwrap(), given);
    let again = world.home.take_ticket(&name, LINE, NOW);
    assert!(matches!(again, Err(TicketError::Unknown)), "{again:?}");
}

#[test]
fn it_is_for_one_line_and_used_up_by_any() {
    let world = World::new();
    for line in ["npm test ", "npm  test", "npm test\n", "", "npm test; true"] {
        let name = world.home.give_ticket(&ticket("s", NOW)).unwrap();
        let other = world.home.take_ticket(&name, line, NOW);
        assert!(
            matches!(other, Err(TicketError::OtherLine)),
            "{line:?}: {other:?}"
        );
        let late = world.home.take_ticket(&name, LINE, NOW);
        assert!(
            matches!(late, Err(TicketError::Unknown)),
            "{line:?}: {late:?}"
        );
    }
}

#[test]
fn it_counts_for_a_day_by_a_clock_that_goes_forward_or_back() {
    let world = World::new();
    for (given, counts) in [
        (NOW, true),
        (NOW - TICKET_AGE_MAX_MS, true),
        (NOW - TICKET_AGE_MAX_MS - 1, false),
        (NOW + TICKET_AGE_MAX_MS, true),
        (NOW + TICKET_AGE_MAX_MS + 1, false),
        (u64::MAX, false),
    ] {
        let name = world.home.give_ticket(&ticket("s", given)).unwrap();
        let taken = world.home.take_ticket(&name, LINE, NOW);
        match taken {
            Ok(_) => assert!(counts, "{given}"),
            Err(TicketError::Old) => assert!(!counts, "{given}"),
            Err(other) => panic!("{given}: {other}"),
        }
    }
}

#[test]
fn those_of_a_session_are_dropped_with_it() {
    let world = World::new();
    // Old files are removed with them, by the system's clock.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = u64::try_from(now.as_millis()).unwrap();
    let gone = world.home.give_ticket(&ticket("gone", now)).unwrap();
    let kept = world.home.give_ticket(&ticket("kept", now)).unwrap();
    let session = SessionKey::new("claude-code", "gone");
    world.home.drop_tickets(&session, now).unwrap();
    assert!(world.home.take_ticket(&gone, LINE, now).is_err());
    assert!(world.home.take_ticket(&kept, LINE, now).is_ok());
}

#[test]
fn those_too_old_to_count_go_with_those_of_any_session() {
    let world = World::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = u64::try_from(now.as_millis()).unwrap();
    let old = world.home.give_ticket(&ticket("old", now)).unwrap();
    let other = SessionKey::new("claude-code", "other");
    let later = now + TICKET_AGE_MAX_MS + 60_000;
    world.home.drop_tickets(&other, later).unwrap();
    let taken = world.home.take_ticket(&old, LINE, now);
    assert!(matches!(taken, Err(TicketError::Unknown)), "{taken:?}");
}

#[test]
fn a_name_that_leads_elsewhere_is_not_known() {
    let world = World::new();
    let name = world.home.give_ticket(&ticket("s", NOW)).unwrap();
    for other in [
        "",
        "../token",
        &name.to_uppercase(),
        &format!("{name}0"),
        &format!("./{name}"),
    ] {
        let taken = world.home.take_ticket(other, LINE, NOW);
        assert!(
            matches!(taken, Err(TicketError::Unknown)),
            "{other:?}: {taken:?}"
        );
    }
    assert!(world.home.take_ticket(&name, LINE, NOW).is_ok());
}

#[test]
fn a_name_as_long_as_a_tickets_leads_out_of_their_directory_no_more_than_another() {
    let world = World::new();
    let name = world.home.give_ticket(&ticket("s", NOW)).unwrap();
    let given = world
        .home
        .path()
        .join("tickets")
        .join(format!("{name}.json"));
    // Beside the directory of the tickets, with a name of valid length.
    let outside = "a".repeat(29);
    let beside = world.home.path().join(format!("{outside}.json"));
    std::fs::copy(given, &beside).unwrap();
    let taken = world.home.take_ticket(&format!("../{outside}"), LINE, NOW);
    assert!(matches!(taken, Err(TicketError::Unknown)), "{taken:?}");
    assert!(beside.is_file());
}
