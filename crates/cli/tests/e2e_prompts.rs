//! The real Claude Code asks its person in its own prompt: the displayed text, and the result of the question.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use interlock_testkit::{
    claude::{Mode, Session, Version},
    interlock::Interlock,
    provider::{ModelRequest, Script, call, text},
    room::Room,
    terminal::Terminal,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

fn workflow() -> Value {
    json!({"id": "look", "initial": "looking", "states": {
        "looking": {
            "allowed_tools": ["Read"],
            "on_denied": "ask",
            "on": {"DONE": {"target": "over", "requires_approval": true, "approval_message": "Ship it?"}},
        },
        "over": {"type": "final"},
    }})
}

/// Returns a model that requests DONE, writes a file, or reads one, as its person says.
fn script(room: &Room) -> Script {
    let path = room.file("written.txt");
    let told = AtomicUsize::new(0);
    Script::new(move |request: &ModelRequest| {
        if request.tools().is_empty() {
            return vec![text("A summary.")];
        }
        let said = request.text();
        // Each message of the person is answered with one call.
        let count = said.matches("it now").count();
        if told.swap(count, Ordering::SeqCst) == count {
            return vec![text("That was it.")];
        }
        let asks = ["ship it now", "write it now"];
        let last = asks
            .iter()
            .max_by_key(|word| said.rfind(*word).map_or(0, |at| at + 1));
        vec![match last {
            Some(&"write it now") => call("Write", json!({"file_path": path, "content": "x\n"})),
            _ => call(
                "mcp__interlock__interlock_transition",
                json!({"event": "DONE", "data": {"v": "\u{1b}]0;hidden\u{7}1.2"}}),
            ),
        }]
    })
}

/// Types a line as a person does: first the words, and Enter once they are shown.
fn say(terminal: &mut Terminal, line: &str) -> io::Result<()> {
    // After a key that ends something, the client may miss the first letter.
    terminal.press(&format!("so {line}"))?;
    terminal.wait_for(line, |screen| screen.contains(line))?;
    terminal.press("\r")
}

/// Answers the client's question with a key; the client ignores keys in the first moments of the question.
fn answer(
    terminal: &mut Terminal,
    key: &str,
    look: &dyn Fn() -> io::Result<Value>,
) -> io::Result<()> {
    for _ in 0..30 {
        terminal.press(key)?;
        // One key too many would apply to whatever follows the question.
        for _ in 0..10 {
            look()?;
            if !terminal.screen().contains("Do you want to") {
                return Ok(());
            }
        }
    }
    Err(io::Error::other(terminal.screen()))
}

fn has(words: &'static [&'static str]) -> impl Fn(&str) -> bool {
    move |screen: &str| words.iter().all(|word| screen.contains(word))
}

#[test]
fn a_question_in_the_clients_prompt_is_open_until_its_person_answers() {
    let room = Room::new().unwrap();
    room.install("claude", &Version::V2_1_332.program().unwrap())
        .unwrap();
    // The client's plugin calls it by its name.
    room.install("interlock", INTERLOCK.as_ref()).unwrap();
    room.write("workflow.json", &workflow().to_string())
        .unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    interlock.init().unwrap();
    let run = interlock.start("workflow.json").unwrap();
    let waiting = || -> io::Result<Value> { Ok(interlock.status(&run)?["pending"].clone()) };
    let client = Session::new(Version::V2_1_332, &room, script(&room)).mode(Mode::Default);
    let (asked, after_no, grant) = client
        .in_terminal(|terminal| {
            terminal.wait_for("the prompt", |screen| screen.contains("for shortcuts"))?;
            say(terminal, "ship it now")?;
            let shown = has(&[
                "DONE: looking -> over",
                "Ship it?",
                "1.2",
                "Do you want to proceed?",
            ]);
            let screen = terminal.wait_for("the question", shown)?;
            let asked = (screen, waiting()?);
            // No; and the person continues with something else.
            answer(terminal, "\u{1b}", &waiting)?;
            say(terminal, "write it now")?;
            terminal.wait_for("the next question", has(&["written.txt", "Do you want to"]))?;
            let after_no = waiting()?;
            answer(terminal, "\r", &waiting)?;
            terminal.wait_for("the write", has(&["That was it."]))?;
            let grant = waiting()?;
            say(terminal, "ship it now")?;
            terminal.wait_for(
                "the question again",
                has(&["DONE: looking -> over", "Do you want to proceed?"]),
            )?;
            answer(terminal, "\r", &waiting)?;
            terminal.wait_for("the end", |screen| {
                screen.matches("That was it.").count() == 2
            })?;
            Ok((asked, after_no, grant))
        })
        .unwrap();
    let (screen, pending) = asked;
    assert!(
        screen.contains("\\x1b") || screen.contains("\\u001b"),
        "{screen}"
    );
    assert_eq!(pending.as_array().unwrap().len(), 1, "{pending}");
    assert_eq!(pending[0]["event"], "DONE");
    assert_eq!(pending[0]["in_prompt"], true);
    // The no has closed the first, and the write asks again.
    assert_eq!(after_no.as_array().unwrap().len(), 1, "{after_no}");
    assert_eq!(after_no[0]["kind"], "grant", "{after_no}");
    assert_eq!(grant, json!([]));
    assert_eq!(room.read("written.txt").as_deref(), Some("x\n"));
    let status = interlock.status(&run).unwrap();
    assert_eq!(status["status"], "completed", "{status}");
    let events = interlock.events(&run).unwrap();
    let of = |name: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["event"] == name)
            .collect()
    };
    let (asked, closed, granted) = (
        of("ApprovalRequested"),
        of("PromptClosed"),
        of("ApprovalGranted"),
    );
    assert_eq!(asked.len(), 2, "{events:#?}");
    assert_eq!(closed.len(), 1, "{events:#?}");
    assert_eq!(granted.len(), 1, "{events:#?}");
    assert_eq!(granted[0]["id"], json!(format!("a{}", asked[1]["seq"])));
}
