//! Finding the run that is meant, and the list of all.

use std::{fs, path::Path};

use interlock_core::{
    command::{Command, CommandKind},
    names::RunId,
};
use interlock_store::{EventLog as _, Listed, RunCard, StoreError, submit};
use interlock_view::report::Status;

use crate::world::{NOW, PROJECT, World, machine};

const OTHER: &str = "/projects/other";

impl World {
    fn named(&self, name: &str, project_root: &str, at_ms: u64) -> RunId {
        self.start_named(1, Some(name), Path::new(project_root), at_ms)
            .run()
            .clone()
    }

    fn find(&self, wanted: &str) -> Result<RunId, StoreError> {
        self.home.find_run(Some(wanted), PROJECT.as_ref())
    }

    fn card(&self, run: &RunId) -> RunCard {
        let listed = self.home.list_runs().unwrap();
        match listed.into_iter().find(|listed| listed.id == *run) {
            Some(interlock_store::RunSummary {
                listed: Listed::Known(card),
                ..
            }) => card,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_run_is_found_by_id_prefix_or_name() {
    let world = World::new();
    let fix = world.named("fix", PROJECT, NOW);
    // Far apart in time, so that the prefixes differ.
    let nightly = world.named("nightly", PROJECT, NOW * 2);
    for run in [&fix, &nightly] {
        assert_eq!(world.find(run.as_str()).unwrap(), *run);
        assert_eq!(world.find(&run.as_str().to_uppercase()).unwrap(), *run);
        assert_eq!(world.find(&run.as_str()[..8]).unwrap(), *run);
    }
    assert_eq!(world.find("nightly").unwrap(), nightly);
    for unknown in ["", "night", "NIGHTLY", "zzz", "../..", "ñ"] {
        let error = world.find(unknown).unwrap_err();
        assert!(
            matches!(error, StoreError::NoSuchRun { .. }),
            "{unknown}: {error:?}"
        );
    }
}

#[test]
fn several_that_fit_are_named() {
    let world = World::new();
    let first = world.named("fix", PROJECT, NOW);
    let second = world.named("fix", PROJECT, NOW * 2);
    for wanted in ["fix", "0"] {
        match world.find(wanted).unwrap_err() {
            StoreError::Ambiguous { candidates, .. } => {
                assert_eq!(candidates, [second.clone(), first.clone()]);
            }
            error => panic!("{error:?}"),
        }
    }
    let told = world.find("fix").unwrap_err().to_string();
    assert!(
        told.contains(first.as_str()) && told.contains(second.as_str()),
        "{told}"
    );
}

#[test]
fn a_name_is_looked_for_in_the_project_first() {
    let world = World::new();
    let here = world.named("fix", PROJECT, NOW);
    let there = world.named("fix", OTHER, NOW + 1);
    let only = world.named("only", OTHER, NOW + 2);
    assert_eq!(world.find("fix").unwrap(), here);
    assert_eq!(
        world.home.find_run(Some("fix"), OTHER.as_ref()).unwrap(),
        there
    );
    assert_eq!(world.find("only").unwrap(), only);
}

#[test]
fn without_a_word_the_newest_of_the_project_is_meant() {
    let world = World::new();
    let newest = |root: &str| world.home.find_run(None, root.as_ref());
    let error = newest(PROJECT).unwrap_err();
    assert!(matches!(error, StoreError::NoRunHere { .. }), "{error:?}");
    world.named("a", PROJECT, NOW);
    let last = world.named("b", PROJECT, NOW + 2);
    world.named("c", OTHER, NOW + 3);
    world.named("d", PROJECT, NOW + 1);
    assert_eq!(newest(PROJECT).unwrap(), last);
    assert!(newest("/projects").is_err());
}

#[test]
fn the_list_says_how_runs_stand() {
    let world = World::new();
    let older = world.named("fix", PROJECT, NOW);
    let newer = world.named("next", OTHER, NOW + 1);
    let ids: Vec<RunId> = world
        .home
        .list_runs()
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(ids, [newer, older.clone()]);
    let card = world.card(&older);
    assert_eq!(card.status, Status::Running);
    assert_eq!(card.state, ["working"]);
    assert_eq!((card.events, card.created_ms), (1, NOW));
    assert_eq!(card.name.as_deref(), Some("fix"));
    assert_eq!(card.project_root, Path::new(PROJECT));
    assert_eq!(card.workflow.as_str(), "shop");

    let mut log = world.home.open_run(&older).unwrap();
    let mut run = log.load().unwrap();
    let cancel = Command {
        at_ms: NOW,
        kind: CommandKind::Cancel {
            by: "ana".to_owned(),
        },
    };
    submit(&mut log, &machine(1), &mut run, &cancel).unwrap();
    let card = world.card(&older);
    assert_eq!((card.status, card.events), (Status::Cancelled, 2));
    assert!(card.is_over());
}

/// Makes a run's files look as if they had rested for long.
fn settle(world: &World, run: &RunId) {
    for entry in fs::read_dir(world.directory(run)).unwrap() {
        let file = fs::File::options()
            .write(true)
            .open(entry.unwrap().path())
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000))
            .unwrap();
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

    // Used: what it says is shown while the run rests.
    fs::write(&index, written.replace("\"fix\"", "\"xif\"")).unwrap();
    assert_eq!(world.card(&run).name.as_deref(), Some("xif"));

    // Not believed: the run has changed.
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
    // Whose it is has to be read once.
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
