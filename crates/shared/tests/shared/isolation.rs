//! Two tenants in one database, and rows that nobody may change.

use std::time::Duration;

use interlock_core::names::Digest;
use interlock_shared::{Address, Claim, Database, GivenBack, NewWorkspace, SharedError, Tenant};
use interlock_store::{EventLog as _, Listed, RunSummary, Runs as _};

use crate::{
    server::{self, runs, server},
    world::World,
};

/// All tables with rows of tenants.
const TABLES: &[&str] = &[
    "tenants",
    "runs",
    "events",
    "commands",
    "snapshots",
    "machines",
    "messages",
    "outputs",
    "tokens",
    "starts",
    "audit",
    "audit_heads",
    "bundles",
    "people",
    "votes",
    "workspaces",
    "identities",
    "exchanged",
    "outbox",
];

#[test]
fn tenants_see_nothing_of_each_other() {
    let (ours, theirs) = (World::new(), World::new());
    let (Some(our_runs), Some(their_runs)) = (runs(&ours), runs(&theirs)) else {
        return;
    };
    let (ours, theirs) = (
        ours.with_runs(our_runs.clone()),
        theirs.with_runs(their_runs.clone()),
    );
    let own = ours.start_with_events(2);
    let foreign = theirs.start_with_events(3);
    let said = foreign.messages().keep(b"a secret").unwrap();
    assert_eq!(our_runs.ids().unwrap(), [own.run().clone()]);
    assert_eq!(ours.home.list_runs().unwrap().len(), 1);
    // The answer for another tenant's id is the same as for a missing one.
    let error = ours.home.open_run(foreign.run()).unwrap_err().to_string();
    assert!(error.contains("has no run"), "{error}");
    assert!(
        ours.home
            .find_run(Some(foreign.run().as_str()), "/".as_ref())
            .is_err()
    );
    let database = our_runs.database();
    assert!(matches!(
        database.epoch(foreign.run()),
        Err(SharedError::NoRun { .. })
    ));
    let taken = database.take_epoch(foreign.run(), "w");
    assert!(matches!(taken, Err(SharedError::NoRun { .. })));
    let claim = Claim {
        holder: "w".to_owned(),
        epoch: 0,
        awakeable: "a".to_owned(),
        lease: Duration::from_secs(9),
    };
    let claimed = database.claim(foreign.run(), &claim);
    assert!(matches!(claimed, Err(SharedError::NoRun { .. })));
    their_runs.database().claim(foreign.run(), &claim).unwrap();
    let given_back =
        database.give_back(foreign.run(), 1, GivenBack::Interrupted, ("\"lost\"", None));
    assert!(!given_back.unwrap());
    assert!(!database.renew(foreign.run(), 1, claim.lease).unwrap());
    assert!(database.expire().unwrap().is_empty());
    let files = |id: &str| NewWorkspace {
        id: id.to_owned(),
        machine: "m".to_owned(),
        files: Ok(b"files".to_vec()),
    };
    let theirs_kept = their_runs.database();
    theirs_kept
        .keep_workspace(foreign.run(), 1, files("theirs"))
        .unwrap();
    theirs_kept
        .publish_workspace(foreign.run(), 1, "theirs")
        .unwrap();
    assert!(database.workspace(foreign.run()).unwrap().is_none());
    let read = database.workspace_files(foreign.run(), "theirs");
    assert!(read.unwrap().is_none());
    assert!(
        database
            .keep_workspace(foreign.run(), 1, files("ours"))
            .is_err()
    );
    assert!(
        database
            .publish_workspace(foreign.run(), 1, "theirs")
            .is_err()
    );
    // Nor does a carrier that has lost the run.
    assert!(
        theirs_kept
            .keep_workspace(foreign.run(), 0, files("late"))
            .is_err()
    );
    assert!(
        theirs_kept
            .publish_workspace(foreign.run(), 0, "theirs")
            .is_err()
    );
    assert!(own.messages().read(&Digest::new(said.as_str())).is_err());
    assert_eq!(
        their_runs.open_run(foreign.run()).unwrap().count().unwrap(),
        3
    );
}

