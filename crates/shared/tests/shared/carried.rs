//! Runs that are moved between a local file and the shared log.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use interlock_core::{
    event::Event,
    machine::Object,
    names::{CallId, RunId},
};
use interlock_shared::{ImportDone, SharedError, SharedRuns};
use interlock_store::{EventLog as _, Runs as _, StoreError, record::TransferError};

use crate::{
    server,
    world::{NOW, World, machine, pause},
};

/// Returns a local run with everything that a log may contain, and its export.
pub(crate) fn exported() -> (World, RunId, Vec<u8>) {
    let local = World::new();
    let mut log = local.start_named(1, Some("fix"), Path::new("/projects/shop"), NOW);
    let other = machine(2);
    log.keep_machine(&other).unwrap();
    let moved = Event::MachineAdopted {
        machine: other.id.clone(),
        hash: other.hash.clone(),
        variables: Object::new(),
        by: "ana".to_owned(),
        at_ms: NOW,
    };
    log.append(1, NOW, &[moved]).unwrap();
    let paths = Event::RunPaused {
        by: "ana@example.org".to_owned(),
        reason: Some("/projects/shop/src/a.rs is \"wrong\" \u{1f600}\n".to_owned()),
    };
    log.append(2, NOW + 1, &[paths]).unwrap();
    let many: Vec<Event> = (0..40).map(pause).collect();
    log.append(3, NOW + 2, &many).unwrap();
    log.messages().keep(b"{\"text\":\"hello\"}").unwrap();
    log.messages().keep(&[0, 0xff, 7]).unwrap();
    log.keep_output(&CallId::new("toolu_1"), "12 passed\n")
        .unwrap();
    // A program of the run leaves a file with a similar name beside it.
    let outputs = log.folder().work().join("output");
    let output = fs::read_dir(&outputs).unwrap().next().unwrap().unwrap();
    fs::write(output.path().with_extension("log"), "none of ours").unwrap();
    let run = log.run().clone();
    let file = local_file(&local, &run);
    (local, run, file)
}

fn local_file(local: &World, run: &RunId) -> Vec<u8> {
    let mut file = Vec::new();
    local
        .home
        .export_run(run, &mut file, Path::new("run.jsonl"))
        .unwrap();
    file
}

pub(crate) fn import(runs: &SharedRuns, file: &[u8]) -> Result<ImportDone, TransferError> {
    let place = Path::new("run.jsonl");
    runs.import(&mut &*file, place, Path::new("/elsewhere/shop"), None)
}

#[test]
fn a_run_is_carried_with_its_hashes_and_gives_the_same_bytes_again() {
    let world = World::new();
    let Some(runs) = server::runs(&world) else {
        return;
    };
    let (local, run, file) = exported();
    let made = import(&runs, &file).unwrap();
    let ImportDone::Made(done) = &made else {
        panic!("{made:?}");
    };
    assert_eq!((&done.run, done.events), (&run, 43));
    let (here, there) = (local.home.open_run(&run).unwrap(), runs.open(&run).unwrap());
    let hashes = |log: &interlock_store::RunLog| -> Vec<String> {
        log.events(0)
            .map(|event| event.unwrap().hash.to_string())
            .collect()
    };
    assert_eq!(hashes(&here), hashes(&there));
    assert_eq!(there.verify().unwrap(), 43);
    assert_eq!(there.load().unwrap(), here.load().unwrap());
    assert_eq!(there.machine().unwrap(), here.machine().unwrap());
    assert_eq!(there.source().unwrap(), here.source().unwrap());
    assert_eq!(there.name().unwrap().as_deref(), Some("fix"));
    let output = there.output(&CallId::new("toolu_1")).unwrap();
    assert_eq!(output.as_deref(), Some("12 passed\n"));
    let digest = here.messages().keep(&[0, 0xff, 7]).unwrap();
    assert_eq!(there.messages().read(&digest).unwrap(), [0, 0xff, 7]);
    let mut again = Vec::new();
    runs.export(&run, &mut again, Path::new("again.jsonl"))
        .unwrap();
    assert_eq!(
        String::from_utf8(again).unwrap(),
        String::from_utf8(file.clone()).unwrap()
    );
    // A repeated import finds the run and changes nothing.
    assert_eq!(
        import(&runs, &file).unwrap(),
        ImportDone::There(done.clone())
    );
}

