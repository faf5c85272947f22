//! A person at a terminal.

use interlock_core::command::CommandKind;
use interlock_runner::{Halt, Order, answer, command, drive};
use interlock_store::{Durability, Home};
use interlock_testkit::terminal::Terminal;
use serde_json::{Value, json};

use crate::runs::direct::{Direct, begin};
use crate::runs::flow::{Room, bash, into, machine, or_else, text, to, work};

fn ask(input: Value) -> Value {
    into(
        json!({
            "activity": {"ask": {"object": input}},
            "on": {"done": {"transitions": [to(None)]}},
        }),
        "v",
    )
}

fn at_terminal(room: &Room) -> Terminal {
    let mut process = room.process();
    process.envs(std::env::vars_os());
    Terminal::start(&process, 24, 100).unwrap()
}

#[test]
fn a_question_is_asked_again_until_it_is_answered() {
    let options = json!({"list": [
        {"text": text("dev")},
        {"object": {"value": {"text": text("prod")}, "description": {"text": text("live")}}},
    ]});
    let question = ask(json!({"question": {"text": text("Where?")}, "options": options}));
    let room = Room::new(machine("q", json!({ "q": question })));
    assert_eq!(room.drive(), Halt::Standing, "nobody is there to ask");
    let mut terminal = at_terminal(&room);
    terminal
        .wait_for("the question", |screen| {
            screen.contains("2) prod - live\n> ")
        })
        .unwrap();
    terminal.press("neither\n").unwrap();
    terminal
        .wait_for("the advice", |screen| {
            screen.contains("none of the answers")
        })
        .unwrap();
    terminal.press("2\n").unwrap();
    assert!(terminal.end().unwrap().success());
    assert_eq!((room.code(), room.variable("v")), (Some(0), json!("prod")));
}

#[test]
fn an_empty_line_ends_an_answer_of_several() {
    let yes = json!({"text": text("yes")});
    let question = ask(json!({"question": {"text": text("What?")}, "multiline": yes}));
    let room = Room::new(machine("q", json!({ "q": question })));
    let mut terminal = at_terminal(&room);
    terminal
        .wait_for("the question", |screen| screen.contains("> "))
        .unwrap();
    terminal.press("one\n two\n\n").unwrap();
    assert!(terminal.end().unwrap().success());
    assert_eq!(room.variable("v"), json!("one\n two"));
}

#[test]
fn what_was_typed_before_the_end_of_the_input_is_the_answer() {
    let yes = json!({"text": text("yes")});
    let of_several = json!({"question": {"text": text("What?")}, "multiline": yes});
    let of_one = json!({"question": {"text": text("What?")}});
    for (input, typed, answer) in [
        (of_several, "one\n two\n\u{4}", "one\n two"),
        // The first such key only ends the line.
        (of_one, "one\u{4}\u{4}", "one"),
    ] {
        let room = Room::new(machine("q", json!({ "q": ask(input) })));
        let mut terminal = at_terminal(&room);
        terminal
            .wait_for("the question", |screen| screen.contains("> "))
            .unwrap();
        terminal.press(typed).unwrap();
        assert!(terminal.end().unwrap().success());
        assert_eq!(room.variable("v"), json!(answer), "{typed:?}");
    }
}

#[test]
fn the_end_of_the_input_is_no_answer() {
    let question = ask(json!({"question": {"text": text("What?")}}));
    let room = Room::new(machine("q", json!({ "q": question })));
    let mut terminal = at_terminal(&room);
    terminal
        .wait_for("the question", |screen| screen.contains("> "))
        .unwrap();
    terminal.press("\u{4}").unwrap();
    assert!(terminal.end().unwrap().success());
    assert_eq!(room.code(), Some(1));
}

#[test]
fn an_answer_given_from_outside_is_checked_as_one_typed() {
    let options = json!({"list": [{"text": text("dev")}]});
    let question = ask(json!({"question": {"text": text("Where?")}, "options": options}));
    let room = Room::new(machine("q", json!({ "q": question })));
    let mut host = room.host();
    let context = host.run_context().clone();
    let mut give = |text: &str| answer(&room.machine, &mut host, &context, text).unwrap();
    assert!(give("prod").unwrap().is_err());
    assert_eq!(give("1"), Some(Ok(())));
    assert_eq!(give("1"), None);
    assert_eq!(room.variable("v"), json!("dev"));
}