#[test]
fn the_database_itself_keeps_tenants_apart_where_a_program_forgets_to() {
    let (ours, theirs) = (World::new(), World::new());
    let (Some(our_runs), Some(their_runs)) = (runs(&ours), runs(&theirs)) else {
        return;
    };
    let server = server().unwrap();
    let (us, them) = (
        our_runs.database().tenant().as_str().to_owned(),
        their_runs.database().tenant().as_str().to_owned(),
    );
    ours.with_runs(our_runs.clone()).start_with_events(2);
    let theirs = theirs.with_runs(their_runs.clone());
    let foreign = theirs.start_with_events(3);
    foreign.messages().keep(b"a secret").unwrap();
    let sql = |sql: &str| server.unfiltered("interlock_test", &us, sql);
    for table in TABLES {
        let others = format!("SELECT count(*) FROM interlock.{table} WHERE tenant <> '{us}'");
        assert_eq!(sql(&others).as_deref(), Ok("0"), "{table}");
    }
    // Both exist: an administrator sees them.
    let both = server.sql(
        "interlock_test",
        "SELECT count(DISTINCT tenant) >= 2 FROM interlock.runs",
    );
    assert_eq!(both, "t");
    assert_eq!(
        sql("SELECT count(*) FROM interlock.events").as_deref(),
        Ok("2")
    );
    let run = foreign.run();
    let changed = sql(&format!(
        "UPDATE interlock.runs SET epoch = 9 WHERE run = '{run}' RETURNING 1"
    ));
    assert_eq!(changed.as_deref(), Ok(""));
    let put = sql(&format!(
        "INSERT INTO interlock.messages (tenant, run, digest, body) VALUES ('{them}', '{run}', 'x', 'y')"
    ));
    assert!(put.unwrap_err().contains("row-level security"));
    // Without a tenant, no rows are visible.
    let none = server.unfiltered("interlock_test", "", "SELECT count(*) FROM interlock.runs");
    assert_eq!(none.as_deref(), Ok("0"));
}

#[test]
fn every_table_is_held_by_row_level_security_and_doctor_sees_where_not() {
    let Some(server) = server() else { return };
    let name = server.new_database();
    let database = server.tenant_in(&name, "acme");
    let listed = "SELECT string_agg(table_name, ',' ORDER BY table_name) FROM information_schema.columns \
         WHERE table_schema = 'interlock' AND column_name = 'tenant'";
    let mut tables = TABLES.to_vec();
    tables.sort_unstable();
    assert_eq!(server.sql(&name, listed), tables.join(","));
    let isolation = || {
        let checks = database.doctor();
        checks
            .into_iter()
            .find(|check| check.check == "isolation")
            .unwrap()
    };
    assert!(isolation().ok);
    for fault in [
        "ALTER TABLE interlock.events NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE interlock.messages DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own_tenant ON interlock.runs",
        "CREATE POLICY everybody ON interlock.commands USING (true)",
        "CREATE POLICY writers ON interlock.outputs FOR INSERT WITH CHECK (true)",
        // A policy that only restricts grants no access.
        "CREATE POLICY fewer ON interlock.machines AS RESTRICTIVE USING (hash <> '')",
    ] {
        server.sql(&name, fault);
    }
    let found = isolation();
    assert!(!found.ok);
    assert!(
        found
            .seen
            .ends_with("on commands, events, messages, outputs, runs"),
        "{}",
        found.seen
    );
    drop(database);
    server.drop_database(&name);
}

#[test]
fn a_user_whom_row_level_security_does_not_hold_is_refused() {
    let Some(server) = server() else { return };
    let name = server.new_database();
    server.tenant_in(&name, "acme");
    let role = server::new_name("r");
    server.sql(
        &name,
        &format!("CREATE ROLE {role} LOGIN BYPASSRLS PASSWORD '{role}'"),
    );
    let address = Address::new(&server.words(&name, &role), None).unwrap();
    let opened = Database::open(address, Tenant::new("acme").unwrap());
    assert!(matches!(opened, Err(SharedError::NotHeld { user, .. }) if user == role));
    server.drop_database(&name);
    server.sql("postgres", &format!("DROP ROLE {role}"));
}

