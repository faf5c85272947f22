//! The same workflow and the same ten proposals give the same ten verdicts in every client.
//!
//! The results are in `docs/src/real-clients.md`.

use std::collections::BTreeMap;
use std::thread;

use crate::e2e_clients::guarded::Guarded;
use crate::e2e_clients::page;
use interlock_testkit::claude::Version;
use interlock_testkit::client::{Client, Tools};
use interlock_testkit::proposal::{Proposal, Script};
use serde_json::{Value, json};

const CLIENTS: [Client; 7] = [
    Client::ClaudeCode(Version::V2_1_332),
    Client::ClaudeCode(Version::V2_1_197),
    Client::Codex(Tools::Code),
    Client::Codex(Tools::Functions),
    Client::Gemini,
    Client::Copilot,
    Client::Opencode,
];

fn workflow() -> Value {
    json!({
        "id": "same-verdicts", "initial": "planning",
        "states": {
            "planning": {
                "allowed_tools": ["Read", "Bash", "mcp__stub__ping"], "on": {"READY": "building"},
            },
            "building": {
                "allowed_tools": ["Read", "Edit", "Write", "Bash"], "max_edit_lines": 20,
                "on": {"DONE": "complete"},
            },
            "complete": {"type": "final"},
        },
    })
}

/// Returns the proposals, in words and for the client.
fn proposals() -> Vec<(&'static str, Proposal)> {
    let lines: String = (1..=21).map(|line| format!("line {line}\n")).collect();
    let transition =
        |event: &str| Proposal::tool("interlock", "interlock_transition", json!({"event": event}));
    vec![
        ("read a file", Proposal::read("a.txt")),
        ("run `grep one a.txt`", Proposal::shell("grep one a.txt")),
        (
            "write a file by a tool",
            Proposal::write("early.txt", "x\n"),
        ),
        (
            "write a file by the shell",
            Proposal::shell("echo x > leak.txt"),
        ),
        (
            "call a listed MCP tool",
            Proposal::tool("stub", "ping", json!({"say": "hello"})),
        ),
        ("ask for READY", transition("READY")),
        ("edit the file", Proposal::edit("a.txt", "one\n", "two\n")),
        (
            "write Interlock's settings",
            Proposal::write(".interlock/config.toml", "workflow = \"none\"\n"),
        ),
        (
            "write 21 lines where 20 are allowed",
            Proposal::write("big.txt", &lines),
        ),
        ("ask for DONE", transition("DONE")),
    ]
}

/// The results of one client's run.
#[derive(Debug, PartialEq)]
struct Seen {
    verdicts: Vec<String>,
    files: BTreeMap<String, String>,
    /// Whether the model read the code of each refusal.
    told: Vec<bool>,
}

fn play(client: Client) -> Seen {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    let run = guarded.start(&workflow());
    let calls: Vec<Proposal> = proposals().into_iter().map(|(_, call)| call).collect();
    let outcome = guarded.session(Script::calls(calls));
    let verdicts = guarded.verdicts(&run);
    let name = client.label();
    assert_eq!(outcome.results.len(), 10, "{name}: {:#?}", outcome.results);
    assert_eq!(
        verdicts.len(),
        10,
        "{name}: {verdicts:#?}\n{:#?}",
        outcome.results
    );
    let told = verdicts.iter().zip(&outcome.results);
    let told = told.map(|(verdict, result)| {
        verdict == "allowed" || verdict.starts_with("to ") || result.contains(verdict.as_str())
    });
    Seen {
        told: told.collect(),
        files: guarded.files(),
        verdicts,
    }
}

#[test]
fn every_client_gets_the_same_ten_verdicts() {
    let seen: Vec<(Client, Seen)> = thread::scope(|scope| {
        let playing = CLIENTS.map(|client| (client, scope.spawn(move || play(client))));
        playing
            .into_iter()
            .map(|(client, played)| (client, played.join().unwrap()))
            .collect()
    });
    let (_, first) = seen.first().unwrap();
    for (client, other) in &seen {
        assert_eq!(other, first, "{}", client.label());
    }
    assert!(first.told.iter().all(|told| *told), "{first:#?}");
    let kept = BTreeMap::from([("a.txt".to_owned(), "two\n".to_owned())]);
    assert_eq!(first.files, kept);
    page::assert_holds("real-clients.md", "verdicts", &rows(&seen));
}

fn rows(seen: &[(Client, Seen)]) -> String {
    let clients = seen.iter().map(|(client, _)| client.label());
    let mut rows = vec![[vec!["proposal".to_owned()], clients.collect()].concat()];
    for (index, (words, _)) in proposals().iter().enumerate() {
        let verdicts = seen.iter().filter_map(|(_, seen)| seen.verdicts.get(index));
        let verdicts = verdicts.map(|verdict| format!("`{verdict}`"));
        rows.push([vec![(*words).to_owned()], verdicts.collect()].concat());
    }
    page::table(&rows)
}
