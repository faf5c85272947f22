//! The processes below which nobody counts as a person: those of clients whose sessions open runs guard.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command as Program, Stdio},
};

use interlock_clients::{
    guarded::{Guarded, guarded_above, guarded_clients, open_guarded_run},
    process::{ancestors, is_shell, look, with_ancestors},
};
use interlock_core::{
    command::{Command, CommandKind},
    machine::{Machine, Object},
    names::RunId,
};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_store::{
    Binding, ClientProcess, Durability, EventLog as _, Home, KnownSessions, NewDurable, NewRun,
    Origin, SessionKey, SourceFile, submit,
};
use serde_json::json;
use tempfile::TempDir;

struct Place {
    room: TempDir,
    home: Home,
}

impl Place {
    fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let home = Home::at(room.path().join("state"));
        Self { room, home }
    }

    fn project(&self) -> PathBuf {
        self.room.path().join("project")
    }

    fn start(&self, machine: &Machine, text: &str) -> RunId {
        let source = SourceFile {
            name: "w.json".to_owned(),
            text: text.to_owned(),
        };
        let project = self.project();
        let new = NewRun {
            machine,
            source: &source,
            project_root: &project,
            name: None,
            durability: Durability::Process,
            at_ms: 1,
        };
        if !machine.durable {
            let started = self.home.start_run(&new, Object::new(), "ana").unwrap();
            return started.log.run().clone();
        }
        let origin = Origin {
            files: vec![source.clone()],
            variables: Vec::new(),
            clean_on_end: false,
        };
        let durable = NewDurable {
            new,
            home: Path::new("/home/ana"),
            origin: &origin,
            mode: None,
            input: None,
        };
        let started = self.home.start_durable(&durable, Object::new(), "ana");
        started.unwrap().log.run().clone()
    }

    /// Starts a run that guards an agent.
    fn guards(&self) -> RunId {
        let text = r#"{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}"#;
        let loaded = load(&Source::new("w.json", text), None, &NoWorkflows).unwrap();
        self.start(&loaded.machine, text)
    }

    /// Starts a run of steps, which guards nobody.
    fn steps(&self) -> RunId {
        let machine = json!({
            "id": "s", "initial": "a", "durable": true,
            "states": {"a": {
                "activity": {"task": {"kind": {"program": "bash"}, "input": {"object": {"command": {"text": [{"plain": "true"}]}}}}},
                "on": {"done": {"transitions": [{"target": {"end": "success"}}]}},
            }},
        });
        let machine: Machine = serde_json::from_value(machine).unwrap();
        self.start(&machine.seal(), "start-at: a\n")
    }

    fn bind(&self, run: &RunId, session: &str, process: Option<ClientProcess>) {
        let binding = Binding {
            run: run.clone(),
            session: SessionKey::new("claude-code", session),
            project_root: self.project(),
            process,
            at_ms: 1,
        };
        let bindings = self.home.lock_bindings().unwrap();
        bindings.bind(binding, None).unwrap();
    }

    fn cancel(&self, run: &RunId) {
        let mut log = self.home.open_run(run).unwrap();
        let (machine, mut standing) = (log.machine().unwrap(), log.load().unwrap());
        let kind = CommandKind::Cancel {
            by: "ana".to_owned(),
        };
        let cancel = Command { at_ms: 2, kind };
        submit(&mut log, &machine, &mut standing, &cancel).unwrap();
    }

    fn damage(&self, run: &RunId) {
        let directory = self.home.path().join("runs").join(run.as_str());
        fs::write(directory.join("run.db"), "not a database").unwrap();
    }
}

/// Returns this test's own process.
fn own() -> ClientProcess {
    look(std::process::id()).unwrap().client
}

fn client(pid: u32) -> ClientProcess {
    ClientProcess {
        pid,
        started: format!("at {pid}"),
    }
}

