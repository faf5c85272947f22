//! Which commands are for people alone, and which an agent may use.

use serde_json::{Value, json};

use super::{INTERLOCK, World, below_a_client};

/// Commands that a process below an agent is refused: `RUN` is the guarded run.
const FOR_PEOPLE: &[&str] = &[
    "approve RUN",
    "reject RUN",
    "send DONE --run RUN",
    "pause RUN",
    "resume RUN",
    "cancel RUN",
    "token",
    "token RUN",
    "passkey list",
    "attest RUN",
    "attest keygen",
    "attest public-key",
    "init claude-code",
    "new",
    "start workflow.json",
    "run workflow.json",
    "fs run workflow.json",
    "serve --listen 127.0.0.1:0",
    "export RUN --output run.html",
    "edit workflow.json rename-state a c",
    "tools RUN --accept server tool",
    "doctor --accept",
    "doctor --forget RUN",
    "demo --console",
    "console",
];

/// Commands that change nothing of a run, and show an agent what it may know.
const FOR_ALL: &[&str] = &[
    "status",
    "runs",
    "workflows",
    "log",
    "compare",
    "watch",
    "graph",
    "verify",
    "check",
    "simulate",
    "test",
    "prove",
    "backtest",
    "mine",
    "explain",
    "convert",
    "schema",
    "lsp",
    "gateway",
    "shared",
    "worker",
    "telemetry",
    "completions",
    "man",
];

#[test]
fn what_only_people_do_is_refused_below_an_agent() {
    let world = World::free();
    for line in FOR_PEOPLE {
        let line = line.replace("RUN", &world.run);
        let token = &world.token;
        let said = below_a_client(
            &world,
            &format!("INTERLOCK_TOKEN={token} timeout 20 '{INTERLOCK}' {line}"),
        );
        // Some are refused wherever they have no terminal.
        let refused = ["below an agent", "terminal"];
        assert!(
            refused.iter().any(|word| said.contains(word)),
            "`{line}`: {said}"
        );
    }
    let status = world.interlock().run(&["status", &world.run, "--json"]);
    let status: Value = serde_json::from_slice(&status.unwrap().stdout).unwrap();
    assert_eq!(
        (&status["status"], &status["state"]),
        (&json!("running"), &json!("a"))
    );
    assert!(world.room.read("run.html").is_none());
}

#[test]
fn it_is_said_of_every_command_whether_an_agent_may_use_it() {
    let world = World::free();
    let help = world.interlock().run(&["--help"]).unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let mut known = FOR_PEOPLE.iter().chain(FOR_ALL);
        assert!(
            known.any(|line| line.split(' ').next() == Some(command)),
            "{command}"
        );
    }
}
