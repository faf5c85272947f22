//! Runs whose project, home or state directory has moved: a log contains no absolute path.

use std::{fs, path::Path};

use interlock_core::{
    event::Event,
    machine::{Machine, Object},
};
use interlock_store::{
    BASELINE, Durability, EventLog as _, Home, NewDurable, NewRun, Origin, QUIET, RunLog,
    SourceFile,
};
use serde_json::json;

use crate::world::{NOW, PROJECT, World, pause, source};

const PERSON: &str = "/home/ana";

fn set(text: &str) -> Event {
    Event::VariablesSet {
        values: Object::from_iter([("text".to_owned(), json!(text))]),
        by: "ana".to_owned(),
    }
}

/// Returns the stored texts as they are read now.
fn texts(log: &RunLog) -> Vec<String> {
    let texts = log
        .events(0)
        .filter_map(|recorded| match recorded.unwrap().event {
            Event::VariablesSet { values, .. } => Some(values["text"].as_str().unwrap().to_owned()),
            _ => None,
        });
    texts.collect()
}

/// Returns the whole log of a run as written.
fn written(world: &World, log: &RunLog) -> String {
    let raw = rusqlite::Connection::open(world.database(log.run())).unwrap();
    let mut all = String::new();
    for sql in [
        "SELECT CAST(body AS TEXT) FROM events",
        "SELECT CAST(body AS TEXT) FROM snapshots",
        "SELECT source_name FROM pin",
    ] {
        let mut select = raw.prepare(sql).unwrap();
        let rows = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.for_each(|row| all.push_str(&row.unwrap()));
    }
    all
}

fn of_steps(world: &World) -> RunLog {
    let steps = json!({
        "id": "steps", "initial": "a", "durable": true,
        "states": {"a": {
            "activity": {"task": {"kind": {"program": "bash"}, "input": {"object": {
                "command": {"text": [{"plain": "cd "}, {"hole": {"path": [[{"plain": "@/src"}], "run_dir"]}}]},
            }}}},
            "on": {"done": {"transitions": [{"target": {"end": "success"}}]}},
        }},
    });
    let machine = serde_json::from_value::<Machine>(steps).unwrap().seal();
    let new = NewRun {
        machine: &machine,
        source: &SourceFile {
            name: format!("{PROJECT}/flow.yaml"),
            text: "start-at: a\n".to_owned(),
        },
        project_root: Path::new(PROJECT),
        name: Some("moving"),
        durability: Durability::Process,
        at_ms: NOW,
    };
    let durable = NewDurable {
        new,
        home: Path::new(PERSON),
        origin: &Origin {
            files: vec![SourceFile {
                name: format!("{PROJECT}/flow.yaml"),
                text: "start-at: a\n".to_owned(),
            }],
            ..Origin::default()
        },
        mode: None,
        input: None,
    };
    world
        .home
        .start_durable(&durable, Object::new(), "ana")
        .unwrap()
        .log
}

#[test]
fn a_log_of_steps_has_no_absolute_path_and_goes_where_its_places_go() {
    let world = World::new();
    let mut log = of_steps(&world);
    let work = log.folder().work().to_str().unwrap().to_owned();
    let events = log.count().unwrap();
    let text = |project: &str, home: &str, work: &str| {
        format!("{project}/a {home}/b {work}/files/c @project/d /usr/bin")
    };
    log.append(events, NOW, &[set(&text(PROJECT, PERSON, &work))])
        .unwrap();
    for seq in events + 1..40 {
        log.append(seq, NOW, &[pause(seq)]).unwrap();
    }
    let written = written(&world, &log);
    for place in [PROJECT, PERSON, &work] {
        assert!(!written.contains(place), "{place} in {written}");
    }
    assert!(written.contains("cd @project/src"), "{written}");
    let origin = fs::read_to_string(log.folder().path().join("origin.json")).unwrap();
    assert!(!origin.contains(PROJECT), "{origin}");
    let before = log.load().unwrap();
    let hash = log.events(0).last().unwrap().unwrap().hash;
    let (run, old) = (log.run().clone(), world.home.path().to_owned());
    drop(log);

    // The state directory has moved.
    let elsewhere = tempfile::TempDir::new().unwrap();
    let state = elsewhere.path().canonicalize().unwrap().join("state");
    fs::rename(&old, &state).unwrap();
    let home = Home::at(&state);
    let moved = state.join("work").join(run.as_str());
    let moved = moved.to_str().unwrap();
    let log = home.open_run(&run).unwrap();
    assert_eq!(texts(&log), [text(PROJECT, PERSON, moved)]);

    // So have project and home.
    home.move_run(&run, Path::new("/srv/shop"), Path::new("/root"))
        .unwrap();
    let log = home.open_run(&run).unwrap();
    assert_eq!(texts(&log), [text("/srv/shop", "/root", moved)]);
    assert_eq!(log.verify().unwrap(), 40);
    assert_eq!(log.events(0).last().unwrap().unwrap().hash, hash);
    let after = log.load().unwrap();
    let places = after.places().unwrap();
    assert_eq!(
        Path::new(&places.run_dir),
        log.folder().work().join("files")
    );
    assert_eq!((&*places.project, &*places.home), ("/srv/shop", "/root"));
    assert_eq!(after.seq, before.seq);
    assert_eq!(log.source().unwrap().name, "/srv/shop/flow.yaml");
    let origin = log.folder().origin().unwrap().unwrap();
    assert_eq!(origin.files[0].name, "/srv/shop/flow.yaml");
    for wanted in [run.as_str(), "moving", "steps/moving"] {
        let found = home.find_run(Some(wanted), Path::new("/srv/shop"));
        assert_eq!(found.unwrap(), run, "{wanted}");
    }
    assert!(home.find_run(None, Path::new(PROJECT)).is_err());
}

