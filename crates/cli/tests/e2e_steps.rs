//! Steps that guard the real clients with a native workflow, each with a scripted model.
//!
//! The project has no hooks of Interlock: the guard is part of how the client is started.

use std::{fs, path::Path};

use interlock_testkit::{
    claude::Version,
    client::{Client, Outcome, Session, Tools},
    interlock::Interlock,
    programs,
    proposal::{Proposal, Script},
    provider,
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const GUARD: &str = "id: fix
initial: looking
states:
  looking:
    allowed_tools: [Read, Bash]
    allowed_commands: [cat]
    on: {READY: writing, GIVE_UP: failed}
  writing:
    allowed_tools: [Read, Bash]
    allowed_commands: [cat, ls]
    on: {DONE: done}
  done: {type: final}
  failed: {type: final}
";

fn flow(client: Client) -> String {
    let (tool, more) = match client {
        Client::ClaudeCode(_) => ("claude", ", allowed-tools: [Read, Bash]"),
        Client::Codex(_) => ("codex", ""),
        _ => ("gemini", ""),
    };
    format!(
        "start-at: work
states:
  work:
    tool: {tool}
    arguments: {{prompt: Do the scripted thing., guard: fix{more}}}
    output: var(said)
    on-error: {{1: tell}}
  tell:
    tool: bash
    arguments: {{command: 'echo \"handled: {{{{ error.message }}}}\"', shell-safe: true}}
"
    )
}

fn transition(event: &str) -> Proposal {
    Proposal::tool("interlock", "interlock_transition", json!({"event": event}))
}

fn room(client: Client) -> Room {
    let room = Room::new().unwrap();
    let stub = programs::built("interlock-testkit", "mcp-stub", INTERLOCK).unwrap();
    client.install(&room, &stub).unwrap();
    if client == Client::Gemini {
        // Otherwise it does not offer tools that a person would have to approve.
        let path = room.home().join(".gemini/settings.json");
        let mut settings: Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        settings["tools"] = json!({"allowed": ["run_shell_command"]});
        fs::write(path, settings.to_string()).unwrap();
    }
    room.write("a.txt", "one\n").unwrap();
    room.write(".interlock/workflows/fix.yaml", GUARD).unwrap();
    room.write("flow.yaml", &flow(client)).unwrap();
    room
}

/// Runs the workflow while the model makes these proposals.
fn played(room: &Room, client: Client, proposals: Vec<Proposal>) -> Outcome {
    let mut command = room.command(INTERLOCK);
    command.args(["run", "./flow.yaml"]);
    let session = Session::new(client, room, Script::calls(proposals));
    session.below(command).unwrap()
}

/// Returns every run of the workflow that guards agents.
fn runs_of_guard(room: &Room) -> Vec<Value> {
    let interlock = Interlock::new(INTERLOCK, room);
    let listed = interlock.run(&["list", "--all", "--json"]).unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let runs = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    runs.filter(|run| run["workflow"] == "fix" && run["run"].is_string())
        .collect()
}

/// Returns the events of the run that guarded the agent.
fn held(room: &Room) -> Vec<Value> {
    let run = runs_of_guard(room).remove(0);
    let interlock = Interlock::new(INTERLOCK, room);
    interlock.events(run["run"].as_str().unwrap()).unwrap()
}

fn verdicts(events: &[Value]) -> Vec<String> {
    let word = |event: &Value| match event["event"].as_str()? {
        "CallAllowed" if event["source"] == "control" => None,
        "CallAllowed" => Some("allowed".to_owned()),
        "CallDenied" => event["refusal"]["code"].as_str().map(str::to_owned),
        "TransitionTaken" => event["to"].as_str().map(|state| format!("to {state}")),
        "RunCancelled" => Some("cancelled".to_owned()),
        _ => None,
    };
    events.iter().filter_map(word).collect()
}

fn an_agent_is_held_without_hooks_in_the_project(client: Client) {
    let room = room(client);
    let outcome = played(
        &room,
        client,
        vec![
            Proposal::shell("touch b.txt"),
            Proposal::shell("ls"),
            transition("READY"),
            Proposal::shell("ls"),
            transition("DONE"),
        ],
    );
    assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
    assert!(!outcome.stdout.contains("handled"), "{outcome:#?}");
    let refused = ["command_not_allowed", "shell_write", "command_not_allowed"];
    let seen = verdicts(&held(&room));
    assert_eq!(
        seen[2..],
        ["to writing", "allowed", "to done"],
        "{seen:?} {outcome:#?}"
    );
    assert!(
        refused.contains(&seen[0].as_str()) && seen[1] == "command_not_allowed",
        "{seen:?}"
    );
    assert_eq!(room.read("b.txt"), None);
    for path in [".claude", ".codex", ".gemini"] {
        assert!(!room.project().join(path).exists(), "{path}");
    }
}

fn an_end_before_a_final_state_is_a_failure(client: Client) {
    let room = room(client);
    let outcome = played(&room, client, vec![transition("READY")]);
    assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
    assert!(
        outcome.stdout.contains("handled: `fix` (run ")
            && outcome
                .stdout
                .contains("stood in `writing` when the agent ended"),
        "{outcome:#?}"
    );
    assert_eq!(verdicts(&held(&room)), ["to writing", "cancelled"]);
}

fn a_failure_of_the_workflow_is_one_of_the_step(client: Client) {
    let room = room(client);
    let outcome = played(&room, client, vec![transition("GIVE_UP")]);
    assert!(
        outcome.stdout.contains("ended as a failure in `failed`"),
        "{outcome:#?}"
    );
    assert_eq!(verdicts(&held(&room)), ["to failed"]);
}

fn hooks_that_the_project_has_as_well_do_no_harm(client: Client) {
    let room = room(client);
    Interlock::new(INTERLOCK, &room).init().unwrap();
    let proposals = vec![
        Proposal::shell("cat a.txt"),
        Proposal::shell("ls"),
        transition("READY"),
        transition("DONE"),
    ];
    let outcome = played(&room, client, proposals);
    assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
    let seen = verdicts(&held(&room));
    // Each is judged and counted once, although two hooks ask.
    let wanted = ["allowed", "command_not_allowed", "to writing", "to done"];
    assert_eq!(seen, wanted, "{outcome:#?}");
}

#[test]
fn agents_beside_each_other_are_held_to_runs_of_their_own() {
    let client = Client::ClaudeCode(Version::V2_1_332);
    let room = room(client);
    let task = "{tool: claude, arguments: {prompt: Do the scripted thing., guard: fix, allowed-tools: [Bash]}}";
    let flow = format!(
        "start-at: both\nstates:\n  both:\n    tool: parallel\n    arguments:\n      tasks:\n        - {task}\n        - {task}\n"
    );
    room.write("flow.yaml", &flow).unwrap();
    let proposals = vec![
        Proposal::shell("cat a.txt"),
        transition("READY"),
        transition("DONE"),
    ];
    let outcome = played(&room, client, proposals);
    assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
    let interlock = Interlock::new(INTERLOCK, &room);
    let runs = runs_of_guard(&room);
    assert_eq!(runs.len(), 2, "{runs:#?}");
    for run in runs {
        let events = interlock.events(run["run"].as_str().unwrap()).unwrap();
        assert_eq!(verdicts(&events), ["allowed", "to writing", "to done"]);
    }
}

/// Returns a model that submits a plan after it has tried to write it to a file itself.
fn planner() -> provider::Script {
    let write = provider::call("Write", json!({"file_path": "plan", "content": "x"}));
    let submit = provider::call("submit", json!({"steps": ["look", "write"]}));
    provider::Script::turns(vec![vec![write], vec![submit]])
}

const PLAN: &str = "id: plan
settings: {model: openai/scripted}
stages:
  Plan:
    body: 'Plan ${ctx.task}'
    allowedTools: [Read]
    completionTool: submit
    completionSchema: {required: [steps]}
    turnCap: 4
    next: end
";

/// One step calls a model itself, the other guards a real agent, concurrently; the last reads both results.
fn an_agent_works_beside_a_model_stage(client: Client) {
    let room = room(client);
    room.install("interlock", Path::new(INTERLOCK)).unwrap();
    room.write("plan.yaml", PLAN).unwrap();
    let (tool, more) = match client {
        Client::ClaudeCode(_) => ("claude", ", allowed-tools: [Read, Bash]"),
        _ => ("codex", ""),
    };
    let flow = format!(
        "start-at: both
states:
  both:
    tool: parallel
    arguments:
      tasks:
        - {{tool: {tool}, arguments: {{prompt: Do the scripted thing., guard: fix{more}}}}}
        - {{tool: bash, arguments: {{command: 'interlock run plan.yaml it --name planned --headless', cwd: '@/'}}}}
  tell:
    tool: bash
    arguments: {{command: 'interlock status planned --json'}}
"
    );
    room.write(
        "flow.yaml",
        &flow.replace("  tell:", "    next: tell\n  tell:"),
    )
    .unwrap();
    let proposals = vec![
        Proposal::shell("ls"),
        Proposal::shell("cat a.txt"),
        transition("READY"),
        transition("DONE"),
    ];
    let mut command = room.command(INTERLOCK);
    command.args(["run", "./flow.yaml"]);
    let session = Session::new(client, &room, Script::calls(proposals)).beside_stages(planner());
    let outcome = session.below(command).unwrap();
    assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
    let wanted = ["command_not_allowed", "allowed", "to writing", "to done"];
    assert_eq!(verdicts(&held(&room)), wanted, "{outcome:#?}");
    // Neither is restricted by the other's policy, and the stage did nothing that it may not.
    let planned = Interlock::new(INTERLOCK, &room).status("planned").unwrap();
    assert_eq!(planned["status"], "completed", "{planned}");
    assert_eq!(planned["context"]["upstream"]["Plan"]["steps"][1], "write");
    assert_eq!(room.read("plan"), None);
    assert!(outcome.stdout.contains("completed"), "{outcome:#?}");
}

#[test]
fn claude_code_works_beside_a_model_stage() {
    an_agent_works_beside_a_model_stage(Client::ClaudeCode(Version::V2_1_332));
}

#[test]
fn codex_works_beside_a_model_stage() {
    an_agent_works_beside_a_model_stage(Client::Codex(Tools::Functions));
}

macro_rules! with_each_client {
    ($($module:ident: $client:expr;)*) => {
        $(mod $module {
            use super::*;

            #[test]
            fn an_agent_is_held_without_hooks_in_the_project() {
                super::an_agent_is_held_without_hooks_in_the_project($client);
            }

            #[test]
            fn an_end_before_a_final_state_is_a_failure() {
                super::an_end_before_a_final_state_is_a_failure($client);
            }

            #[test]
            fn hooks_that_the_project_has_as_well_do_no_harm() {
                super::hooks_that_the_project_has_as_well_do_no_harm($client);
            }

            #[test]
            fn a_failure_of_the_workflow_is_one_of_the_step() {
                super::a_failure_of_the_workflow_is_one_of_the_step($client);
            }
        })*
    };
}

with_each_client! {
    claude: Client::ClaudeCode(Version::V2_1_332);
    claude_older: Client::ClaudeCode(Version::V2_1_197);
    codex: Client::Codex(Tools::Functions);
    gemini: Client::Gemini;
}
