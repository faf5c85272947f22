//! The console's own port, which a guarded agent's calls cannot use.

use interlock_testkit::interlock::before_tool;
use serde_json::{Value, json};

use crate::console::{SESSION, World, page::Console};

/// Proposes a call to the agent's hook; returns why it is denied, empty if it may run.
fn denied(world: &World, id: &str, tool: &str, input: &Value) -> String {
    let told = before_tool(&world.room, SESSION, id, tool, input);
    let child = world.interlock().hook(&told).unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let verdict = &document["hookSpecificOutput"];
    let reason = verdict["permissionDecisionReason"].as_str();
    let is_denied = verdict["permissionDecision"] == "deny";
    reason.filter(|_| is_denied).unwrap_or_default().to_owned()
}

/// A state that permits everything except protected things.
const FREE: &str = "id: free
initial: working
states:
  working: {on: {DONE: done}}
  done: {type: final}
";

#[test]
fn a_call_that_names_the_console_is_denied_in_every_state_while_it_serves() {
    let world = World::of(FREE);
    let console = Console::open(&world.room);
    let port = console.port;
    let calls = [
        (
            "Bash",
            json!({ "command": format!("curl http://localhost:{port}/") }),
        ),
        (
            "Bash",
            json!({ "command": format!("curl http://127.0.0.1:\"{port}\"/api/v1/inbox") }),
        ),
        (
            "Bash",
            json!({ "command": format!("exec 3<>/dev/tcp/localhost/{port}; cat <&3") }),
        ),
        (
            "Bash",
            json!({ "command": format!("python3 -c 'import urllib.request as u; u.urlopen(\"http://[::1]:{port}\")'") }),
        ),
        (
            "WebFetch",
            json!({ "url": format!("http://localhost:{port}/"), "prompt": "read it" }),
        ),
        (
            "mcp__browser__navigate",
            json!({ "url": format!("http://localhost:{port}/#/inbox") }),
        ),
    ];
    for (index, (tool, input)) in calls.iter().enumerate() {
        let reason = denied(&world, &format!("c{index}"), tool, input);
        assert!(
            reason.contains(&format!("the console at port {port}")),
            "{tool} {input}: {reason:?}"
        );
    }
    // Another port is not restricted, and neither is this one when nobody listens any more.
    let other = json!({ "command": format!("curl http://localhost:{}/", port ^ 1) });
    assert_eq!(denied(&world, "other", "Bash", &other), "");
    let (_, same) = &calls[0];
    drop(console);
    assert_eq!(denied(&world, "later", "Bash", same), "");
}
