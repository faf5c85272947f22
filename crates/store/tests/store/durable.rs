//! Durable runs: their names, folders, origins, and the version they follow.

use std::{fs, path::Path};

use interlock_core::{
    command::{Command, CommandKind},
    machine::{Machine, Object},
};
use interlock_store::{
    Durability, EventLog as _, NewDurable, NewRun, Origin, RunLog, SourceFile, StartError,
    StoreError, submit,
};
use serde_json::json;

use crate::world::{NOW, PROJECT, World, in_parallel};

fn steps(id: &str, command: &str) -> Machine {
    let machine = json!({
        "id": id, "initial": "a", "durable": true,
        "states": {"a": {
            "activity": {"task": {"kind": { "program": "bash" }, "input": {"object": {"command": {"text": [{"plain": command}]}}}}},
            "on": {"done": {"transitions": [{"target": {"end": "success"}}]}},
        }},
    });
    serde_json::from_value::<Machine>(machine).unwrap().seal()
}

fn origin() -> Origin {
    Origin {
        files: vec![SourceFile {
            name: "/projects/shop/flow.yaml".to_owned(),
            text: "start-at: a\n".to_owned(),
        }],
        variables: vec!["who".to_owned()],
        clean_on_end: true,
    }
}

impl World {
    fn durable(&self, project: &str, id: &str, name: Option<&str>) -> Result<RunLog, StartError> {
        let machine = steps(id, "true");
        let source = crate::world::source();
        let new = NewRun {
            machine: &machine,
            source: &source,
            project_root: Path::new(project),
            name,
            durability: Durability::Process,
            at_ms: NOW,
        };
        let durable = NewDurable {
            new,
            home: Path::new("/home/ana"),
            origin: &origin(),
            mode: None,
            input: None,
        };
        let started = self.home.start_durable(&durable, Object::new(), "ana")?;
        Ok(started.log)
    }

    fn named_durable(&self, id: &str, name: Option<&str>) -> String {
        let log = self.durable(PROJECT, id, name).unwrap();
        log.name().unwrap().unwrap()
    }
}

#[test]
fn a_durable_run_has_an_empty_folder_and_knows_where_it_comes_from() {
    let world = World::new();
    let log = world.durable(PROJECT, "flow", None).unwrap();
    let places = log.load().unwrap().places().cloned().unwrap();
    assert_eq!(
        Path::new(&places.run_dir),
        log.folder().work().join("files")
    );
    assert_eq!((&*places.project, &*places.home), (PROJECT, "/home/ana"));
    assert_eq!(fs::read_dir(&places.run_dir).unwrap().count(), 0);
    assert_eq!(log.folder().origin().unwrap(), Some(origin()));
    assert!(world.home.is_durable(log.run()));
    let native = world.start(1);
    assert!(!world.home.is_durable(native.run()));
    fs::write(Path::new(&places.run_dir).join("x"), "").unwrap();
    log.folder().remove_files().unwrap();
    log.folder().remove_files().unwrap();
    assert!(!Path::new(&places.run_dir).exists());
    assert_eq!(log.verify().unwrap(), 2);
}

#[test]
fn a_name_belongs_to_one_run_of_a_workflow_in_a_project() {
    let world = World::new();
    let log = world.durable(PROJECT, "flow", Some("x")).unwrap();
    let taken = world.durable(PROJECT, "flow", Some("x")).unwrap_err();
    let StartError::Store(StoreError::NameTaken { name, workflow }) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!((&*name, &*workflow), ("x", "flow"));
    world.durable("/projects/other", "flow", Some("x")).unwrap();
    world.durable(PROJECT, "other", Some("x")).unwrap();
    // The name of a removed run can be used again.
    fs::remove_dir_all(log.folder().path()).unwrap();
    world.durable(PROJECT, "flow", Some("x")).unwrap();
    for bad in ["", ".x", "a/b", "../x", "a b"] {
        let error = world.durable(PROJECT, "flow", Some(bad)).unwrap_err();
        assert!(
            matches!(error, StartError::Store(StoreError::BadName { .. })),
            "{bad}: {error:?}"
        );
    }
}

#[test]
fn names_that_are_made_up_follow_each_other() {
    let world = World::new();
    assert_eq!(world.named_durable("flow", None), "flow-1");
    assert_eq!(world.named_durable("flow", Some("flow-7")), "flow-7");
    assert_eq!(world.named_durable("flow", None), "flow-8");
    assert_eq!(world.named_durable("two words", None), "two-words-1");
    let mut names = in_parallel(16, |_| world.named_durable("many", None));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 16);
}

#[test]
fn a_run_is_found_by_its_workflow_and_name() {
    let world = World::new();
    let log = world.durable(PROJECT, "flow", Some("x")).unwrap();
    world.durable(PROJECT, "other", Some("x")).unwrap();
    let find = |wanted| world.home.find_run(Some(wanted), PROJECT.as_ref());
    assert_eq!(find("flow/x").unwrap(), *log.run());
    let Err(StoreError::Ambiguous { names, .. }) = find("x") else {
        panic!("two runs have the name");
    };
    let mut names = names;
    names.sort();
    assert_eq!(names, ["flow/x", "other/x"]);
    let Err(StoreError::NoSuchRun { near, .. }) = find("flow/y") else {
        panic!("there is no such run");
    };
    assert_eq!(near, None);
    world.durable(PROJECT, "flow", Some("release")).unwrap();
    let Err(StoreError::NoSuchRun { near, .. }) = find("relase") else {
        panic!("there is no such run");
    };
    assert_eq!(near.as_deref(), Some("release"));
}

/// Moves a run to another version and returns that version.
fn moved(log: &mut RunLog) -> Machine {
    let (machine, other) = (log.machine().unwrap(), steps("flow", "echo new"));
    log.keep_machine(&other).unwrap();
    // The version is stored, but not used yet.
    assert_eq!(log.machine().unwrap(), machine);
    let mut run = log.load().unwrap();
    let adopt = Command {
        at_ms: NOW,
        kind: CommandKind::Adopt {
            machine: Box::new(other.clone()),
            by: "ana".to_owned(),
        },
    };
    submit(log, &machine, &mut run, &adopt).unwrap();
    other
}

#[test]
fn a_run_follows_the_version_it_moved_to() {
    let world = World::new();
    let mut log = world.durable(PROJECT, "flow", None).unwrap();
    let other = moved(&mut log);
    assert_eq!(log.machine().unwrap(), other);
    let again = world.home.open_run(log.run()).unwrap();
    assert_eq!(again.machine().unwrap(), other);
    assert_eq!(again.verify().unwrap(), 4);
}

#[test]
fn a_version_that_was_changed_behind_the_log_is_not_followed() {
    let world = World::new();
    let mut log = world.durable(PROJECT, "flow", None).unwrap();
    moved(&mut log);
    let run = log.run().clone();
    drop(log);
    let raw = world.raw(&run);
    let changed = raw.execute(
        "UPDATE machines SET machine = CAST(replace(CAST(machine AS TEXT), 'echo new', 'echo bad') AS BLOB)",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(raw);
    let error = world.home.open_run(&run).unwrap().machine().unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}
