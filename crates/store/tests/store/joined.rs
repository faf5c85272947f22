//! Runs of a server that a person has joined here, as they are listed.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Home, JoinedRun, Listed, StoreError};

use crate::world::{NOW, World, pause};

/// The state directory that plays the server.
static SERVER: OnceLock<Home> = OnceLock::new();

fn joined(project_root: &Path) -> JoinedRun {
    JoinedRun {
        server: "https://runs.example".to_owned(),
        token: "secret-token".to_owned(),
        project_root: project_root.to_owned(),
        person_home: PathBuf::from("/home/ana"),
    }
}

#[test]
fn a_joined_run_is_listed_as_its_server_says_and_with_its_place_here() {
    let server = World::new();
    let mut log = server.start_named(1, Some("first"), Path::new("/there/shop"), NOW);
    log.append(1, NOW + 5, &[pause(1)]).unwrap();
    let run = log.run().clone();
    SERVER.set(server.home.clone()).unwrap();

    let here = World::new();
    let home = here.home.clone().opening_joined(|run, joined, _| {
        assert_eq!(joined.token, "secret-token");
        SERVER.get().unwrap().open_run(run)
    });
    let project = Path::new("/here/shop");
    home.join_run(&run, &joined(project)).unwrap();
    let gone = RunId::new(run.as_str().replace(|c: char| c.is_ascii_digit(), "7"));
    home.join_run(&gone, &joined(project)).unwrap();

    let runs = home.list_runs().unwrap();
    assert_eq!(runs.len(), 2, "{runs:?}");
    let of = |id: &RunId| runs.iter().find(|summary| summary.id == *id).unwrap();
    let card = of(&run).listed.card().unwrap();
    assert_eq!(card.workflow.as_str(), "shop");
    assert_eq!(card.name.as_deref(), Some("first"));
    assert_eq!(card.project_root, project);
    assert_eq!((card.created_ms, card.last_ms), (NOW, NOW + 5));
    assert_eq!((card.events, card.state.len()), (2, 1));
    let Listed::Unreachable { why } = &of(&gone).listed else {
        panic!("{:?}", of(&gone).listed);
    };
    assert_eq!(
        of(&gone).listed.problem(),
        Some(("unreachable", why.as_str()))
    );
    assert_eq!(of(&run).listed.problem(), None);
    assert!(!format!("{:?}", joined(project)).contains("secret-token"));

    // Without a way to open it, it is named and not left out.
    let runs = here.home.list_runs().unwrap();
    assert!(runs.iter().all(|summary| summary.listed.card().is_none()));
    assert_eq!(runs.len(), 2);
}

#[test]
fn a_run_that_is_stored_here_cannot_be_joined() {
    let world = World::new();
    let log = world.start(1);
    let run = log.run().clone();
    let refused = world.home.join_run(&run, &joined(Path::new("/here")));
    assert!(
        matches!(refused, Err(StoreError::Unwritable { .. })),
        "{refused:?}"
    );
    assert_eq!(world.home.open_run(&run).unwrap().load().unwrap().seq, 1);
}
