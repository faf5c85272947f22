//! Who carries a run: claims, leases, and what the outbox has.

use std::time::Duration;

use interlock_core::names::RunId;
use interlock_shared::{
    Claim, Claimed, Database, GivenBack, OutboxMessage, Role, SharedError, SharedRuns,
};
use interlock_store::{EventLog as _, StoreError};
use serde_json::json;

use crate::{
    api::Fleet,
    cluster::until,
    server::{new_name, runs},
    world::{NOW, World, pause},
};

const LEASE: Duration = Duration::from_secs(3600);
/// A lease that has ended when the next statement is executed.
const NONE: Duration = Duration::ZERO;

fn claim(holder: &str, epoch: u64, lease: Duration) -> Claim {
    Claim {
        holder: holder.to_owned(),
        epoch,
        awakeable: format!("of-{holder}-{epoch}"),
        lease,
    }
}

fn started(world: &World) -> Option<(SharedRuns, RunId)> {
    let runs = runs(world)?;
    let log = World::new().with_runs(runs.clone()).start_with_events(2);
    let run = log.run().clone();
    Some((runs, run))
}

fn messages(database: &Database) -> Vec<OutboxMessage> {
    let rows = database.outbox().unwrap();
    rows.into_iter().map(|row| row.message).collect()
}

fn told(awakeable: &str, next: &str) -> OutboxMessage {
    OutboxMessage::Carried {
        awakeable: awakeable.to_owned(),
        next: next.to_owned(),
    }
}

#[test]
fn a_run_has_one_carrier_and_a_repeated_claim_is_the_same() {
    let world = World::new();
    let Some((runs, run)) = started(&world) else {
        return;
    };
    let database = runs.database();
    let first = Claimed::Taken {
        epoch: 1,
        is_interrupted: false,
    };
    assert_eq!(database.claim(&run, &claim("a", 0, LEASE)).unwrap(), first);
    let again = database.claim(&run, &claim("a", 0, LEASE)).unwrap();
    assert_eq!(again, Claimed::Already);
    for epoch in [0, 1] {
        let held = database.claim(&run, &claim("b", epoch, LEASE)).unwrap();
        assert!(
            matches!(held, Claimed::Held { left } if left <= LEASE),
            "{held:?}"
        );
    }
    assert_eq!(database.carrier(&run).unwrap().holder.as_deref(), Some("a"));
    assert!(database.renew(&run, 1, LEASE).unwrap());
    assert!(!database.renew(&run, 0, LEASE).unwrap());

    assert!(
        database
            .give_back(&run, 1, GivenBack::Whole, ("\"person\"", None))
            .unwrap()
    );
    assert!(
        !database
            .give_back(&run, 1, GivenBack::Whole, ("\"over\"", None))
            .unwrap()
    );
    assert_eq!(messages(database), [told("of-a-0", "\"person\"")]);
    assert_eq!(database.carrier(&run).unwrap().holder, None);
    // Whoever was late has nothing to claim, and the next carrier learns that nothing was interrupted.
    let late = database.claim(&run, &claim("a", 0, LEASE)).unwrap();
    assert_eq!(late, Claimed::Stale);
    let second = Claimed::Taken {
        epoch: 2,
        is_interrupted: false,
    };
    assert_eq!(database.claim(&run, &claim("b", 1, LEASE)).unwrap(), second);
}

#[test]
fn a_lease_that_has_ended_is_not_renewed_and_its_run_is_woken_once() {
    let world = World::new();
    let Some((runs, run)) = started(&world) else {
        return;
    };
    let database = runs.database();
    database.claim(&run, &claim("a", 0, NONE)).unwrap();
    assert!(!database.renew(&run, 1, LEASE).unwrap());
    until("the lease has ended", || {
        database.expire().unwrap() == [run.clone()]
    });
    assert!(database.expire().unwrap().is_empty());
    let wake = OutboxMessage::Wake {
        reason: "lost".to_owned(),
    };
    assert_eq!(messages(database), [told("of-a-0", "\"lost\""), wake]);
    let taken = database.claim(&run, &claim("b", 1, LEASE)).unwrap();
    let second = Claimed::Taken {
        epoch: 2,
        is_interrupted: true,
    };
    assert_eq!(taken, second);
    // What the first still gives back or appends changes nothing.
    assert!(
        !database
            .give_back(&run, 1, GivenBack::Whole, ("\"over\"", None))
            .unwrap()
    );
    let mut log = runs.open_run(&run).unwrap();
    log.carry(1);
    let refused = log.append_command(2, NOW, &[pause(9)], None).unwrap_err();
    let StoreError::Elsewhere(refused) = refused else {
        panic!("{refused:?}");
    };
    let refused = refused.downcast_ref::<SharedError>();
    assert!(matches!(refused, Some(SharedError::StaleEpoch { .. })));
    assert_eq!(log.count().unwrap(), 2);
    assert_eq!(database.carrier(&run).unwrap().holder.as_deref(), Some("b"));
}

