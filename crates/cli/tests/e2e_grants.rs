//! The real Claude Code is refused a call, a person approves it in `interlock watch`, and exactly that call is allowed,
//! once.

use std::{
    process::Command,
    sync::{Arc, Once},
};

use interlock_testkit::{
    claude::{Session, Version},
    interlock::Interlock,
    provider::{Say, Script, call, text},
    room::Room,
    terminal::Terminal,
    with_both_versions,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const WORKFLOW: &str = "id: careful
initial: looking
states:
  looking: {allowed_tools: [Read], on_denied: ask, on: {DONE: done}}
  done: {type: final}
";

/// Approves the pending request as a person in `interlock watch`.
fn said_yes_in_watch(room: &Room, wanted: &str) {
    let mut watch: Command = room.command(INTERLOCK);
    watch.arg("watch").env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(&watch, 40, 140).unwrap();
    let holds = |words: &'static [&'static str]| {
        move |screen: &str| words.iter().all(|w| screen.contains(w))
    };
    let asked = |screen: &str| screen.contains("waiting for you") && screen.contains(wanted);
    terminal.wait_for("the request", asked).unwrap();
    terminal.press("a").unwrap();
    let question = holds(&["may this one call run?", "Write"]);
    terminal.wait_for("the question", question).unwrap();
    terminal.press("y").unwrap();
    let said = holds(&["approved ", "GrantIssued"]);
    terminal.wait_for("the answer", said).unwrap();
    terminal.press("q").unwrap();
    assert!(terminal.end().unwrap().success());
}

fn a_yes_in_watch_lets_just_that_call_pass_once(version: Version) {
    let room = Arc::new(Room::new().unwrap());
    room.install("claude", &version.program().unwrap()).unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    interlock.init().unwrap();
    room.write("workflow.yaml", WORKFLOW).unwrap();
    let run = interlock.start("workflow.yaml").unwrap();

    let write = {
        let room = Arc::clone(&room);
        move |name: &str, content: &str| -> Say {
            call(
                "Write",
                json!({"file_path": room.file(name), "content": content}),
            )
        }
    };
    let first = Once::new();
    let people = Arc::clone(&room);
    let script = Script::new(move |request| {
        vec![match request.rounds() {
            // Refused, and a person is asked.
            0 => write("b.txt", "one\n"),
            // They say yes; one more byte makes it another call.
            1 => {
                first.call_once(|| said_yes_in_watch(&people, "b.txt"));
                write("b.txt", "one\n\n")
            }
            // Exactly that call.
            2 => write("b.txt", "one\n"),
            // Once: an identical call is asked about again.
            3 => write("b.txt", "one\n"),
            _ => text("done"),
        }]
    });
    let outcome = Session::new(version, &room, script).run().unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    let answered = outcome.calls();
    let refused: Vec<bool> = answered
        .iter()
        .map(|call| call.result.contains("tool_not_allowed"))
        .collect();
    assert_eq!(refused, [true, true, false, true], "{answered:#?}");
    assert_eq!(room.read("b.txt").as_deref(), Some("one\n"));
    let events = Interlock::new(INTERLOCK, &room).events(&run).unwrap();
    let count = |name: &str| {
        let named = |event: &&Value| event["event"] == name;
        events.iter().filter(named).count()
    };
    assert_eq!(count("GrantIssued"), 1, "{events:#?}");
    assert_eq!(count("GrantConsumed"), 1);
    assert_eq!(count("CallAllowed"), 1);
}

with_both_versions! {
    a_yes_in_watch_lets_just_that_call_pass_once
}
