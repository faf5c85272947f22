//! A run in a file that a real browser opens from disk.

use std::process::Stdio;

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::json;

use crate::e2e_console::{INTERLOCK, browser::Browser};

const SESSION: &str = "5b1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c11";

const WORKFLOW: &str = "id: release
initial: draft
states:
  draft:
    allowed_tools: [Read]
    instructions: '<script>document.title=1</script>'
    on: {SHIP: {target: shipped, requires_approval: true, approval_message: '<img src=x onerror=alert(1)>'}}
  shipped: {type: final}
";

/// Text by which an agent tries to break out of its element.
const NASTY: &str =
    "</script><script>document.title='out'</script><img src=x onerror=alert(1)>\u{202e}";

#[test]
fn an_exported_run_is_looked_at_without_a_console() {
    let room = Room::new().unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    room.write("flow.yaml", WORKFLOW).unwrap();
    let run = interlock.start_for_session("flow.yaml", SESSION).unwrap();
    for (id, tool, input) in [
        ("1", "Read", json!({ "file_path": NASTY })),
        (
            "2",
            "Write",
            json!({ "file_path": NASTY, "content": NASTY }),
        ),
        ("3", NASTY, json!({ NASTY: NASTY })),
    ] {
        let told = before_tool(&room, SESSION, id, tool, &input);
        let told = room.write("told.json", &told.to_string()).unwrap();
        let line = format!("'{INTERLOCK}' hook claude-code < {}; true", told.display());
        // The client; neither a shell nor this test counts as one.
        let mut client = room.command("find");
        client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &line, ";"]);
        assert!(
            client
                .stdin(Stdio::null())
                .output()
                .unwrap()
                .status
                .success()
        );
    }
    let data = json!({ NASTY: NASTY }).to_string();
    interlock
        .by_a_person(&["send", "SHIP", "--run", &run, "--data", &data])
        .unwrap();
    interlock
        .by_a_person(&["reject", &run, "--note", NASTY])
        .unwrap();
    let file = room.path("run.html");
    let path = file.to_str().unwrap();
    let made = interlock.run(&["export", &run, "-o", path]).unwrap();
    assert!(made.status.success(), "{made:?}");

    let browser = Browser::start();
    let opened = browser.tell("file", json!({ "url": format!("file://{path}") }));
    let text = opened["text"].as_str().unwrap();
    for wanted in [
        "release",
        "Nothing in this file changes it",
        "Left out:",
        "ApprovalRejected",
    ] {
        assert!(text.contains(wanted), "{wanted}:\n{text}");
    }
    assert!(
        opened["states"].as_u64().unwrap() >= 2,
        "the graph: {opened}"
    );
    for action in ["Pause", "Cancel", "Approve", "Export"] {
        assert!(!opened["buttons"].to_string().contains(action), "{opened}");
    }
    let past = browser.tell("past", json!({ "event": "CallDenied" }));
    let why = past["why"].as_str().unwrap();
    for wanted in ["Denied", "draft", "SHIP"] {
        assert!(why.contains(wanted), "{wanted}:\n{why}");
    }
    assert!(past["here"].to_string().contains("draft"), "{past}");
    let filtered = browser.tell("filter", json!({ "text": "rejected" }));
    let lines = filtered["text"].as_str().unwrap();
    assert!(
        lines.contains("ApprovalRejected") && !lines.contains("CallDenied"),
        "{lines}"
    );
    let found = browser.tell("examine", json!({}));
    assert_eq!(found["found"], json!([]));
    let ended = browser.tell("network", json!({}));
    assert_eq!(ended["requests"], json!([]), "it asks nobody");
    let title = ended["title"].as_str().unwrap();
    assert!(title.starts_with("Interlock"), "{title}");
    let problems = browser.tell("problems", json!({}));
    assert_eq!(problems["problems"], json!([]));
}
