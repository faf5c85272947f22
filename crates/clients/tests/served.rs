//! Calls of tools that a gateway serves, including its own: they are judged, and passed on with a note of the verdict.

use std::{fs, path::PathBuf};

use interlock_clients::{ClientId, hook::respond, process::client_above, read};
use interlock_core::{call::ControlTool, machine::Object, names::RunId};
use interlock_facts::control_digest;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_project::Environment;
use interlock_store::{
    Binding, ClientProcess, Durability, EventLog as _, GatewayCard, Home, NewRun, Note, NotedTool,
    ServedTool, SessionKey, SourceFile,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const LISTS: &str = r#"{"id": "w", "initial": "a", "states": {
    "a": {"allowed_tools": ["look", "mcp__web__keep"], "on": {"GO": "b"}}, "b": {"type": "final"}}}"#;
const ASKS: &str = r#"{"id": "w", "initial": "a", "states": {
    "a": {"allowed_tools": ["other"], "on_denied": "ask", "on": {"GO": "b"}}, "b": {"type": "final"}}}"#;

struct World {
    room: TempDir,
    home: Home,
    run: RunId,
}

impl World {
    /// Starts a run of the workflow that guards the session `s`.
    fn new(workflow: &str) -> Self {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        let project = base.join("project");
        fs::create_dir_all(project.join(".interlock")).unwrap();
        let home = Home::at(base.join("state"));
        let loaded = load(&Source::new("w.json", workflow), None, &NoWorkflows).unwrap();
        let new = NewRun {
            machine: &loaded.machine,
            source: &SourceFile {
                name: "w.json".to_owned(),
                text: workflow.to_owned(),
            },
            project_root: &project,
            name: None,
            durability: Durability::Process,
            at_ms: 1,
        };
        let started = home.start_run(&new, Object::new(), "ana").unwrap();
        let binding = Binding {
            run: started.log.run().clone(),
            session: SessionKey::new("claude-code", "s"),
            project_root: project,
            process: None,
            at_ms: 1,
        };
        let run = binding.run.clone();
        home.lock_bindings().unwrap().bind(binding, None).unwrap();
        Self { room, home, run }
    }

    fn project(&self) -> PathBuf {
        self.room.path().canonicalize().unwrap().join("project")
    }

    /// Returns the answer of the session's hook to an event.
    fn hook(&self, event: &str, more: &Value, attended: bool) -> Value {
        let mut told = json!({
            "session_id": "s", "cwd": self.project(), "permission_mode": "default", "hook_event_name": event,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            told[key] = value.clone();
        }
        let input = read(ClientId::ClaudeCode, told.to_string().as_bytes(), None).unwrap();
        let attended = if attended { "1" } else { "0" };
        let environment = Environment {
            at_ms: 2,
            client: Some(ClientProcess {
                pid: u32::MAX,
                started: "s".to_owned(),
            }),
            variables: vec![("CLAUDE_CODE_SESSION_ATTENDED".into(), attended.into())],
            ..Environment::at(self.home.clone())
        };
        respond(&environment, &input).unwrap()
    }

    /// Proposes a call of the gateway's tool; returns whether it is denied, asked about or left alone, and why.
    fn proposes(&self, tool: &str, arguments: &Value, attended: bool) -> (String, String) {
        let call = json!({"tool_name": tool, "tool_use_id": "t1", "tool_input": arguments});
        let answer = self.hook("PreToolUse", &call, attended);
        let said = answer
            .get("hookSpecificOutput")
            .cloned()
            .unwrap_or_default();
        let text = |key: &str| {
            let text = said.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        (text("permissionDecision"), text("permissionDecisionReason"))
    }

    /// Returns for each open call whether it may write a file.
    fn writes(&self) -> Vec<bool> {
        let run = self.home.open_run(&self.run).unwrap().load().unwrap();
        let calls = run.calls.iter();
        calls.map(|call| !call.marks.files.is_empty()).collect()
    }

    /// Lists the sessions with a question in their client's prompt.
    fn asked_in(&self) -> Vec<String> {
        let run = self.home.open_run(&self.run).unwrap().load().unwrap();
        let prompts = run.requests.iter().filter_map(|one| one.prompt.as_ref());
        prompts.map(|prompt| prompt.session.clone()).collect()
    }

    /// Takes the notes left for a call, oldest first.
    fn notes(&self, tool: &str, arguments: &Value) -> Vec<Note> {
        let digest = control_digest(arguments);
        let tool = NotedTool::served(tool);
        let take = || {
            let taken = self.home.take_note(tool.clone(), &digest, 2, |_| true);
            taken.unwrap()
        };
        std::iter::from_fn(take).collect()
    }
}

const SHIPS: &str = r#"{"id": "w", "initial": "a", "states": {
    "a": {"on": {"SHIP": {"target": "b", "requires_approval": true, "approval_message": "Ship it?"}}}, "b": {"type": "final"}}}"#;

