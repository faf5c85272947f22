//! A database that is unreachable, read-only, of another version, or otherwise wrong.

use std::time::{Duration, Instant};

use interlock_shared::{Address, Database, FORMAT, SharedError, SharedRuns, Standing, Tenant};
use interlock_store::{AppendError, EventLog as _, Home, RunStore as _, StoreError};

use crate::{
    server::{Server, new_name, server},
    world::{NOW, World, in_parallel, pause},
};

fn acme() -> Tenant {
    Tenant::new("acme").unwrap()
}

/// A database for this test alone, dropped at its end.
struct Own<'a> {
    server: &'a Server,
    name: String,
}

impl Own<'_> {
    fn new() -> Option<Self> {
        let server = server()?;
        let name = server.new_database();
        Some(Self { server, name })
    }

    fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.name, sql)
    }

    fn open(&self) -> Result<Database, SharedError> {
        Database::open(self.server.address(&self.name), acme())
    }

    fn any(&self) -> Database {
        Database::at(self.server.address(&self.name), acme()).unwrap()
    }
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        self.server.drop_database(&self.name);
    }
}

/// Checks that an error contains all of `words`, and what to do.
#[track_caller]
fn says(error: &SharedError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

#[test]
fn a_database_that_is_away_is_said_within_the_time_a_hook_has() {
    let nowhere = tempfile::tempdir().unwrap();
    let words = format!(
        "host={} user=ana password=s3cret dbname=team",
        nowhere.path().display()
    );
    let began = Instant::now();
    let error = Database::open(Address::new(&words, None).unwrap(), acme()).unwrap_err();
    assert!(matches!(error, SharedError::Away { .. }), "{error:?}");
    says(&error, &["cannot be reached", "check that PostgreSQL runs"]);
    assert!(!error.to_string().contains("s3cret"));
    // A server that listens and never answers.
    let deaf = nowhere.path().join(".s.PGSQL.5432");
    let _listener = std::os::unix::net::UnixListener::bind(deaf).unwrap();
    let error = Database::open(Address::new(&words, None).unwrap(), acme()).unwrap_err();
    says(&error, &["no answer within 2 s"]);
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_wrong_password_and_a_missing_database_are_said_without_the_password() {
    let Some(server) = server() else { return };
    if std::env::var_os("DATABASE_URL").is_none() {
        server.sql(
            "postgres",
            "DO $$ BEGIN CREATE ROLE with_password LOGIN PASSWORD 'right'; \
             EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        );
        let words = server.words("interlock_test", "with_password");
        let words = words.replace("password=with_password", "password=wr0ng");
        let error = Database::open(Address::new(&words, None).unwrap(), acme()).unwrap_err();
        assert!(matches!(error, SharedError::Refused { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("wr0ng"));
    }
    let error = Database::open(server.address(&new_name("none")), acme()).unwrap_err();
    assert!(matches!(error, SharedError::NoDatabase { .. }), "{error:?}");
    says(&error, &["does not exist", "createdb"]);
}

#[test]
fn a_log_is_made_once_by_whoever_is_first() {
    let Some(own) = Own::new() else { return };
    let error = own.open().unwrap_err();
    assert!(matches!(error, SharedError::NotMade { .. }), "{error:?}");
    says(&error, &["interlock shared init"]);
    let made = in_parallel(3, |_| own.any().init().unwrap().made_tables);
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
    assert_eq!(
        own.any().standing().unwrap(),
        Standing::Made { has_tenant: true }
    );
    let error = Database::open(own.server.address(&own.name), Tenant::new("acm").unwrap());
    let error = error.unwrap_err();
    assert!(matches!(error, SharedError::NoTenant { .. }), "{error:?}");
    says(&error, &["no tenant `acm`", "init --tenant acm"]);
}

#[test]
fn an_older_log_is_migrated_with_its_runs_and_a_newer_one_is_refused() {
    let Some(own) = Own::new() else { return };
    own.any().init().unwrap();
    let world = World::new();
    let runs = SharedRuns::new(own.open().unwrap(), world.home.path(), None);
    let world = world.with_runs(runs.clone());
    let run = world.start_with_events(20).run().clone();
    own.sql(
        "DROP TABLE interlock.messages, interlock.outputs, interlock.tokens, interlock.starts, \
         interlock.audit, interlock.audit_heads, interlock.bundles, \
         interlock.people, interlock.votes, interlock.identities, interlock.exchanged, \
         interlock.outbox, interlock.workspaces; \
         ALTER TABLE interlock.runs DROP COLUMN lease_until, DROP COLUMN awakeable, DROP COLUMN due; \
         ALTER TABLE interlock.commands DROP COLUMN subject, DROP COLUMN role, DROP COLUMN drives; \
         DROP TRIGGER forget_standing ON interlock.runs; DROP FUNCTION interlock.forget_standing; \
         ALTER TABLE interlock.runs DROP COLUMN standing, DROP COLUMN waiting, DROP COLUMN listed_seq; \
         DELETE FROM interlock.migrations WHERE format > 1",
    );
    for refused in [own.open().map(drop), own.any().init().map(drop)] {
        let error = refused.unwrap_err();
        assert!(
            matches!(error, SharedError::Older { found: 1, .. }),
            "{error:?}"
        );
        says(&error, &["interlock shared migrate"]);
    }
    // A program that had it open before the migration loses nothing.
    assert!(runs.open_run(&run).unwrap().messages().keep(b"x").is_err());
    let migrated = in_parallel(3, |_| own.any().migrate().unwrap());
    assert_eq!(migrated.iter().filter(|from| **from == 1).count(), 1);
    let log = runs.open_run(&run).unwrap();
    log.messages().keep(b"x").unwrap();
    assert_eq!(log.verify().unwrap(), 20);
    assert!(
        own.any()
            .doctor()
            .iter()
            .all(|check| check.ok || check.check == "durable")
    );

    let newer = FORMAT + 1;
    own.sql(&format!(
        "INSERT INTO interlock.migrations (format) VALUES ({newer})"
    ));
    let refused = [
        own.open().map(drop),
        own.any().init().map(drop),
        own.any().migrate().map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(
            matches!(error, SharedError::Newer { found, .. } if found == newer),
            "{error:?}"
        );
        says(&error, &["update Interlock"]);
    }
}

#[test]
fn a_schema_of_somebody_else_is_left_alone() {
    let Some(own) = Own::new() else { return };
    own.sql("CREATE SCHEMA interlock AUTHORIZATION interlock_test; CREATE TABLE interlock.notes (text text)");
    for refused in [
        own.open().map(drop),
        own.any().init().map(drop),
        own.any().migrate().map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, SharedError::Foreign { .. }), "{error:?}");
        says(&error, &["is not as Interlock made it"]);
    }
}

#[test]
fn a_user_who_may_make_no_schema_is_told() {
    let Some(own) = Own::new() else { return };
    own.sql(&format!(
        "ALTER DATABASE {} OWNER TO CURRENT_USER",
        own.name
    ));
    let error = own.any().init().unwrap_err();
    assert!(matches!(error, SharedError::Forbidden { .. }), "{error:?}");
    says(&error, &["permission denied", "nothing was recorded"]);
}

#[test]
fn a_read_only_database_records_nothing_and_loses_nothing() {
    let Some(own) = Own::new() else { return };
    own.any().init().unwrap();
    let world = World::new();
    let runs = SharedRuns::new(own.open().unwrap(), world.home.path(), None);
    let world = world.with_runs(runs);
    let run = world.start_with_events(3).run().clone();
    own.sql(&format!(
        "ALTER DATABASE {} SET default_transaction_read_only = on",
        own.name
    ));
    // In a new process, because a database setting is read on connecting.
    let again = Home::at(world.home.path()).with_runs(std::sync::Arc::new(SharedRuns::new(
        own.open().unwrap(),
        world.home.path(),
        None,
    )));
    let mut log = again.open_run(&run).unwrap();
    let Err(AppendError::Store(StoreError::Elsewhere(error))) = log.append(3, NOW, &[pause(3)])
    else {
        panic!("it was written");
    };
    let error = error.downcast_ref::<SharedError>().unwrap();
    assert!(matches!(error, SharedError::ReadOnly { .. }), "{error:?}");
    says(
        error,
        &["nothing was recorded", "default_transaction_read_only"],
    );
    assert_eq!(log.verify().unwrap(), 3);
    let writable = own
        .any()
        .doctor()
        .into_iter()
        .find(|check| check.check == "writable");
    assert!(!writable.unwrap().ok);
    own.server.sql(
        "postgres",
        &format!(
            "ALTER DATABASE {} RESET default_transaction_read_only",
            own.name
        ),
    );
    let mut log = world.home.open_run(&run).unwrap();
    log.append(3, NOW, &[pause(3)]).unwrap();
}

#[test]
fn an_id_that_is_none_is_refused_before_it_is_asked() {
    let Some(own) = Own::new() else { return };
    own.any().init().unwrap();
    let world = World::new();
    let runs = SharedRuns::new(own.open().unwrap(), world.home.path(), None);
    for id in [
        "",
        "../../etc",
        "01k0",
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "x'; DROP TABLE runs; --",
    ] {
        let error = runs
            .open_run(&interlock_core::names::RunId::new(id))
            .unwrap_err();
        assert!(
            matches!(error, StoreError::BadRunId { .. }),
            "{id}: {error:?}"
        );
    }
}
