#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use super::*;

fn turn(policy: &str) -> String {
    format!(
        r#"{{"ordinal":1,"type":"turn_context","payload":{{"cwd":"/p","sandbox_policy":{policy}}}}}"#
    ) + "\n"
}

fn off(text: &str) -> bool {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("rollout.jsonl");
    fs::write(&path, text).unwrap();
    is_off(&path)
}

const OFF: &str = r#"{"type":"danger-full-access"}"#;
const ON: &str = r#"{"type":"workspace-write","network_access":false}"#;

#[test]
fn the_newest_turn_says_whether_there_is_a_sandbox() {
    let other = "{\"type\":\"event_msg\",\"payload\":{}}\n";
    assert!(off(&turn(OFF)));
    assert!(off(&format!("{}{}{other}", turn(ON), turn(OFF))));
    assert!(!off(&format!("{}{}{other}", turn(OFF), turn(ON))));
    assert!(off(&turn(r#"{"mode":"danger-full-access"}"#)));
    for text in ["", other, "not JSON\n", "{\"type\":\"turn_context\"}\n"] {
        assert!(!off(text), "{text}");
    }
}

#[test]
fn a_long_turn_is_looked_through_backwards() {
    let long = format!(
        "{{\"type\":\"response_item\",\"payload\":\"{}\"}}\n",
        "x".repeat(50_000)
    );
    let after = long.repeat(9);
    assert!(off(&format!("{}{after}", turn(OFF))));
    assert!(!off(&format!("{}{}{after}", turn(OFF), turn(ON))));
}

#[test]
fn words_of_a_tool_are_no_turn() {
    let forged = serde_json::json!({
        "type": "response_item",
        "payload": turn(OFF),
    });
    assert!(!off(&format!("{}{forged}\n", turn(ON))));
}

#[test]
fn a_transcript_that_is_not_there_says_nothing() {
    assert!(!is_off(Path::new("/nonexistent/rollout.jsonl")));
}