#[test]
fn a_question_that_a_template_made_wrong_fails_at_once() {
    let wrong = json!({"text": text("perhaps")});
    let question = ask(json!({"question": {"text": text("?")}, "multiline": wrong}));
    let room = Room::new(machine("q", json!({ "q": question })));
    assert_eq!((room.drive(), room.code()), (Halt::Over, Some(1)));
}

#[test]
fn a_program_alone_has_the_terminal_and_gives_it_back() {
    let states = json!({
        "a": into(bash("read -r -p 'name? ' name </dev/stdin; echo $name; stty -echo raw", Some("b")), "v"),
        "b": into(bash("stty -a | grep -o -- '-\\?icanon'; tty >/dev/null && echo yes", None), "w"),
    });
    let room = Room::new(machine("a", states));
    let mut terminal = at_terminal(&room);
    terminal
        .wait_for("the prompt", |screen| screen.contains("name? "))
        .unwrap();
    terminal.press("ana\n").unwrap();
    assert!(terminal.end().unwrap().success());
    assert_eq!(
        (room.variable("v"), room.variable("w")),
        (json!("ana"), json!("icanon\nyes"))
    );
}

#[test]
fn a_program_interrupted_at_the_terminal_cancels_the_run() {
    let states = json!({
        "a": or_else(bash("echo ready; sleep 600", None), None, "b"),
        "b": bash("echo b > b", None),
    });
    let room = Room::new(machine("a", states));
    let mut terminal = at_terminal(&room);
    terminal
        .wait_for("the program", |screen| screen.contains("ready"))
        .unwrap();
    terminal.press("\u{3}").unwrap();
    assert!(terminal.end().unwrap().success());
    assert_eq!((room.code(), room.read("b")), (Some(130), String::new()));
}

#[test]
fn an_interactive_agent_waits_for_a_terminal_and_owns_it() {
    let task = json!({
        "activity": {"task": work("claude-code", "prompt", "fix it")},
        "on": {"done": {"transitions": [to(None)]}},
        "on_crash": "ask",
    });
    let room = Room::new(machine("a", json!({ "a": task })));
    assert_eq!(room.drive(), Halt::Standing);
    let script = "#!/bin/bash\necho \"agent: $*\"; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && read -r line && exit 5\n";
    let program = room.file("claude");
    std::fs::write(&program, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let mut process = room.process();
    process.envs(std::env::vars_os());
    let path = std::env::var("PATH").unwrap();
    let bin = program.parent().unwrap().to_str().unwrap().to_owned();
    process.env("PATH", format!("{bin}:{path}"));
    let mut terminal = Terminal::start(&process, 24, 100).unwrap();
    terminal
        .wait_for("the agent", |screen| screen.contains("agent: fix it"))
        .unwrap();
    terminal.press("bye\n").unwrap();
    assert!(terminal.end().unwrap().success());
    assert_eq!(room.code(), Some(5));
}

#[test]
fn a_paused_run_asks_nobody() {
    let room = tempfile::tempdir().unwrap();
    let mut asking = bash("true", None);
    asking["approval_before"] = json!({"message": [], "no": "cancels"});
    let machine = machine("a", json!({ "a": asking }));
    let log = begin(room.path(), &machine, Durability::Process).unwrap();
    let run = log.run().clone();
    let mut host = Direct::new(log, |_: &Order| String::new());
    let by = || "ana".to_owned();
    let pause = CommandKind::Pause {
        reason: None,
        by: by(),
    };
    command(&machine, &mut host, &pause).unwrap();
    let before = host.asked;
    assert_eq!(drive(&machine, &mut host).unwrap(), Halt::Standing);
    assert_eq!(host.asked, before);
    command(
        &machine,
        &mut host,
        &CommandKind::Resume {
            by: by(),
            seen: None,
        },
    )
    .unwrap();
    assert_eq!(drive(&machine, &mut host).unwrap(), Halt::Standing);
    assert_eq!(host.asked, before + 1);
    assert!(Home::at(room.path().join("state")).open_run(&run).is_ok());
}
