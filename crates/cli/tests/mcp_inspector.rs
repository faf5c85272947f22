//! The command line of the MCP Inspector, a third-party client, through the gateway.

use interlock_testkit::{
    mcp::listening::Listening,
    programs,
    room::{Room, expect_success},
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const PACKAGES: &str = "tests/mcp";

fn fixture() -> String {
    let program = programs::built("interlock-fixture", "mcp-fixture", INTERLOCK).unwrap();
    program.to_string_lossy().into_owned()
}

/// Runs the Inspector with `arguments` at `target` and returns the JSON that it prints.
fn inspect(room: &Room, target: &[&str], arguments: &[&str]) -> Value {
    let script = "@modelcontextprotocol/inspector/package.json";
    let folder = programs::installed(PACKAGES, script).unwrap();
    let package: Value = serde_json::from_slice(&std::fs::read(&folder).unwrap()).unwrap();
    let bin = package["bin"]["mcp-inspector"].as_str().unwrap();
    let mut command = room.command(programs::node(PACKAGES));
    command.arg(folder.with_file_name(bin)).arg("--cli");
    let output = command.args(target).args(arguments).output().unwrap();
    expect_success("mcp-inspector", &output).unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    let tools = list["tools"].as_array().unwrap();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names
        .filter(|name| !name.starts_with("interlock_"))
        .collect()
}

/// Returns what the Inspector sees of the fixture: its tools, a call, a prompt and a resource.
fn seen(room: &Room, target: &[&str]) -> Value {
    let see = |arguments: &[&str]| inspect(room, target, arguments);
    let list = see(&["--method", "tools/list"]);
    json!({
        "tools": names(&list),
        "call": see(&["--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=you"]),
        "prompt": see(&["--method", "prompts/get", "--prompt-name", "test_simple_prompt"]),
        "resource": see(&["--method", "resources/read", "--uri", "test://static-text"]),
    })
}

#[test]
fn the_inspector_sees_the_same_through_the_gateway_over_standard_streams() {
    let (room, fixture) = (Room::new().unwrap(), fixture());
    let direct = seen(&room, &[&fixture]);
    assert!(
        direct["call"].to_string().contains("Hello, you!"),
        "{direct}"
    );
    // The Inspector would take a `--` of the command line for its own: the server comes from the configuration.
    room.write(
        ".interlock/config.toml",
        &format!("[mcp.behind]\ncommand = {fixture:?}\n"),
    )
    .unwrap();
    assert_eq!(seen(&room, &[INTERLOCK, "gateway"]), direct);
}

#[test]
fn the_inspector_sees_the_same_through_the_gateway_over_http() {
    let (room, fixture) = (Room::new().unwrap(), fixture());
    let direct = seen(&room, &[&fixture]);
    room.write(
        ".interlock/config.toml",
        &format!("[mcp.behind]\ncommand = {fixture:?}\n"),
    )
    .unwrap();
    let mut command = room.command(INTERLOCK);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let gateway = Listening::start(command).unwrap();
    let target = [gateway.url(), "--transport", "http"];
    assert_eq!(seen(&room, &target), direct);
}

#[test]
fn the_inspector_is_refused_what_the_state_does_not_allow() {
    let (room, fixture) = (Room::new().unwrap(), fixture());
    let workflow = json!({
        "id": "policy", "initial": "greeting",
        "states": {
            "greeting": {"allowed_tools": ["mcp__behind__greet"], "on": {"DONE": "over"}},
            "over": {"type": "final"},
        },
    });
    let config = format!("[mcp.behind]\ncommand = {fixture:?}\n");
    room.write_policy(&workflow, &config).unwrap();
    let target = [INTERLOCK, "gateway"];
    let list = inspect(&room, &target, &["--method", "tools/list"]);
    assert_eq!(names(&list), ["greet"]);
    let call = ["--method", "tools/call", "--tool-name"];
    let greeted = inspect(
        &room,
        &target,
        &[&call[..], &["greet", "--tool-arg", "name=you"]].concat(),
    );
    assert!(greeted.to_string().contains("Hello, you!"), "{greeted}");
}