#[test]
fn the_clients_of_open_runs_are_guarded_and_of_those_that_cannot_be_read() {
    let place = Place::new();
    assert_eq!(guarded_clients(&place.home, &[]).unwrap(), []);
    let (open, over, damaged, unseen) = (
        place.guards(),
        place.guards(),
        place.guards(),
        place.guards(),
    );
    place.bind(&open, "open", Some(client(1)));
    place.bind(&over, "over", Some(client(2)));
    place.bind(&damaged, "damaged", Some(client(3)));
    place.bind(&unseen, "unseen", None);
    place.cancel(&over);
    place.damage(&damaged);
    let guarded = |own: &[ClientProcess]| {
        let mut found = guarded_clients(&place.home, own).unwrap();
        found.sort_by_key(|one| one.process.pid);
        found
    };
    let of_open = Guarded {
        process: client(1),
        run: open,
    };
    let of_damaged = Guarded {
        process: client(3),
        run: damaged,
    };
    assert_eq!(guarded(&[]), [of_open.clone(), of_damaged.clone()]);
    // A process of the person, above which the token was made.
    assert_eq!(guarded(&[client(3), client(7)]), [of_open]);
    // Another process has that id by now.
    let reused = ClientProcess {
        started: "later".to_owned(),
        ..client(1)
    };
    assert_eq!(guarded(&[reused]).len(), 2);
}

#[test]
fn a_run_that_guards_an_agent_is_open_until_it_is_known_to_be_over() {
    let place = Place::new();
    assert_eq!(open_guarded_run(&place.home).unwrap(), None);
    place.steps();
    assert_eq!(open_guarded_run(&place.home).unwrap(), None);
    let run = place.guards();
    assert_eq!(open_guarded_run(&place.home).unwrap(), Some(run.clone()));
    place.cancel(&run);
    assert_eq!(open_guarded_run(&place.home).unwrap(), None);
    let damaged = place.guards();
    place.damage(&damaged);
    assert_eq!(open_guarded_run(&place.home).unwrap(), Some(damaged));
}

#[test]
fn a_process_is_below_a_guarded_client_where_it_is_that_or_one_of_its_descendants() {
    let place = Place::new();
    let run = place.guards();
    let mut child = Program::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let below = child.id();
    let known = KnownSessions::default();
    let above = |pid: u32| guarded_above(&place.home, &known, pid, 0).unwrap();
    place.bind(&run, "s", Some(client(own().pid)));
    assert_eq!(above(below), None, "another process had this number");
    place.bind(&run, "s", Some(own()));
    assert_eq!(above(below), Some(run.clone()));
    assert_eq!(above(own().pid), Some(run.clone()), "the client itself");
    let parent = look(own().pid).unwrap().parent;
    assert_eq!(above(parent), None, "what has started the client");
    place.cancel(&run);
    assert_eq!(above(below), None);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        guarded_above(&place.home, &known, below, 0).is_err(),
        "who a process that is gone ran for cannot be told"
    );
}

#[test]
fn ancestors_are_listed_from_the_nearest_on_and_the_process_itself_before_them() {
    let pid = std::process::id();
    let line = with_ancestors(pid).unwrap();
    let above = ancestors(pid).unwrap();
    assert_eq!(line.first().unwrap().client, own());
    assert_eq!(line.get(1..).unwrap(), above);
    for pair in line.windows(2) {
        let [below, above] = pair else {
            unreachable!("windows of two")
        };
        assert_eq!(below.parent, above.client.pid);
    }
}

#[test]
fn a_shell_is_one_by_its_program_and_no_other_process_of_its_number() {
    let mut shell = Program::new("sh")
        .args(["-c", "read -r line; exit 0"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let process = look(shell.id()).unwrap().client;
    // Until it has executed its program, it looks like this test.
    while look(shell.id()).unwrap().name == look(std::process::id()).unwrap().name {
        std::thread::yield_now();
    }
    assert!(is_shell(&process));
    let earlier = ClientProcess {
        started: "earlier".to_owned(),
        ..process
    };
    assert!(!is_shell(&earlier));
    assert!(!is_shell(&own()));
    drop(shell.stdin.take());
    shell.wait().unwrap();
}