#[test]
fn paths_of_the_project_lead_to_where_it_is_on_this_machine() {
    let world = World::new();
    let Some(runs) = server::runs(&world) else {
        return;
    };
    let (_local, run, file) = exported();
    import(&runs, &file).unwrap();
    let reason = |runs: &SharedRuns| {
        let log = runs.open(&run).unwrap();
        match log.events(2).next().unwrap().unwrap().event {
            Event::RunPaused { reason, .. } => reason.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert!(reason(&runs).starts_with("/elsewhere/shop/src/a.rs"));
    runs.relocate(&run, Path::new("/moved/shop"), Path::new("/home/eva"))
        .unwrap();
    assert!(reason(&runs).starts_with("/moved/shop/src/a.rs"));
    // Another machine sets its own location.
    let machine = World::new();
    let elsewhere = SharedRuns::new(runs.database().clone(), machine.home.path(), None);
    assert!(reason(&elsewhere).starts_with("/elsewhere/shop/src/a.rs"));
    assert_eq!(elsewhere.open(&run).unwrap().verify().unwrap(), 43);
    // It does so with an import of an existing run, too.
    let there = elsewhere.import(
        &mut &*file,
        "run.jsonl".as_ref(),
        "/third/shop".as_ref(),
        None,
    );
    assert!(matches!(there, Ok(ImportDone::There(_))), "{there:?}");
    assert!(reason(&elsewhere).starts_with("/third/shop/src/a.rs"));
    let folders = fs::metadata(machine.home.path().join("shared")).unwrap();
    assert_eq!(folders.permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_run_that_differs_is_not_written_over() {
    let world = World::new();
    let Some(runs) = server::runs(&world) else {
        return;
    };
    let (local, run, file) = exported();
    import(&runs, &file).unwrap();
    local
        .home
        .open_run(&run)
        .unwrap()
        .append(43, NOW, &[pause(43)])
        .unwrap();
    let longer = local_file(&local, &run);
    let error = import(&runs, &longer).unwrap_err();
    let TransferError::Store(StoreError::Elsewhere(error)) = error else {
        panic!("{error:?}");
    };
    let there = error.downcast_ref::<SharedError>().unwrap();
    assert!(
        matches!(there, SharedError::RunThere { events: 43, .. }),
        "{there:?}"
    );
    assert_eq!(runs.open(&run).unwrap().count().unwrap(), 43);
}

#[test]
fn a_changed_byte_is_found_and_nothing_is_imported() {
    let world = World::new();
    let Some(runs) = server::runs(&world) else {
        return;
    };
    let (_local, _, file) = exported();
    let text = String::from_utf8(file).unwrap();
    let line_of = |what: &str| 1 + text[..text.find(what).unwrap()].matches('\n').count();
    let cases = [
        ("id: shop", "id: shot", "pinned workflow was changed"),
        (
            "ana@@example",
            "eva@@example",
            "event 2 is not what was recorded there",
        ),
        ("\"seq\":7,", "\"seq\":8,", "event 7 is missing"),
        ("hello", "hallo", "was changed"),
        ("12 passed", "13 passed", "are not those that were exported"),
        (
            "\"durability\":\"process\"",
            "\"durability\":\"power\"",
            "are not those that were exported",
        ),
        ("\"format\":1", "\"format\":2", "it has format 2"),
    ];
    let lines = text.matches('\n').count();
    for (from, to, named) in cases {
        let line = if named.starts_with("are not") {
            lines
        } else {
            line_of(from)
        };
        let changed = text.replacen(from, to, 1);
        let error = import(&runs, changed.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(named), "{from}: {error}");
        assert!(
            error.starts_with(&format!("`run.jsonl`, line {line}:")),
            "{from}: {error}"
        );
        assert_eq!(runs.ids().unwrap(), [], "{from}");
    }
    // Truncated anywhere, it is incomplete.
    for end in [text.len() - 1, text.len() / 2, line_of("hello"), 0] {
        let cut = &text.as_bytes()[..end];
        assert!(import(&runs, cut).is_err(), "{end}");
    }
    assert_eq!(runs.ids().unwrap(), []);
}