#[test]
fn a_carrier_that_was_interrupted_says_so_to_the_next() {
    let world = World::new();
    let Some((runs, run)) = started(&world) else {
        return;
    };
    let database = runs.database();
    database.claim(&run, &claim("a", 0, LEASE)).unwrap();
    let given = database.give_back(&run, 1, GivenBack::Interrupted, ("\"later\"", None));
    assert!(given.unwrap());
    let taken = database.claim(&run, &claim("b", 1, LEASE)).unwrap();
    assert!(
        matches!(
            taken,
            Claimed::Taken {
                is_interrupted: true,
                ..
            }
        ),
        "{taken:?}"
    );
}

#[test]
fn a_run_that_the_engine_has_forgotten_is_woken_again() {
    let world = World::new();
    let Some((runs, run)) = started(&world) else {
        return;
    };
    let database = runs.database();
    let server = crate::server::server().unwrap();
    let late = |minutes: u64| {
        let tenant = database.tenant();
        let sql = format!(
            "UPDATE interlock.runs SET due = now() - interval '{minutes} minutes' WHERE tenant = '{tenant}'"
        );
        server.sql("interlock_test", &sql);
    };
    let none: [RunId; 0] = [];
    database.set_due(&run, 2, Some(Duration::ZERO)).unwrap();
    assert_eq!(database.wake_overdue().unwrap(), none);
    late(2);
    assert_eq!(database.wake_overdue().unwrap(), std::slice::from_ref(&run));
    // It waits for its delivery, and then for another minute.
    late(2);
    assert_eq!(database.wake_overdue().unwrap(), none);
    for row in database.outbox().unwrap() {
        database.delivered(&row).unwrap();
    }
    database.set_due(&run, 2, Some(Duration::ZERO)).unwrap();
    assert_eq!(database.wake_overdue().unwrap(), none);
    late(2);
    // Whoever looked at it before something happened to it says nothing about it.
    database.set_due(&run, 1, None).unwrap();
    assert_eq!(database.wake_overdue().unwrap(), std::slice::from_ref(&run));
    for row in database.outbox().unwrap() {
        database.delivered(&row).unwrap();
    }
    database.claim(&run, &claim("a", 0, LEASE)).unwrap();
    late(2);
    assert_eq!(database.wake_overdue().unwrap(), none);
    let due = Some(Duration::from_secs(3600));
    database
        .give_back(&run, 1, GivenBack::Whole, ("\"time\"", due))
        .unwrap();
    assert_eq!(database.wake_overdue().unwrap(), none);
}

#[test]
fn a_row_of_the_outbox_that_was_written_anew_is_not_deleted() {
    let world = World::new();
    let Some((runs, run)) = started(&world) else {
        return;
    };
    let database = runs.database();
    let expire = |epoch| {
        database.claim(&run, &claim("a", epoch, NONE)).unwrap();
        until("the lease has ended", || {
            !database.expire().unwrap().is_empty()
        });
    };
    let wakes = || {
        let mut rows = database.outbox().unwrap();
        rows.retain(|row| matches!(row.message, OutboxMessage::Wake { .. }));
        rows
    };
    expire(0);
    let first = wakes();
    expire(1);
    database.delivered(&first[0]).unwrap();
    let second = wakes();
    assert_eq!(second.len(), 1);
    // Restate accepts it, because it has another key.
    assert_ne!(second[0].key(), first[0].key());
    database.delivered(&second[0]).unwrap();
    assert!(wakes().is_empty());
}

#[test]
fn what_makes_a_durable_run_due_stands_in_the_outbox_and_a_guarded_run_never_does() {
    let Some(fleet) = Fleet::new() else { return };
    let ana = fleet.token(Role::Person, "ana");
    let reasons = || -> Vec<String> {
        let reason = |message| match message {
            OutboxMessage::Wake { reason } => reason,
            other => panic!("{other:?}"),
        };
        messages(&fleet.acme).into_iter().map(reason).collect()
    };
    let guarded = fleet.served.run(&ana);
    fleet
        .served
        .decide(&ana, &guarded, "p1", json!({ "pause": {} }));
    assert!(reasons().is_empty());
    let text = "start-at: a\nstates:\n  a: {tool: bash, arguments: {command: echo}}\n";
    let body = json!({ "workflow": { "name": "steps.yaml", "text": text } });
    let start = || {
        let started = fleet.served.post(&ana, "/v1/runs", "s1", &body);
        assert_eq!(started.status, 200, "{started:?}");
        started.json()["run"].as_str().unwrap().to_owned()
    };
    let run = start();
    assert_eq!(start(), run);
    assert_eq!(reasons(), ["start"]);
    // One row for each run, however many commands there were.
    fleet
        .served
        .decide(&ana, &run, &new_name("c"), json!({ "pause": {} }));
    fleet.served.decide(
        &ana,
        &run,
        &new_name("c"),
        json!({ "resume": { "changes": [] } }),
    );
    assert_eq!(reasons(), ["command"]);
    let view = fleet.served.get(&ana, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["report"]["status"], "running", "{view}");
    // No path of the server is in the log.
    let events = fleet
        .served
        .get(&ana, &format!("/v1/runs/{run}/events?from=0"))
        .text;
    assert!(events.contains("@run/files"), "{events}");
}
