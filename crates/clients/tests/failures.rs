//! Failures: the state directory, the workflow or the input is broken.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use interlock_clients::{ClientId, HookAnswer, failure_stops, hook, hook::respond, read};
use interlock_core::{
    command::{Command, CommandKind},
    machine::Object,
    names::RunId,
};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_project::Environment;
use interlock_store::{
    Binding, ClientProcess, Durability, EventLog as _, Home, Lookup, NewRun, SessionKey,
    SourceFile, submit,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const WORKFLOW: &str = r#"{"id": "w", "initial": "a", "states": {
    "a": {"allowed_tools": ["Read"], "on": {"GO": "b"}}, "b": {"type": "final"}}}"#;

struct Place {
    _room: TempDir,
    base: PathBuf,
}

impl Place {
    fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("project/.git")).unwrap();
        Self { _room: room, base }
    }

    fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    fn state(&self) -> PathBuf {
        self.base.join("state")
    }

    fn environment(&self) -> Environment {
        Environment {
            at_ms: 1,
            ..Environment::at(Home::at(self.state()))
        }
    }

    /// Starts a run that guards no session yet.
    fn start(&self) -> RunId {
        let source = Source::new("w.json", WORKFLOW);
        let loaded = load(&source, None, &NoWorkflows).unwrap();
        let project = self.project();
        let home = Home::at(self.state());
        let new = NewRun {
            machine: &loaded.machine,
            source: &SourceFile {
                name: source.name,
                text: source.text,
            },
            project_root: &project,
            name: None,
            durability: Durability::Process,
            at_ms: 1,
        };
        let started = home.start_run(&new, Object::new(), "a person").unwrap();
        started.log.run().clone()
    }

    fn guard(&self, session: &str) -> RunId {
        let run = self.start();
        let binding = Binding {
            run: run.clone(),
            session: SessionKey::new("claude-code", session),
            project_root: self.project(),
            process: None,
            at_ms: 1,
        };
        let home = Home::at(self.state());
        home.lock_bindings().unwrap().bind(binding, None).unwrap();
        run
    }

    /// Returns the run that guards a session.
    fn bound(&self, session: &str) -> Option<RunId> {
        let key = SessionKey::new("claude-code", session);
        match Home::at(self.state()).look_up(&key, &self.project()) {
            Ok(Lookup::Bound(binding)) => Some(binding.run),
            _ => None,
        }
    }

    fn cancel(&self, run: &RunId) {
        let home = Home::at(self.state());
        let mut log = home.open_run(run).unwrap();
        let (machine, mut standing) = (log.machine().unwrap(), log.load().unwrap());
        let kind = CommandKind::Cancel {
            by: "ana".to_owned(),
        };
        let cancel = Command { at_ms: 2, kind };
        submit(&mut log, &machine, &mut standing, &cancel).unwrap();
        assert!(standing.is_over());
    }

    fn ask(&self, session: &str, event: &str) -> Result<Value, String> {
        let environment = Environment {
            client: Some(process(session)),
            ..self.environment()
        };
        self.ask_with(&environment, session, event)
    }

    fn ask_with(
        &self,
        environment: &Environment,
        session: &str,
        event: &str,
    ) -> Result<Value, String> {
        let input = json!({
            "session_id": session, "cwd": self.project(), "hook_event_name": event,
            "tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "/x"},
            "permission_mode": "default", "prompt": "x",
        });
        let input = read(ClientId::ClaudeCode, input.to_string().as_bytes(), None)?;
        respond(environment, &input)
    }
}

