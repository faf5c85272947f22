use std::fs;

use interlock_core::{
    command::{Command, TransitionRequest},
    machine::Object,
};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_store::{
    Binding, ClientProcess, Durability, EventLog as _, Home, NewRun, SessionKey, SourceFile, submit,
};

use super::*;
use crate::{ClientId, input::Event};

const WORKFLOW: &str = r#"{"id": "w", "initial": "look", "states": {
    "look": {"allowed_tools": ["Read", "Bash"], "on": {"FREE": "free"}},
    "free": {"on": {"END": "end"}},
    "end": {"type": "final"}}}"#;

/// Judges `ls -la` for a hook that read the run in `look`; where it is `moved`, that is left meanwhile.
fn judged_while(moved: bool) -> Result<Answer, String> {
    let room = tempfile::tempdir().unwrap();
    let base = room.path().canonicalize().unwrap();
    let project = base.join("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    let environment = Environment {
        program: Some("/opt/interlock".into()),
        client: Some(ClientProcess {
            pid: u32::MAX,
            started: "s".to_owned(),
        }),
        at_ms: 1,
        ..Environment::at(Home::at(base.join("state")))
    };
    let source = Source::new("w.json", WORKFLOW);
    let loaded = load(&source, None, &NoWorkflows).unwrap();
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
    let started = environment
        .home
        .start_run(&new, Object::new(), "ana")
        .unwrap();
    let binding = Binding {
        run: started.log.run().clone(),
        session: SessionKey::new("claude-code", "s"),
        project_root: project.clone(),
        process: None,
        at_ms: 1,
    };
    let mut guarded = Guarded::open(&environment, binding).unwrap();
    if moved {
        let mut log = environment.home.open_run(guarded.id()).unwrap();
        let mut run = log.load().unwrap();
        let request = TransitionRequest {
            event: "FREE".to_owned(),
            data: Object::new(),
            branch: None,
            agent: None,
            by: "agent".to_owned(),
            approved_by: None,
        };
        let command = Command {
            at_ms: 2,
            ask: Ask::Transition(request),
        };
        let told = submit(&mut log, &loaded.machine, &mut run, &command).unwrap();
        assert_eq!(told.reply, Reply::Accepted);
    }
    let told = json!({
        "session_id": "s", "cwd": project, "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": "ls -la"},
    });
    let input = crate::read(ClientId::ClaudeCode, told.to_string().as_bytes(), None)?;
    let Event::BeforeTool(used) = &input.event else {
        return Err(format!("{:?}", input.event));
    };
    before_line(&environment, &mut guarded, &input, used)
}

#[test]
fn a_line_is_held_as_the_state_wants_that_it_counts_in() {
    let answer = judged_while(false).unwrap();
    assert!(
        matches!(answer.say, Say::Rewrite { .. }),
        "{:?}",
        answer.say
    );
    let why = judged_while(true).map(|answer| answer.say).unwrap_err();
    assert!(why.contains("the run moved"), "{why}");
}
