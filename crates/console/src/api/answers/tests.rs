//! Events recorded between a person's look at a run and the answer.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::event::{ProtectedChange, ProtectedFate};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_store::{Durability, Home, NewRun, SourceFile};

use super::*;
use crate::shared::Settings;

const FLOW: &str = "id: w\ninitial: a\nstates:\n  a: {on: {NEXT: end}}\n  end: {type: final}\n";

/// Returns a console with a run that is paused because a protected file was changed.
fn standing(folder: &std::path::Path) -> (Shared, RunId) {
    let home = Home::at(folder.join("state"));
    let [name, text] = ["w.yaml", FLOW].map(str::to_owned);
    let source = Source {
        name: name.clone(),
        text: text.clone(),
    };
    let loaded = load(&source, None, &NoWorkflows).unwrap();
    let new = NewRun {
        machine: &loaded.machine,
        source: &SourceFile { name, text },
        project_root: "/p".as_ref(),
        name: None,
        durability: Durability::default(),
        at_ms: 1,
    };
    let started = home.start_run(&new, Object::new(), "ana").unwrap();
    let run = started.log.run().clone();
    let (shared, _) = Shared::new(Settings::alone(home, "ana"), 0);
    reports(&shared, &run, "/p/.envrc", "1");
    (shared, run)
}

/// Reports a change of a protected file, as another process would.
fn reports(shared: &Shared, run: &RunId, path: &str, digest: &str) {
    let change = ProtectedChange {
        path: path.to_owned(),
        what: "settings of a program".to_owned(),
        fate: ProtectedFate::Changed,
        digest: Some(digest.to_owned()),
        undone: false,
    };
    let changes = vec![change];
    let mut other = shared.open(run).unwrap();
    other.ask(CommandKind::ReportProtected { changes }).unwrap();
}

fn yes_to(run: &Run) -> Sent {
    Sent {
        request: protected::REQUEST.to_owned(),
        decision: Word::Yes,
        digest: protected::digest(run).to_string(),
        seen_seq: run.seq,
        note: None,
        data: Object::new(),
        passkey: None,
    }
}

#[test]
fn a_change_that_is_reported_while_a_yes_is_taken_is_not_accepted() {
    let folder = tempfile::tempdir().unwrap();
    // The same file again, and another one.
    for path in ["/p/.envrc", "/p/.mcp.json"] {
        let (shared, run) = standing(&folder.path().join(path.replace('/', "_")));
        let mut opened = shared.open(&run).unwrap();
        let shown = yes_to(&opened.run);
        // The report arrives after the run was opened, and before anything is appended.
        reports(&shared, &run, path, "2");
        let problem = shared.accept_or_cancel(&mut opened, &shown).unwrap_err();
        assert_eq!(problem.code, "moved", "{path}");
        let now = shared.open(&run).unwrap().run;
        assert!(now.paused.is_some() && now.accepted.is_empty(), "{path}");
        let newer = yes_to(&now);
        let mut opened = shared.open(&run).unwrap();
        shared.accept_or_cancel(&mut opened, &newer).unwrap();
        let now = shared.open(&run).unwrap().run;
        assert!(now.paused.is_none(), "{path}");
        assert_eq!(now.accepted.get(path), Some(&Some("2".to_owned())));
    }
}

#[test]
fn a_change_that_is_reported_while_a_pause_is_ended_is_not_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (shared, run) = standing(folder.path());
    let mut opened = shared.open(&run).unwrap();
    let shown = yes_to(&opened.run);
    shared.accept_or_cancel(&mut opened, &shown).unwrap();
    let by = || "ana".to_owned();
    let reason = None;
    opened.ask(CommandKind::Pause { by: by(), reason }).unwrap();
    let ask = resuming(&opened.run, by()).unwrap();
    reports(&shared, &run, "/p/.envrc", "2");
    let taken = shared.take(&mut opened, ask, "resumed".to_owned());
    assert_eq!(taken.unwrap_err().code, "moved");
    let now = shared.open(&run).unwrap().run;
    assert!(now.paused.is_some());
    assert_eq!(now.accepted.get("/p/.envrc"), Some(&Some("1".to_owned())));
}