#[test]
fn the_question_that_a_person_is_asked_goes_with_the_note_of_the_call() {
    let ship = json!({"event": "SHIP"});
    for (attended, word) in [(true, "ask"), (false, "allow")] {
        let world = World::new(SHIPS);
        let transition = "mcp__interlock__interlock_transition";
        let (decision, why) = world.proposes(transition, &ship, attended);
        assert_eq!(decision, word, "{why}");
        let digest = control_digest(&ship);
        let taken = world
            .home
            .take_note(ControlTool::Transition, &digest, 2, |_| true);
        let note = taken.unwrap().unwrap();
        assert_eq!(note.question.is_some(), attended);
        assert_eq!((note.asked, note.unattended), (attended, !attended));
        assert_eq!(note.run.as_ref(), Some(&world.run));
        assert_eq!(note.call, Some("t1".into()));
        assert!(note.process.is_some());
    }
}

#[test]
fn a_question_in_a_prompt_is_over_once_the_client_goes_on_without_a_yes() {
    let another =
        json!({"tool_name": "Read", "tool_use_id": "t2", "tool_input": {"file_path": "/x"}});
    let nothing = json!({});
    let said = json!({"prompt": "no"});
    for (event, more, is_over) in [
        ("PreCompact", &nothing, false),
        ("PreToolUse", &another, true),
        ("UserPromptSubmit", &said, true),
        ("Stop", &nothing, true),
        ("SessionEnd", &nothing, true),
    ] {
        let world = World::new(SHIPS);
        let transition = "mcp__interlock__interlock_transition";
        world.proposes(transition, &json!({"event": "SHIP"}), true);
        assert_eq!(world.asked_in(), ["s"]);
        world.hook(event, more, true);
        assert_eq!(world.asked_in().is_empty(), is_over, "{event}");
    }
}

/// Returns the manifest of a gateway that serves `tool` of the server `web` below these processes, or to a run.
fn card(tool: &str, above: Vec<ClientProcess>, run: Option<RunId>) -> GatewayCard {
    GatewayCard {
        above,
        run,
        tools: vec![ServedTool {
            shown: tool.to_owned(),
            server: "web".to_owned(),
            tool: tool.to_owned(),
            read_only: false,
        }],
    }
}

fn below_this_client() -> Vec<ClientProcess> {
    vec![client_above().unwrap()]
}

#[test]
fn a_served_call_has_all_names_of_its_tool_and_its_verdict_is_noted_once() {
    let nothing = json!({});
    for (shown, passes) in [("look", true), ("keep", true), ("drop", false)] {
        let world = World::new(LISTS);
        let name = format!("mcp__interlock__{shown}");
        let of_client = card(shown, below_this_client(), None);
        let _one = world.home.keep_card(&of_client, |_| true).unwrap();
        let _two = world.home.keep_card(&of_client, |_| true).unwrap();
        let (decision, why) = world.proposes(&name, &nothing, true);
        assert_eq!(decision.is_empty(), passes, "{shown}: {why}");
        let notes = world.notes(shown, &nothing);
        assert_eq!(notes.len(), usize::from(passes), "{notes:?}");
        for note in notes {
            assert_eq!(note.run.as_ref(), Some(&world.run));
            assert_eq!(note.judged, Some("t1".into()));
            assert!(!note.asked);
        }
    }
}

