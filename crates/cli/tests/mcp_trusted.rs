//! Servers that a project brings with it, where the gateway is registered in the person's own settings.

use std::fs;

use interlock_testkit::{mcp::stdio::Client, programs, room::Room};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Returns the configuration of a server that writes to a file when it starts.
fn server(room: &Room, name: &str) -> String {
    let script = programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap();
    let tool = json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
    let log = room.path(&format!("{name}.log"));
    let settings = json!({"tools": [tool], "log": log}).to_string();
    format!("[mcp.{name}]\ncommand = {script:?}\nargs = [{settings:?}]\n")
}

/// Returns the tools of the servers, and the gateway's standard error.
fn tools(room: &Room, arguments: &[&str]) -> (Vec<String>, String) {
    let mut command = room.command(INTERLOCK);
    command.arg("gateway").args(arguments);
    let (mut client, _) = Client::open(command, "2025-11-25", &json!({})).unwrap();
    let list = client.request("tools/list", &json!({})).unwrap();
    let listed = list["result"]["tools"].as_array().unwrap();
    let names = listed.iter().filter_map(|tool| tool["name"].as_str());
    let names = names.filter(|name| ["mine", "theirs"].contains(name));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    (names, client.close().unwrap().stderr)
}

#[test]
fn a_project_that_nobody_trusts_starts_nothing() {
    let room = Room::new().unwrap();
    room.write(".interlock/config.toml", &server(&room, "theirs"))
        .unwrap();
    let own = room.config().join("interlock");
    fs::create_dir_all(&own).unwrap();
    let mine = server(&room, "mine");
    fs::write(own.join("config.toml"), &mine).unwrap();

    // Registered by the project itself, for which the client has asked its person.
    assert_eq!(tools(&room, &[]).0, ["mine", "theirs"]);
    fs::remove_file(room.path("theirs.log")).unwrap();

    let (seen, told) = tools(&room, &["--trusted-only"]);
    assert_eq!(seen, ["mine"]);
    assert!(!room.path("theirs.log").exists(), "it was started");
    assert!(
        told.contains("theirs") && told.contains("[trust]"),
        "{told}"
    );

    let root: Value = json!(room.project().canonicalize().unwrap());
    let trusting = format!("[trust]\nprojects = [{root}]\n{mine}");
    fs::write(own.join("config.toml"), trusting).unwrap();
    let (seen, told) = tools(&room, &["--trusted-only"]);
    assert_eq!(seen, ["mine", "theirs"]);
    assert_eq!(told, "");
}