#[test]
fn what_was_recorded_is_not_changed_even_by_who_owns_the_tables() {
    let world = World::new();
    let Some(runs) = runs(&world) else { return };
    let world = world.with_runs(runs.clone());
    let log = world.start_with_events(3);
    let tenant = runs.database().tenant().as_str();
    for statement in [
        "UPDATE interlock.events SET at_ms = 0",
        "DELETE FROM interlock.events WHERE seq = 2",
        "TRUNCATE interlock.events",
        "DELETE FROM interlock.commands",
        "DELETE FROM interlock.starts",
        "DELETE FROM interlock.audit",
        "UPDATE interlock.audit_heads SET entries = 0",
        "UPDATE interlock.bundles SET revision = 9",
    ] {
        let done = server()
            .unwrap()
            .unfiltered("interlock_test", tenant, statement);
        assert!(done.unwrap_err().contains("never changed"), "{statement}");
    }
    assert_eq!(log.verify().unwrap(), 3);
}

#[test]
fn what_an_administrator_changes_is_found_and_named() {
    let Some(server) = server() else { return };
    let name = server.new_database();
    let world = World::new();
    let database = server.tenant_in(&name, "acme");
    let runs = interlock_shared::SharedRuns::new(database, world.home.path(), None);
    let world = world.with_runs(runs.clone());
    let cases: [(&str, &str); 6] = [
        (
            "UPDATE interlock.events SET body = set_byte(body, 5, 120) WHERE seq = 2",
            "event 2",
        ),
        (
            "UPDATE interlock.events SET at_ms = at_ms + 1 WHERE seq = 1",
            "event 1",
        ),
        ("DELETE FROM interlock.events WHERE seq = 1", "event 1"),
        (
            "DELETE FROM interlock.events WHERE seq = 2",
            "event 2 is missing",
        ),
        (
            "UPDATE interlock.runs SET source = 'id: other'",
            "pinned workflow was changed",
        ),
        (
            "UPDATE interlock.runs SET tip_hash = decode(repeat('00', 32), 'hex')",
            "event 2 is not what was recorded there",
        ),
    ];
    for (fault, named) in cases {
        let log = world.start_with_events(3);
        let fault = match fault.split_once(" WHERE ") {
            Some((act, rest)) => format!("{act} WHERE run = '{}' AND {rest}", log.run()),
            None => format!("{fault} WHERE run = '{}'", log.run()),
        };
        let by_force = format!("SET session_replication_role = replica; {fault}");
        server.sql(&name, &by_force);
        let said = log.verify().unwrap_err().to_string();
        assert!(said.contains(named), "{fault}: {said}");
        let mut file = Vec::new();
        let exported = runs.export(log.run(), &mut file, "run.jsonl".as_ref());
        let said = exported.unwrap_err().to_string();
        assert!(said.contains(named), "{fault}: {said}");
    }
    // A damaged run is listed as such and does not hide the others.
    let odd = world.start(1).run().clone();
    let fault = format!("UPDATE interlock.runs SET durability = 'none' WHERE run = '{odd}'");
    server.sql(&name, &fault);
    let whole = world.start(1).run().clone();
    let listed = world.home.list_runs().unwrap();
    assert_eq!(listed.len(), cases.len() + 2);
    let is_odd = |run: &&RunSummary| run.id == odd;
    let found = listed.iter().find(is_odd).unwrap();
    assert!(matches!(found.listed, Listed::Damaged { .. }), "{found:?}");
    let known = |run: &&RunSummary| matches!(run.listed, Listed::Known(_));
    assert!(listed.iter().filter(known).any(|run| run.id == whole));
    assert!(listed.iter().filter(known).count() < cases.len());
    drop((world, runs));
    server.drop_database(&name);
}
