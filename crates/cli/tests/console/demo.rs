//! `interlock demo --console`: a run that waits for a person, within a minute of the first try.

use std::{fs, path::Path};

use interlock_testkit::room::Room;
use serde_json::json;

use crate::console::{INTERLOCK, page::Console};

#[test]
fn the_demo_waits_in_the_console_and_leaves_nothing_behind() {
    let room = Room::new().unwrap();
    let folder = room.path("tmp");
    fs::create_dir_all(&folder).unwrap();
    let mut command = room.command(INTERLOCK);
    command
        .args(["demo", "--console", "--no-open"])
        .env("TMPDIR", &folder);
    let mut console = Console::start(&mut command);
    let bearer = console.pair();
    let inbox = console.get("inbox", &bearer).json();
    let request = &inbox["requests"][0];
    assert_eq!(
        request["headline"], "PASS: testing -> completed",
        "{inbox:#}"
    );
    let run = request["run"].as_str().unwrap();
    let yes = json!({
        "request": request["id"], "decision": "yes",
        "digest": request["digest"], "seen_seq": request["seen_seq"],
    });
    let answer = console.post(&format!("runs/{run}/answers"), Some(&bearer), &yes);
    assert_eq!(answer.status, 200, "{answer:?}");
    let detail = console.get(&format!("runs/{run}"), &bearer).json();
    assert_eq!(detail["status"], "completed", "{detail:#}");
    assert_eq!(folders(&folder), 1);
    console.terminal.press("\u{3}").unwrap();
    console.terminal.end().unwrap();
    assert_eq!(folders(&folder), 0, "the demo's folder is still there");
}

fn folders(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let demo = |name: &str| name.starts_with("interlock-demo-");
    entries
        .filter(|entry| demo(&entry.file_name().to_string_lossy()))
        .count()
}
