//! A run exported as one file: its content, and who may have it.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::console::{INTERLOCK, World, page::Console};

/// Text by which an agent tries to break out of its element.
const NASTY: &str =
    "</script><script>document.title='out'</script><!-- <img src=x onerror=alert(1)>";

/// Returns the recording in a file.
fn recording(html: &str) -> Value {
    let (_, rest) = html
        .split_once("<script id=\"recording\" type=\"application/json\">")
        .unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_file_holds_the_run_as_the_console_shows_it() {
    let world = World::new();
    let secret = "hunter2hunter2hunter2";
    world.proposes(
        "2",
        "Write",
        &json!({ "file_path": NASTY, "content": "\u{202e}x" }),
    );
    let line = format!("curl -H 'Authorization: Bearer {secret}' x # {NASTY}");
    world.proposes("3", "Bash", &json!({ "command": line }));
    let data = json!({ "note": format!("{NASTY}\u{202e}\u{1b}[2J") }).to_string();
    world
        .interlock()
        .by_a_person(&["send", "SHIP", "--run", &world.run, "--data", &data])
        .unwrap();
    let output = world.room.path("run.html");
    let output = output.to_str().unwrap();
    let mut command = world.room.command(INTERLOCK);
    command.args(["export", &world.run, "-o", output]);
    command.env("API_TOKEN", secret);
    let said = command.output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let html = std::fs::read_to_string(output).unwrap();
    assert_eq!(
        html.matches("<script").count(),
        2,
        "nothing of the agent's is one"
    );
    assert_eq!(html.matches("</script").count(), 2);
    for hidden in ["\u{202e}", "\u{1b}", secret] {
        assert!(!html.contains(hidden), "{hidden:?}");
    }
    let found = recording(&html);
    let events = world.interlock().events(&world.run).unwrap().len();
    assert_eq!(found["lines"].as_array().unwrap().len(), events);
    assert_eq!(found["moments"].as_array().unwrap().len(), events + 1);
    assert_eq!(
        found["calls"].as_object().unwrap().len(),
        2,
        "each call has its why"
    );
    // It equals the console's responses, except for actions.
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let path = |rest: &str| format!("runs/{}{rest}", world.run);
    for at in [0, events / 2, events] {
        let moment = &found["moments"][at];
        let state = console
            .get(&path(&format!("/state?at={at}")), &bearer)
            .json();
        assert_eq!((&moment["at"], &moment["state"]), (&json!(at), &state));
        let graph = console
            .get(&path(&format!("/graph?at={at}")), &bearer)
            .json();
        assert_eq!(moment["marks"], graph["marks"]);
    }
    let detail = &found["answers"][path("")];
    assert_eq!(
        (&detail["requests"], &detail["can"]["cancel"]),
        (&json!([]), &json!(false))
    );
    // The page saves the same file.
    let saved = console.get(&path("/export"), &bearer);
    assert_eq!(saved.status, 200);
    assert!(
        saved
            .head
            .to_lowercase()
            .contains("content-disposition: attachment"),
        "{}",
        saved.head
    );
    assert_eq!(recording(&saved.body)["lines"], found["lines"]);
    // An existing file is kept.
    let mut again = world.room.command(INTERLOCK);
    let again = again
        .args(["export", &world.run, "-o", output])
        .output()
        .unwrap();
    assert!(!again.status.success(), "{again:?}");
    assert_eq!(std::fs::read_to_string(output).unwrap(), html);
    let mut unknown = world.room.command(INTERLOCK);
    let unknown = unknown
        .args(["export", "01none", "-o", "none.html"])
        .stderr(Stdio::piped());
    assert!(!unknown.output().unwrap().status.success());
}

#[test]
fn below_a_guarded_agent_no_run_is_exported() {
    let world = World::new();
    let write = json!({ "file_path": "a.txt", "content": "x" });
    let line = format!(
        "'{INTERLOCK}' export {} -o out.html 2>&1 || true",
        world.run
    );
    let said = world.below_a_client(("1", "Write", &write), &line);
    assert!(said.contains("below an agent"), "{said}");
    assert!(!world.room.project().join("out.html").exists());
}
