//! Assumptions of the tests with real clients: each client carries out every kind of proposal when nothing stops it.

use std::path::Path;

use interlock_testkit::claude::Version;
use interlock_testkit::client::{Client, Session, Tools};
use interlock_testkit::proposal::{Proposal, Script};
use interlock_testkit::room::Room;
use serde_json::json;

fn carries_out_every_proposal(client: Client) {
    let room = Room::new().unwrap();
    let stub = Path::new(env!("CARGO_BIN_EXE_mcp-stub"));
    client.install(&room, stub).unwrap();
    room.write("a.txt", "one\ntwo\nthree\n").unwrap();
    let outcome = Session::new(
        client,
        &room,
        Script::calls(vec![
            Proposal::read("a.txt"),
            Proposal::write("new.txt", "first\nsecond\n"),
            Proposal::edit("a.txt", "two\n", "2\nzwei\n"),
            Proposal::shell("echo from the shell > shell.txt; exit 3"),
            Proposal::tool("stub", "ping", json!({"say": "hello"})),
        ]),
    )
    .run()
    .unwrap();
    let [read, _, _, _, ping] = &outcome.results[..] else {
        panic!("{outcome:#?}")
    };
    assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
    assert!(read.contains("three"), "{read}");
    assert!(ping.contains("pong:hello"), "{ping}");
    let file = |path| room.read(path);
    assert_eq!(file("a.txt").as_deref(), Some("one\n2\nzwei\nthree\n"));
    assert_eq!(file("new.txt").as_deref(), Some("first\nsecond\n"));
    assert_eq!(file("shell.txt").as_deref(), Some("from the shell\n"));
}

#[test]
fn claude_code_carries_out_every_proposal() {
    carries_out_every_proposal(Client::ClaudeCode(Version::V2_1_332));
}

#[test]
fn codex_carries_out_every_proposal() {
    carries_out_every_proposal(Client::Codex(Tools::Functions));
}

#[test]
fn codex_carries_out_every_proposal_in_code() {
    carries_out_every_proposal(Client::Codex(Tools::Code));
}

#[test]
fn gemini_cli_carries_out_every_proposal() {
    carries_out_every_proposal(Client::Gemini);
}

#[test]
fn copilot_cli_carries_out_every_proposal() {
    carries_out_every_proposal(Client::Copilot);
}

#[test]
fn opencode_carries_out_every_proposal() {
    carries_out_every_proposal(Client::Opencode);
}