#[test]
fn what_is_written_like_a_mark_leads_nowhere_else() {
    let world = World::new();
    let mut log = world.start(1);
    let texts_like_marks = [
        "@project/x",
        "@@project",
        "@home",
        "@run/files",
        "a@b.c",
        "\\u0040project",
    ];
    for (seq, text) in (1..).zip(texts_like_marks) {
        log.append(seq, NOW, &[set(text)]).unwrap();
    }
    let run = log.run().clone();
    drop(log);
    world
        .home
        .move_run(&run, Path::new("/srv/shop"), Path::new("/root"))
        .unwrap();
    let log = world.home.open_run(&run).unwrap();
    assert_eq!(texts(&log), texts_like_marks);
    let run_now = log.load().unwrap();
    assert_eq!(
        run_now.root.line.context["text"],
        *texts_like_marks.last().unwrap()
    );
    // A mark that nobody here has written is damage, not a path.
    drop(log);
    let raw = world.raw(&run);
    raw.execute(
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '@@home', '@else') AS BLOB)",
        [],
    )
    .unwrap();
    drop(raw);
    let log = world.home.open_run(&run).unwrap();
    assert!(log.verify().is_err());
}

#[test]
fn a_run_that_moved_guards_its_session_there_and_keeps_its_frozen_files() {
    let world = World::new();
    let projects = tempfile::TempDir::new().unwrap();
    let projects = projects.path().canonicalize().unwrap();
    let (old, new) = (projects.join("old"), projects.join("new"));
    fs::create_dir_all(old.join(".git/objects")).unwrap();
    let commit = "0a1b2c3d".repeat(5);
    fs::write(old.join(".git/HEAD"), &commit).unwrap();
    fs::write(old.join("frozen.txt"), "as it was").unwrap();
    let machine = json!({
        "id": "frozen", "initial": "a",
        "guards": {"same": {"evidence": {"of": {"command": {"text": "make", "words": ["make"], "exit": 0}}, "frozen": ["frozen.txt"]}}},
        "states": {
            "a": {"on": {"DONE": {"transitions": [{"target": {"state": "b"}, "guards": [{"named": "same"}]}]}}},
            "b": {"activity": {"final": {"outcome": "success"}}},
        },
    });
    let machine = serde_json::from_value::<Machine>(machine).unwrap().seal();
    let new_run = NewRun {
        machine: &machine,
        source: &source(),
        project_root: &old,
        name: None,
        durability: Durability::Process,
        at_ms: NOW,
    };
    let prepared = world
        .home
        .prepare_run(&new_run, Object::new(), "ana")
        .unwrap();
    let session = interlock_store::SessionKey::new("claude-code", "s");
    let prepared = prepared.for_session(&session, None).unwrap();
    let (started, _) = world
        .home
        .lock_bindings()
        .unwrap()
        .begin(prepared, None)
        .unwrap();
    let run = started.run.id;
    let log = world.home.open_run(&run).unwrap();
    for compared in [BASELINE, QUIET] {
        log.folder()
            .renew_baseline(compared, json!({ "as": "it was" }))
            .unwrap();
    }
    log.folder()
        .renew_baseline("report-1", json!({ "tests": 1 }))
        .unwrap();
    fs::rename(&old, &new).unwrap();
    world.home.move_run(&run, &new, Path::new("/root")).unwrap();
    // The baseline of protected things at the old place is no longer used; a report of the run is kept.
    let has = |name: &str| log.folder().has_baseline(name);
    assert_eq!([BASELINE, QUIET, "report-1"].map(has), [false, false, true]);
    // The commit of the start is kept, and looked up in the repository's new place.
    let revision = world.home.revision_of(&run).unwrap().unwrap();
    assert_eq!(
        (revision.top, revision.objects, revision.commit),
        (new.clone(), new.join(".git/objects"), commit)
    );
    let held = world.home.session_of(&run).unwrap().unwrap();
    assert_eq!(held.project_root, new);
    let bound = world.home.look_up(&session, &new).unwrap();
    assert_eq!(bound, interlock_store::Lookup::Bound(held));
    let log = world.home.open_run(&run).unwrap();
    assert_eq!(log.frozen_now(&machine).unwrap(), []);
    fs::write(new.join("frozen.txt"), "otherwise").unwrap();
    assert_eq!(log.frozen_now(&machine).unwrap().len(), 1);
}
