//! A killed or full server loses nothing that it has acknowledged.

use interlock_shared::{SharedError, SharedRuns};
use interlock_store::{AppendError, EventLog as _, RunStore as _, StoreError};
use tempfile::TempDir;

use crate::{
    server::OwnServer,
    world::{NOW, World, pause},
};

/// Returns a folder that the server's user may enter.
pub(crate) fn place() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::Builder::new().prefix("pg").tempdir().unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path(), mode).unwrap();
    place
}

#[test]
fn a_killed_server_loses_nothing_that_was_acknowledged() {
    let place = place();
    let settings = ["-c", "fsync=on"];
    let Some(own) = OwnServer::start(&place.path().join("s"), &settings) else {
        crate::server::server();
        return;
    };
    let world = World::new();
    let database = own.server.tenant("acme");
    let runs = SharedRuns::new(database, world.home.path(), None);
    let world = world.with_runs(runs.clone());
    let run = world.start(1).run().clone();
    let acknowledged = std::thread::scope(|scope| {
        let runs = &runs;
        let run = &run;
        let (begun, first) = std::sync::mpsc::channel();
        let writer = scope.spawn(move || {
            let mut log = runs.open_run(run).unwrap();
            let mut seq = 1;
            loop {
                match log.append(seq, NOW, &[pause(seq)]) {
                    Ok(()) => seq += 1,
                    Err(AppendError::Store(StoreError::Elsewhere(error))) => {
                        return (seq, error.to_string());
                    }
                    Err(other) => panic!("{other:?}"),
                }
                let _ = begun.send(());
            }
        });
        for _ in 0..20 {
            first.recv().unwrap();
        }
        own.kill();
        writer.join().unwrap()
    });
    let (acknowledged, said) = acknowledged;
    assert!(
        said.contains("lost before it answered") || said.contains("cannot be reached"),
        "{said}"
    );
    own.start_again();
    // The same handles continue to work, after reconnecting.
    let mut log = runs.open_run(&run).unwrap();
    let found = log.verify().unwrap();
    assert!(
        found == acknowledged || found == acknowledged + 1,
        "{found} of {acknowledged}"
    );
    log.append(found, NOW, &[pause(found)]).unwrap();
    assert_eq!(world.home.list_runs().unwrap().len(), 1);
}

#[test]
fn a_full_disk_records_nothing_and_the_run_goes_on_later() {
    let place = place();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = |arguments: &[&str]| {
        let mut command = std::process::Command::new(arguments[0]);
        let done = command.args(&arguments[1..]).arg(&disk).output();
        done.is_ok_and(|done| done.status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=4m,mode=777", "tmpfs"]) {
        println!("left out: a small disk takes a user who may mount one");
        return;
    }
    let unmounted = Unmount(&disk);
    let Some(own) = OwnServer::start(&place.path().join("s"), &["-F"]) else {
        crate::server::server();
        return;
    };
    let space = disk.join("space");
    let made = format!("CREATE TABLESPACE small LOCATION '{}'", space.display());
    std::fs::create_dir(&space).unwrap();
    std::process::Command::new("chown")
        .arg("nobody")
        .arg(&space)
        .status()
        .unwrap();
    own.server.sql("postgres", &made);
    let world = World::new();
    let database = own.server.tenant("acme");
    own.server.sql(
        "interlock_test",
        "ALTER TABLE interlock.events SET TABLESPACE small",
    );
    let runs = SharedRuns::new(database, world.home.path(), None);
    let world = world.with_runs(runs.clone());
    let mut log = world.start(1);
    let long = |seq: u64| interlock_core::event::Event::RunPaused {
        by: seq.to_string(),
        // Random, so that it cannot be compressed.
        reason: Some(
            (0..60_000_u64)
                .map(|n| (n * n * (seq + 7) % 9_973).to_string())
                .collect(),
        ),
    };
    let mut seq = 1;
    let error = loop {
        match log.append(seq, NOW, &[long(seq)]) {
            Ok(()) => seq += 1,
            Err(error) => break error,
        }
        assert!(seq < 200, "the disk is larger than it should be");
    };
    let AppendError::Store(StoreError::Elsewhere(error)) = error else {
        panic!("{error:?}");
    };
    let full = error.downcast_ref::<SharedError>().unwrap();
    assert!(matches!(full, SharedError::Full { .. }), "{full:?}");
    assert!(full.to_string().contains("nothing was recorded"), "{full}");
    assert_eq!(log.verify().unwrap(), seq);
    own.server.sql(
        "interlock_test",
        "ALTER TABLE interlock.events SET TABLESPACE pg_default",
    );
    log.append(seq, NOW, &[long(seq)]).unwrap();
    assert_eq!(log.verify().unwrap(), seq + 1);
    drop(own);
    drop(unmounted);
}

struct Unmount<'a>(&'a std::path::Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(self.0)
            .status();
    }
}