fn process(started: &str) -> ClientProcess {
    ClientProcess {
        pid: u32::MAX,
        started: started.to_owned(),
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

const EVENTS: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
];

#[test]
fn an_unguarded_session_makes_nothing() {
    let place = Place::new();
    for event in EVENTS {
        assert_eq!(place.ask("s", event), Ok(json!({})), "{event}");
    }
    assert!(!place.state().exists());
}

#[test]
fn an_unguarded_session_opens_no_database() {
    let place = Place::new();
    place.guard("other");
    for path in files_below(&place.state()) {
        if path.extension().is_some_and(|ending| ending == "db") {
            fs::write(&path, "broken").unwrap();
        }
    }
    for event in EVENTS {
        let answer = place.ask("s", event).unwrap();
        // A run that cannot be read may be open: the session is told so, once.
        let told = event == "SessionStart";
        assert_eq!(answer.get("systemMessage").is_some(), told, "{event}");
        assert!(told || answer == json!({}), "{event}");
    }
    assert!(place.ask("other", "PreToolUse").is_err());
}

/// A function that breaks one part of the state of a guarded session.
type Breaking = fn(&Path);

#[test]
fn whatever_is_broken_a_guarded_session_does_not_pass() {
    let breakings: [(&str, Breaking); 7] = [
        ("run.db", |path| fs::write(path, "not a database").unwrap()),
        ("run.db", |path| fs::write(path, "").unwrap()),
        ("run.db", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.truncate(bytes.len() / 2);
            fs::write(path, bytes).unwrap();
        }),
        ("run.db", |path| fs::remove_file(path).unwrap()),
        ("run.db", |path| {
            fs::remove_dir_all(path.parent().unwrap()).unwrap()
        }),
        ("sessions", |path| fs::write(path, "{").unwrap()),
        ("sessions", |path| fs::write(path, "").unwrap()),
    ];
    for (index, (what, breaking)) in breakings.into_iter().enumerate() {
        let place = Place::new();
        place.guard("s");
        assert_eq!(place.ask("s", "PreToolUse"), Ok(json!({})));
        let files = files_below(&place.state());
        let path = files.iter().find(|path| {
            path.to_str().is_some_and(|path| {
                path.contains(what) && !path.ends_with("-wal") && !path.ends_with("-shm")
            })
        });
        breaking(path.unwrap());
        for event in ["PreToolUse", "UserPromptSubmit"] {
            assert!(place.ask("s", event).is_err(), "{index}: {what} at {event}");
        }
        assert_eq!(
            place.ask("another", "PreToolUse"),
            Ok(json!({})),
            "{index}: {what}"
        );
    }
}

#[test]
fn a_new_conversation_is_refused_where_the_run_of_its_client_cannot_be_read() {
    let place = Place::new();
    let run = place.guard("s");
    let environment = Environment {
        client: Some(process("the client")),
        configuration: Some(place.base.join("config/interlock")),
        ..place.environment()
    };
    fs::create_dir_all(place.base.join("config")).unwrap();
    assert_eq!(
        place.ask_with(&environment, "s", "PreToolUse"),
        Ok(json!({}))
    );
    let database = place.state().join("runs").join(run.as_str()).join("run.db");
    fs::write(database, "not a database").unwrap();
    let why = place
        .ask_with(&environment, "another", "PreToolUse")
        .unwrap_err();
    assert!(why.contains(run.as_str()), "{why}");
    let elsewhere = Environment {
        client: Some(process("another client")),
        ..environment.clone()
    };
    let free = place.ask_with(&elsewhere, "another", "PreToolUse");
    assert_eq!(free, Ok(json!({})));
    // The mark beside the state is sufficient if nothing else of the client's sessions is left.
    for kept in ["sessions", "presence"] {
        let _ = fs::remove_dir_all(place.state().join(kept));
    }
    let why = place
        .ask_with(&environment, "a third", "PreToolUse")
        .unwrap_err();
    assert!(why.contains(run.as_str()), "{why}");
    let free = place.ask_with(&elsewhere, "a third", "PreToolUse");
    assert_eq!(free, Ok(json!({})));
}

#[test]
fn a_run_is_not_taken_from_the_session_of_another_process() {
    let place = Place::new();
    let run = place.guard("s");
    let credential = Home::at(place.state()).make_credential(&run).unwrap();
    let started_for_it = |started: &str| Environment {
        client: Some(process(started)),
        variables: vec![("INTERLOCK_GUARD".into(), (&credential).into())],
        ..place.environment()
    };
    let begins = |started: &str, session: &str| {
        place.ask_with(&started_for_it(started), session, "UserPromptSubmit")
    };
    // From here on, the process of session `s` is known.
    place.ask("s", "UserPromptSubmit").unwrap();
    let why = begins("another process", "other").unwrap_err();
    assert!(why.contains(run.as_str()), "{why}");
    // The same client may start a new conversation.
    begins("s", "after a clear").unwrap();
}

