//! The index of the list of runs, and directories that are not runs.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Listed};
use interlock_view::report::Status;

use crate::{
    suite::OTHER,
    world::{NOW, PROJECT, World},
};

/// Makes a run's files look long unchanged.
fn settle(world: &World, run: &RunId) {
    set_modified(world, run, UNIX_EPOCH + Duration::from_secs(1_000));
}

fn set_modified(world: &World, run: &RunId, at: SystemTime) {
    for entry in fs::read_dir(world.directory(run)).unwrap() {
        let file = fs::File::options()
            .write(true)
            .open(entry.unwrap().path())
            .unwrap();
        file.set_modified(at).unwrap();
    }
}

#[test]
fn the_index_is_used_rebuilt_and_never_believed_over_a_changed_run() {
    let world = World::new();
    let run = world.named("fix", PROJECT, NOW);
    let index = world.home.path().join("index.json");
    world.home.list_runs().unwrap();
    settle(&world, &run);
    let card = world.card(&run);
    let written = fs::read_to_string(&index).unwrap();
    assert!(written.contains(run.as_str()), "{written}");

    // The index is used: its content is shown while the run is unchanged.
    fs::write(&index, written.replace("\"fix\"", "\"xif\"")).unwrap();
    assert_eq!(world.card(&run).name.as_deref(), Some("xif"));

    // The index is not trusted, because the run has changed.
    let mut log = world.home.open_run(&run).unwrap();
    log.append(1, NOW, &[crate::world::pause(1)]).unwrap();
    drop(log);
    let after = world.card(&run);
    assert_eq!(
        (after.name.as_deref(), after.status),
        (Some("fix"), Status::Paused)
    );
    assert_eq!(after.events, card.events + 1);

    for damage in [
        "",
        "{",
        "{\"version\":7}",
        "{\"version\":1,\"content\":{\"x\":1}}",
    ] {
        fs::write(&index, damage).unwrap();
        assert_eq!(world.card(&run), after, "{damage}");
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(world.card(&run), after);
}

#[test]
fn a_run_that_has_just_changed_is_read_again() {
    let world = World::new();
    let run = world.named("fix", PROJECT, NOW);
    let index = world.home.path().join("index.json");
    // A second change within the resolution of the file system's clock would leave the same time.
    set_modified(
        &world,
        &run,
        SystemTime::now() + Duration::from_secs(60 * 60),
    );
    world.home.list_runs().unwrap();
    let written = fs::read_to_string(&index).unwrap();
    assert!(written.contains("\"fix\""), "{written}");
    fs::write(&index, written.replace("\"fix\"", "\"xif\"")).unwrap();
    assert_eq!(world.card(&run).name.as_deref(), Some("fix"));
}

#[test]
fn unfinished_and_foreign_directories_are_no_runs() {
    let world = World::new();
    let run = world.start(1).run().clone();
    let runs = world.home.path().join("runs");
    fs::create_dir(runs.join(format!(".new-{}", "0".repeat(26)))).unwrap();
    fs::create_dir(runs.join("notes of mine")).unwrap();
    fs::write(runs.join("README"), "").unwrap();
    let listed = world.home.list_runs().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].id, run);
}

#[test]
fn a_list_of_one_project_reads_no_run_of_another() {
    let world = World::new();
    let own = world.named("fix", PROJECT, NOW);
    let other = world.named("fix", OTHER, NOW + 1);
    let ids = |runs: Vec<interlock_store::RunSummary>| -> Vec<RunId> {
        runs.into_iter().map(|run| run.id).collect()
    };
    let here = || world.home.list_runs_in(&[Path::new(PROJECT)], |_| true);
    // The project of a run has to be read once.
    assert_eq!(ids(here().unwrap()), std::slice::from_ref(&own));
    fs::write(world.database(&other), "no database").unwrap();
    assert_eq!(ids(here().unwrap()), std::slice::from_ref(&own));
    assert_eq!(world.home.find_run(None, PROJECT.as_ref()).unwrap(), own);
    assert_eq!(world.find("fix").unwrap(), own);
    let all = world.home.list_runs().unwrap();
    let damaged = |run: &&interlock_store::RunSummary| matches!(run.listed, Listed::Damaged { .. });
    assert_eq!(all.iter().filter(damaged).count(), 1);
    assert_eq!(ids(all), [other, own]);
}
