//! Workflows that list more than a client has, in `check --client`, `start`, `status` and the briefing.

use std::fs;

use interlock_testkit::interlock::Interlock;
use interlock_testkit::room::Room;
use interlock_testkit::shipped::SHIPPED;
use serde_json::json;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const FLOW: &str = "id: flow
initial: planning
guards:
  looked: {evidence: {tool: Read, path: a.txt}}
  tested: {any: [{evidence: {tool: Read}}, {evidence: {command: sh check.sh}}]}
states:
  planning:
    allowed_tools: [Read, Grep]
    on: {READY: {target: testing, guard: looked}}
  testing:
    allowed_tools: [Read, Grep, Edit, Bash, mcp__docs__find]
    allowed_commands: [sh check.sh]
    on: {DONE: {target: done, guard: tested}}
  done: {type: final}
";
const CLIENTS: [&str; 5] = ["claude-code", "codex", "gemini", "copilot", "opencode"];

fn room() -> Room {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    room
}

fn said(room: &Room, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Interlock::new(INTERLOCK, room).run(arguments).unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn check_says_what_a_client_does_not_have() {
    let room = room();
    let (code, text) = said(&room, &["check", "--client", "codex", "flow.yaml"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("`planning` lists nothing that Codex has"),
        "{text}"
    );
    assert!(
        text.contains("guard `looked` can never hold in Codex"),
        "{text}"
    );
    assert!(
        !text.contains("`testing`") && !text.contains("`tested`"),
        "{text}"
    );
    let (_, text) = said(&room, &["check", "--client", "claude-code", "flow.yaml"]);
    assert!(!text.contains("note:"), "{text}");
    let (_, text) = said(&room, &["check", "--client", "cursor", "flow.yaml"]);
    assert!(!text.contains("`looked`"), "{text}");
    let (code, text) = said(&room, &["check", "--client", "codexx", "flow.yaml"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("`codex`"), "{text}");
}

#[test]
fn every_client_has_what_the_shipped_workflows_list() {
    let room = room();
    for client in CLIENTS {
        for workflow in SHIPPED {
            let (code, text) = said(
                &room,
                &["check", "--deny-warnings", "--client", client, workflow],
            );
            assert_eq!(code, Some(0), "{workflow} in {client}: {text}");
        }
    }
}

#[test]
fn a_run_that_starts_says_what_the_client_here_does_not_have() {
    let room = room();
    fs::create_dir_all(room.home().join(".codex")).unwrap();
    Interlock::new(INTERLOCK, &room).init().unwrap();
    let (code, text) = said(&room, &["start", "flow.yaml"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("`planning` lists nothing that Codex has"),
        "{text}"
    );
}

#[test]
fn doctor_says_what_a_client_lacks_for_the_projects_policy() {
    let room = room();
    fs::create_dir_all(room.home().join(".codex")).unwrap();
    Interlock::new(INTERLOCK, &room).init().unwrap();
    let lacking = "`planning` lists nothing that Codex has";
    let (_, text) = said(&room, &["doctor"]);
    assert!(!text.contains(lacking), "{text}");
    room.write(".interlock/config.toml", "workflow = \"./flow.yaml\"\n")
        .unwrap();
    let (_, text) = said(&room, &["doctor"]);
    assert!(text.contains(lacking), "{text}");
    let (_, text) = said(&room, &["doctor", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&text).unwrap();
    let checks = said["checks"].as_array().unwrap();
    let told = checks.iter().find(|check| {
        check["seen"]
            .as_str()
            .is_some_and(|seen| seen.contains(lacking))
    });
    let told = told.unwrap_or_else(|| panic!("{text}"));
    assert_eq!(
        (&told["of"], &told["health"]),
        (&json!("codex"), &json!("warn"))
    );
}

#[test]
fn the_agent_is_told_of_tools_by_the_names_its_client_has() {
    // A room for each: the hook's client is this very process, below which no second run may be started.
    let told = |client: &str, event: &str| {
        let room = room();
        let interlock = Interlock::new(INTERLOCK, &room);
        let session = format!("s-{client}");
        let run = interlock.start_for_session("flow.yaml", &session).unwrap();
        let input = json!({
            "session_id": session, "cwd": room.project(), "hook_event_name": event,
            "prompt": "go", "permission_mode": "default",
        });
        let hook = interlock.hook_of(client, None, &input, &[]).unwrap();
        let output = hook.wait_with_output().unwrap();
        let (_, status) = said(&room, &["status", &run]);
        (String::from_utf8(output.stdout).unwrap(), status)
    };
    let (codex, _) = told("codex", "UserPromptSubmit");
    assert!(codex.contains("Tools: none."), "{codex}");
    let (gemini, _) = told("gemini", "BeforeAgent");
    assert!(
        gemini.contains("Tools: read_file, grep_search."),
        "{gemini}"
    );
    let (claude, status) = told("claude-code", "UserPromptSubmit");
    assert!(claude.contains("Tools: Read."), "{claude}");
    assert!(status.contains("ToolSearch"), "{status}");
    assert!(
        status.contains("which only manage the conversation"),
        "{status}"
    );
}