#[test]
fn a_session_is_held_to_the_run_that_its_client_was_started_for_and_to_no_other() {
    let place = Place::new();
    let wanted = place.start();
    let credential = Home::at(place.state()).make_credential(&wanted).unwrap();
    let asks = |session: &str, event: &str, credential: &str| {
        let environment = Environment {
            client: Some(process(session)),
            variables: vec![("INTERLOCK_GUARD".into(), credential.into())],
            ..place.environment()
        };
        place.ask_with(&environment, session, event)
    };
    // Another run waits for the next session, but not for this one.
    let waits = place.start();
    let (home, project) = (Home::at(place.state()), place.project());
    let bindings = home.lock_bindings().unwrap();
    bindings.wait_for_next(&waits, &project, None).unwrap();
    drop(bindings);
    assert_eq!(asks("s", "PostToolUse", &credential), Ok(json!({})));
    assert_eq!(place.bound("s"), None, "nothing begins with a result");
    asks("s", "UserPromptSubmit", &credential).unwrap();
    assert_eq!(place.bound("s"), Some(wanted.clone()));
    // The binding stays, and a session of another open run is refused.
    asks("s", "PreToolUse", &credential).unwrap();
    assert_eq!(place.bound("s"), Some(wanted.clone()));
    let other = place.guard("other");
    let why = asks("other", "PreToolUse", &credential).unwrap_err();
    for run in [&other, &wanted] {
        assert!(why.contains(run.as_str()), "{why}");
    }
    assert_eq!(place.bound("other"), Some(other.clone()));
    // A credential that names no run lets nothing pass, bound or not, until the run has ended.
    for session in ["other", "new"] {
        let why = asks(session, "PreToolUse", "ilr_worthless").unwrap_err();
        assert!(why.contains("is over"), "{why}");
    }
    place.cancel(&other);
    assert!(asks("other", "PreToolUse", "ilr_worthless").is_ok());
    assert!(asks("new", "PreToolUse", "ilr_worthless").is_err());
}

#[test]
fn a_session_whose_run_has_ended_goes_over_to_the_one_its_client_was_started_for() {
    let place = Place::new();
    let ended = place.guard("s");
    place.cancel(&ended);
    let wanted = place.start();
    let credential = Home::at(place.state()).make_credential(&wanted).unwrap();
    let environment = Environment {
        client: Some(process("s")),
        variables: vec![("INTERLOCK_GUARD".into(), credential.into())],
        ..place.environment()
    };
    let begins = place.ask_with(&environment, "s", "UserPromptSubmit");
    begins.unwrap();
    assert_eq!(place.bound("s"), Some(wanted));
}

#[test]
fn a_session_stays_with_its_run_that_has_ended_while_no_other_run_waits() {
    let place = Place::new();
    let run = place.guard("s");
    let (home, project) = (Home::at(place.state()), place.project());
    let bindings = home.lock_bindings().unwrap();
    bindings.hold_every(&run, &project, None).unwrap();
    drop(bindings);
    place.ask("s", "UserPromptSubmit").unwrap();
    place.cancel(&run);
    place.ask("s", "UserPromptSubmit").unwrap();
    let key = SessionKey::new("claude-code", "s");
    let found = home.look_up(&key, &project).unwrap();
    let bound = matches!(&found, Lookup::Bound(binding) if binding.run == run);
    assert!(bound, "{found:?}");
}

#[test]
fn a_fork_whose_origin_is_not_known_is_held_by_the_open_run_of_a_session_of_its_client() {
    for (client, source, is_open, held) in [
        ("claude-code", "fork", true, true),
        ("claude-code", "startup", true, false),
        ("claude-code", "fork", false, false),
        ("codex", "fork", true, false),
    ] {
        let place = Place::new();
        let run = place.start();
        let binding = Binding {
            run: run.clone(),
            session: SessionKey::new(client, "original"),
            project_root: place.project(),
            process: Some(process("original")),
            at_ms: 1,
        };
        let home = Home::at(place.state());
        home.lock_bindings().unwrap().bind(binding, None).unwrap();
        if !is_open {
            place.cancel(&run);
        }
        let told = json!({
            "session_id": "copy", "cwd": place.project(), "hook_event_name": "SessionStart", "source": source,
        });
        let input = read(ClientId::ClaudeCode, told.to_string().as_bytes(), None).unwrap();
        let environment = Environment {
            client: Some(process("copy")),
            ..place.environment()
        };
        respond(&environment, &input).unwrap();
        let wanted = held.then_some(run);
        assert_eq!(place.bound("copy"), wanted, "{client} {source} {is_open}");
    }
}