#[test]
fn a_card_is_for_the_client_above_its_gateway_or_for_its_run() {
    let other = ClientProcess {
        pid: 1,
        started: "another".to_owned(),
    };
    let of = |run: &RunId| Some(run.clone());
    let elsewhere = RunId::new("another");
    for (above, of_own_run, counts) in [
        (below_this_client(), None, true),
        (vec![other.clone()], None, false),
        (vec![other.clone()], Some(false), false),
        (Vec::new(), Some(true), true),
    ] {
        let world = World::new(LISTS);
        let run = of_own_run.map(|own| if own { &world.run } else { &elsewhere });
        let card = card("keep", above, run.and_then(of));
        let _kept = world.home.keep_card(&card, |_| true).unwrap();
        let (decision, _) = world.proposes("mcp__interlock__keep", &json!({}), true);
        assert_eq!(decision.is_empty(), counts, "{card:?}");
        assert_eq!(world.notes("keep", &json!({})).len(), usize::from(counts));
    }
    // A tool whose name only ends like it is another tool, and so is one without a server.
    let world = World::new(LISTS);
    let card = card("keep", below_this_client(), None);
    let _kept = world.home.keep_card(&card, |_| true).unwrap();
    for name in ["mcp__interlock__upkeep", "keep"] {
        let (decision, _) = world.proposes(name, &json!({}), true);
        assert_eq!(decision, "deny", "{name}");
        assert_eq!(world.notes("keep", &json!({})), []);
    }
}

#[test]
fn what_a_person_is_asked_about_is_noted_as_asked_where_one_is_there() {
    for attended in [true, false] {
        let world = World::new(ASKS);
        let card = card("look", below_this_client(), None);
        let _kept = world.home.keep_card(&card, |_| true).unwrap();
        let (decision, why) = world.proposes("mcp__interlock__look", &json!({}), attended);
        assert_eq!(decision, if attended { "ask" } else { "deny" }, "{why}");
        let notes = world.notes("look", &json!({}));
        let asked: Vec<bool> = notes.iter().map(|note| note.asked).collect();
        assert_eq!(asked, if attended { vec![true] } else { Vec::new() });
        // The run records in whose prompt the question is.
        assert_eq!(
            world.asked_in(),
            if attended { vec!["s"] } else { Vec::new() }
        );
    }
}

#[test]
fn what_a_tool_does_with_files_is_what_the_project_says_of_it() {
    let writes = "[mcp.web]\ncommand = \"x\"\n[mcp.web.tools.look]\nwrites = [\"where\"]\n";
    let of_other = writes.replace("mcp.web", "mcp.other");
    for (config, wrote) in [("", false), (writes, true), (&of_other, false)] {
        let world = World::new(LISTS);
        fs::write(world.project().join(".interlock/config.toml"), config).unwrap();
        let card = card("look", below_this_client(), None);
        let _kept = world.home.keep_card(&card, |_| true).unwrap();
        world.proposes("mcp__interlock__look", &json!({"where": "a.txt"}), true);
        assert_eq!(world.writes(), [wrote], "{config}");
    }
}

#[test]
fn a_server_that_says_its_tool_only_reads_is_believed_of_what_its_name_would_say() {
    for read_only in [false, true] {
        let world = World::new(&LISTS.replace("look", "update_page"));
        let mut card = card("update_page", below_this_client(), None);
        for tool in &mut card.tools {
            tool.read_only = read_only;
        }
        let _kept = world.home.keep_card(&card, |_| true).unwrap();
        world.proposes(
            "mcp__interlock__update_page",
            &json!({"path": "a.txt"}),
            true,
        );
        assert_eq!(world.writes(), [!read_only]);
    }
}
