//! Two hooks that report one call at the same moment.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    thread,
};

use interlock_clients::{ClientId, hook::respond, read};
use interlock_core::machine::Object;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_project::Environment;
use interlock_store::{Binding, ClientProcess, Durability, Home, NewRun, SessionKey, SourceFile};
use serde_json::{Value, json};

/// Number of rounds in which both report at once.
const ROUNDS: usize = 4;
/// Maximum number of checks whether both wait.
const LOOKS: usize = 20_000;

/// Allows one call and no more.
const WORKFLOW: &str = r#"{"id": "w", "initial": "a", "states": {
    "a": {"allowed_tools": ["Read"], "max_iterations": 1, "on": {"GO": "b"}}, "b": {"type": "final"}}}"#;

/// Settings of Claude Code, whose hooks Copilot runs in addition to its own.
const SETTINGS: &str = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"interlock hook claude-code"}]}]}}"#;

/// Returns a home with a run that guards the session `s1` of a project.
fn guarded(base: &Path) -> Environment {
    let project = base.join("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join(".claude")).unwrap();
    fs::write(project.join(".claude/settings.json"), SETTINGS).unwrap();
    fs::write(project.join("a.txt"), "a\n").unwrap();
    let source = Source::new("w.json", WORKFLOW);
    let loaded = load(&source, None, &NoWorkflows).unwrap();
    let home = Home::at(base.join("state"));
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
    let binding = Binding {
        run: started.log.run().clone(),
        session: SessionKey::of_any_client("s1"),
        project_root: project,
        process: None,
        at_ms: 1,
    };
    home.lock_bindings().unwrap().bind(binding, None).unwrap();
    Environment {
        at_ms: 1,
        client: Some(ClientProcess {
            pid: u32::MAX,
            started: "s1".to_owned(),
        }),
        ..Environment::at(home)
    }
}

/// Returns how many times this process has the same lock below `base` open, if the system reports it.
fn holders(base: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let mut locks: HashMap<PathBuf, usize> = HashMap::new();
    for path in open.filter_map(|entry| fs::read_link(entry.path()).ok()) {
        if path.starts_with(base) && path.to_string_lossy().ends_with("lock") {
            *locks.entry(path).or_default() += 1;
        }
    }
    locks.into_values().max().unwrap_or_default()
}

#[test]
fn a_call_that_two_hooks_tell_of_at_once_counts_once() {
    for round in 0..ROUNDS {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        let environment = guarded(&base);
        let project = base.join("project");
        let own = json!({"sessionId": "s1", "cwd": project, "timestamp": 1, "toolName": "view", "toolArgs": {"path": "a.txt"}});
        let other = json!({"session_id": "s1", "cwd": project, "hook_event_name": "PreToolUse",
            "timestamp": "2026-11-22T08:34:23.140Z", "tool_name": "Read", "tool_input": {"path": "a.txt"}});
        let tell = |client: ClientId, told: &Value, event: Option<&str>| {
            let input = read(client, told.to_string().as_bytes(), event).unwrap();
            respond(&environment, &input)
        };
        let answers = thread::scope(|scope| {
            // Both read the run before either is judged, if the system reports who waits for a lock.
            let session = SessionKey::of_any_client("s1");
            let turn = environment.home.lock_duplicate_calls(&session).unwrap();
            let one = scope.spawn(|| tell(ClientId::Copilot, &own, Some("preToolUse")));
            let two = scope.spawn(|| tell(ClientId::ClaudeCode, &other, None));
            let _both = (0..LOOKS).find(|_| {
                thread::yield_now();
                holders(&base) == 3
            });
            drop(turn);
            [one.join().unwrap(), two.join().unwrap()]
        });
        // If the call counted twice, it would exceed the limit.
        for answer in answers {
            assert_eq!(answer.unwrap(), json!({}), "round {round}");
        }
    }
}
