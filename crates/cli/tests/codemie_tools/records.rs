//! Model calls of a node: each is paid for once, whatever interrupts the node.

use std::process::Stdio;

use interlock_testkit::provider::{Reply, text};
use serde_json::json;

use crate::codemie_tools::{made, place::wait_until};

#[test]
fn a_record_that_was_answered_before_a_kill_is_not_asked_about_again() {
    let workflow = json!({
        "tools": [{"id": "say", "tool": "bash", "tool_args": {"command": "echo thing {{ task }}"}}],
        "custom_nodes": [{"id": "sum", "custom_node_id": "state_processor_node", "config": {"state_id": "look"}}],
        "states": [
            {"id": "look", "tool_id": "say", "next": {"state_id": "look_again"}},
            {"id": "look_again", "tool_id": "say", "next": {"state_id": "all"}},
            {"id": "all", "custom_node_id": "sum", "task": "What is it?", "next": {"state_id": "end"}},
        ],
    });
    let place = made(
        &workflow,
        vec![
            Reply::say(vec![text("the first")]),
            Reply::say(vec![text("for ever and ever")]).silent_at(300),
            Reply::say(vec![text("the second")]),
        ],
    );
    let mut command = place.command(&["run", "flow", "go", "--headless"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the second call", || place.provider.asked().len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = place.by_person(&["resume", "--headless"]).ended(0);
    for words in ["the first", "the second"] {
        assert!(said.out.contains(words), "{said:?}");
    }
    let asked = place.provider.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(
        asked[1].bytes, asked[2].bytes,
        "the same request, byte for byte"
    );
    let counts = ["ModelCalled", "ModelResponded"].map(|name| place.count(name));
    assert_eq!(counts, [2, 2]);
    let used: u64 = place
        .events()
        .iter()
        .filter_map(|event| event["usage"]["output"].as_u64())
        .sum();
    assert_eq!(place.status()["spent"]["output"], used);
    let said = place.call(&["log", "--messages"]).ended(0);
    assert!(said.out.contains("the first"), "{said:?}");
}
