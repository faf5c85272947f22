//! Steps that guard their agent with a native workflow, with stand-ins for the agent.

use std::{
    fs,
    process::{Output, Stdio},
};

use interlock_testkit::{interlock::Interlock, mcp::stdio::Client, room::Room};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const GUARD: &str = "id: fix
initial: looking
states:
  looking: {allowed_tools: [Read], on: {DONE: done}}
  done: {type: final}
";

const FLOW: &str = "start-at: work
states:
  work:
    tool: claude
    arguments: {prompt: work, guard: fix}
    output: var(said)
";

/// Returns a room whose `claude` is a script.
fn room(script: &str) -> Room {
    let room = Room::new().unwrap();
    room.script("bin/claude", script).unwrap();
    room.write(".interlock/workflows/fix.yaml", GUARD).unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    room
}

fn run(room: &Room, flow: &str) -> Output {
    let mut command = room.command(INTERLOCK);
    let command = command.args(["run", flow]);
    command.stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns every run of the workflow that guards agents.
fn held(room: &Room) -> Vec<Value> {
    let listed = Interlock::new(INTERLOCK, room)
        .run(&["list", "--all", "--json"])
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let runs = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    runs.filter(|run| run["workflow"] == "fix").collect()
}

/// A client that asks its hooks before a tool, as Claude Code does, and prints their answers.
const ASKING: &str = r#"settings=
for word in "$@"; do
  if [ "$take" ]; then settings=$word; take=; fi
  if [ "$word" = --settings ]; then take=1; fi
done
line=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["hooks"]["PreToolUse"][0]["hooks"][0]["command"])' "$settings")
ask() {
  printf '{"session_id":"%s","cwd":"%s","hook_event_name":"PreToolUse","permission_mode":"default","tool_name":"%s","tool_use_id":"%s","tool_input":{"file_path":"%s/a.txt","content":"x"}}' \
    "$1" "$PWD" "$2" "$1$2" "$PWD" | sh -c "$line"
}
"#;

#[test]
fn an_agent_whose_hooks_ask_nothing_has_failed() {
    let room = room("echo worked");
    let output = run(&room, "flow.yaml");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("the hooks of `claude` asked nothing"),
        "{}",
        said(&output)
    );
    assert_eq!(held(&room)[0]["status"], "cancelled");
}

#[test]
fn hooks_that_are_switched_off_refuse_the_start() {
    let room = room("touch started");
    room.write(".claude/settings.json", "{\"disableAllHooks\": true}")
        .unwrap();
    let output = run(&room, "flow.yaml");
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    assert!(
        said.contains("the hooks of `claude` cannot be activated"),
        "{said}"
    );
    assert!(said.contains("`disableAllHooks` is set in"), "{said}");
    assert!(room.read("started").is_none(), "the agent was started");
    assert!(held(&room).is_empty());
}

#[test]
fn the_session_that_was_started_is_held_and_no_other() {
    let script = format!(
        "{ASKING} ask s1 Write >> answers; ask s1 Read >> answers; ask s2 Read >> answers 2>&1; echo $? >> answers"
    );
    let room = room(&script);
    let output = run(&room, "flow.yaml");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("stood in `looking` when the agent ended"),
        "{}",
        said(&output)
    );
    let answers = room.read("answers").unwrap();
    let lines: Vec<&str> = answers.lines().collect();
    assert!(lines[0].contains("tool_not_allowed"), "{answers}");
    assert!(!lines[1].contains("deny"), "{answers}");
    // The script is one process; a second session of the same client takes the run over.
    assert!(!lines[2].contains("deny"), "{answers}");
    // Once the step is over, nobody is guarded by its run any more.
    let run = held(&room)[0]["run"].as_str().unwrap().to_owned();
    let status = Interlock::new(INTERLOCK, &room).status(&run).unwrap();
    assert_eq!(
        (&status["session"], &status["status"]),
        (&Value::Null, &Value::from("cancelled"))
    );
}

#[test]
fn a_client_that_the_agent_starts_is_refused() {
    let script = format!("{ASKING} export line; ask s1 Read >> answers; nested");
    let room = room(&script);
    let functions = ASKING.split("ask() {").nth(1).unwrap();
    let nested =
        format!("ask() {{{functions} ask s2 Read >> answers 2>&1; echo \"code $?\" >> answers");
    room.script("bin/nested", &nested).unwrap();
    run(&room, "flow.yaml");
    let answers = room.read("answers").unwrap();
    assert!(answers.contains("guards session `s1` already"), "{answers}");
    assert!(answers.ends_with("code 2\n"), "{answers}");
}

#[test]
fn an_agent_of_a_step_that_is_over_may_do_nothing() {
    let room = room("env > variables");
    run(&room, "flow.yaml");
    // A process that it left behind asks once more, with its original environment.
    let variables = room.read("variables").unwrap();
    let credential = variables
        .lines()
        .find_map(|line| line.strip_prefix("INTERLOCK_GUARD="))
        .unwrap();
    let input = format!(
        r#"{{"session_id":"s9","cwd":"{}","hook_event_name":"PreToolUse","permission_mode":"default","tool_name":"Read","tool_use_id":"t","tool_input":{{"file_path":"/x"}}}}"#,
        room.project().display()
    );
    fs::write(room.path("input"), input).unwrap();
    let mut hook = room.command(INTERLOCK);
    hook.args(["hook", "claude-code"])
        .env("INTERLOCK_GUARD", credential);
    hook.stdin(fs::File::open(room.path("input")).unwrap());
    let output = hook.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let over = "the step that this agent was started by is over";
    assert!(said(&output).contains(over), "{}", said(&output));
    // So does a gateway that its client starts.
    let mut gateway = room.command(INTERLOCK);
    gateway.arg("gateway").env("INTERLOCK_GUARD", credential);
    let (mut client, _) = Client::open(gateway, "2025-11-25", &json!({})).unwrap();
    let call = json!({"name": "interlock_get_state", "arguments": {}});
    let answer = client.request("tools/call", &call).unwrap();
    assert!(answer.to_string().contains(over), "{answer}");
}

#[test]
fn the_workflow_that_was_there_at_the_start_holds() {
    let flow = "start-at: change
cwd: \"@/\"
states:
  change: {tool: bash, arguments: {command: rm .interlock/workflows/fix.yaml}, next: work}
  work:
    tool: claude
    arguments: {prompt: work, guard: fix}
    output: var(said)
";
    let room = room("echo worked");
    room.write("two.yaml", flow).unwrap();
    let output = run(&room, "two.yaml");
    assert!(
        said(&output).contains("nobody was guarded by `fix`"),
        "{}",
        said(&output)
    );
    assert_eq!(held(&room).len(), 1);
}