#[test]
fn a_policy_that_cannot_be_read_lets_nothing_pass() {
    let rows = [
        ("workflow = ", "config.toml"),
        ("workflow = 5", "config.toml"),
        ("worklow = \"bugfix\"", "worklow"),
        ("workflow = \"nosuch\"", "nosuch"),
        ("workflow = \"broken\"", "states"),
    ];
    for (config, said) in rows {
        let place = Place::new();
        let own = place.project().join(".interlock");
        fs::create_dir_all(own.join("workflows")).unwrap();
        fs::write(own.join("config.toml"), config).unwrap();
        fs::write(own.join("workflows/broken.json"), r#"{"id": "w"}"#).unwrap();
        for event in ["PreToolUse", "UserPromptSubmit"] {
            let why = place.ask("s", event).unwrap_err();
            assert!(why.contains(said), "{config}: {why}");
        }
    }
}

#[test]
fn a_workflow_file_that_is_gone_changes_nothing() {
    let place = Place::new();
    place.guard("s");
    // The workflow was never in the project: the run has its own copy.
    assert_eq!(place.ask("s", "PreToolUse"), Ok(json!({})));
}

#[test]
fn a_hook_that_cannot_be_answered_is_a_denial() {
    let asked = |client: &str, read: fn() -> std::io::Result<Vec<u8>>| {
        hook::answer(client, &[], read, |late| unreachable!("{late:?}"))
    };
    for (answer, said) in [
        (
            asked("claude-code", || Err(std::io::Error::other("gone"))),
            "cannot be read: gone",
        ),
        (asked("claude-code", || Ok(b"{".to_vec())), "not JSON"),
        (
            asked("claude-code", || unreachable!("a mistake")),
            "an error in Interlock itself",
        ),
        (asked("nobody", || Ok(Vec::new())), "no client `nobody`"),
    ] {
        assert_eq!((answer.exit, answer.stdout.as_str()), (2, ""), "{said}");
        assert!(answer.stderr.contains(said), "{}", answer.stderr);
        assert!(answer.decides);
    }
}

#[test]
fn a_hook_without_a_verdict_in_time_is_answered_by_a_denial() {
    let (tell, told) = mpsc::channel();
    let (keep, kept) = mpsc::channel();
    // The input arrives after the deadline.
    let read = move || {
        let late: HookAnswer = told
            .recv_timeout(Duration::from_secs(60))
            .map_err(std::io::Error::other)?;
        keep.send(late).map_err(std::io::Error::other)?;
        Ok(Vec::new())
    };
    let answer = hook::answer("claude-code", &[], read, move |late| {
        drop(tell.send(late));
    });
    let late = kept.recv().unwrap();
    assert!(late.stderr.contains("no verdict within"), "{late:?}");
    for answer in [late, answer] {
        assert_eq!((answer.exit, answer.stdout.as_str()), (2, ""));
        assert!(answer.decides);
    }
}

#[test]
fn a_failure_always_stops_but_for_an_agent_that_would_never_end() {
    let rows: [(&str, bool); 7] = [
        ("", true),
        ("{", true),
        (r#"{"hook_event_name": "PreToolUse"}"#, true),
        (r#"{"hook_event_name": "PostToolUse"}"#, true),
        (
            r#"{"hook_event_name": "Stop", "stop_hook_active": false}"#,
            true,
        ),
        (
            r#"{"hook_event_name": "Stop", "stop_hook_active": true}"#,
            false,
        ),
        (
            r#"{"hook_event_name": "PreToolUse", "stop_hook_active": true}"#,
            true,
        ),
    ];
    for (stdin, stops) in rows {
        assert_eq!(
            failure_stops(ClientId::ClaudeCode, stdin.as_bytes(), None),
            stops,
            "{stdin}"
        );
    }
}

#[test]
fn malformed_input_is_refused() {
    let texts = [
        "",
        "null",
        "[]",
        "not JSON",
        "{} {}",
        r#"{"session_id": "a", "session_id": "b", "cwd": "/", "hook_event_name": "Stop"}"#,
        r#"{"session_id": "a", "cwd": "/", "hook_event_name": "Stop", "hook_event_name": "Other"}"#,
    ];
    for text in texts {
        assert!(
            read(ClientId::ClaudeCode, text.as_bytes(), None).is_err(),
            "{text}"
        );
    }
    let deep = "[".repeat(100_000);
    assert!(read(ClientId::ClaudeCode, deep.as_bytes(), None).is_err());
}

#[test]
fn no_key_that_decides_may_stand_twice() {
    let keys: [(ClientId, &[&str]); 6] = [
        (
            ClientId::ClaudeCode,
            &["session_id", "agent_id", "cwd", "tool_name"],
        ),
        (
            ClientId::Codex,
            &["session_id", "agent_id", "cwd", "tool_name"],
        ),
        (ClientId::Gemini, &["session_id", "cwd", "tool_name"]),
        (
            ClientId::Copilot,
            &[
                "sessionId",
                "agentId",
                "agent_id",
                "parent_agent_id",
                "toolName",
            ],
        ),
        (ClientId::Cursor, &["conversation_id", "subagent_id"]),
        (ClientId::Opencode, &["session", "parent", "tool"]),
    ];
    for (client, keys) in keys {
        for key in keys {
            // Also after another duplicate key that is harmless.
            for before in ["", r#""x": 1, "x": 2, "#] {
                let text = format!(r#"{{{before}"{key}": "a", "{key}": "b"}}"#);
                let why = read(client, text.as_bytes(), Some("preToolUse")).unwrap_err();
                assert!(
                    why.contains(key) && why.contains("twice"),
                    "{client:?} {key}: {why}"
                );
            }
        }
    }
}
