//! Kills at any time: recorded answers are not requested again.

use std::process::{Child, Stdio};

use interlock_testkit::provider::{Reply, Script, call, text};
use serde_json::json;

use crate::stages::place::{Place, wait_until};

const FLOW: &str = "id: flow
stages:
  Work:
    body: 'Do ${ctx.task}'
    allowedTools: [Read, Write, Bash]
    allowedCommands: [mkfifo, cat, touch, echo]
    completionTool: submit
    completionSchema: {}
    turnCap: 6
    next: end
";

fn started(place: &Place) -> Child {
    let mut command = place.command(&["run", "flow", "it", "-n", "one", "--headless"]);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_while_a_model_speaks_it_is_asked_again_and_only_that_call() {
    let read = call("Read", json!({"file_path": "src/auth.rs"}));
    let place = Place::new(
        "anthropic",
        FLOW,
        Script::replies(vec![
            Reply::say(vec![read]),
            Reply::say(vec![text("I think about it for a long time")]).silent_at(300),
            Reply::say(vec![call("submit", json!({}))]),
        ]),
    );
    let child = started(&place);
    wait_until("the second call", || place.provider.asked().len() == 2);
    kill(child);
    place.by_person(&["resume", "one", "--headless"]).ended(0);
    let asked = place.provider.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(
        asked[1].bytes, asked[2].bytes,
        "the same request, byte for byte"
    );
    assert_eq!(place.count("ModelCalled"), 2);
}

#[test]
fn killed_in_a_tool_that_may_have_written_a_person_says_what_became_of_it() {
    for (word, told) in [
        ("--failed", "failed"),
        ("--done", "all is well"),
        ("--again", ""),
    ] {
        let place = Place::new(
            "openai",
            FLOW,
            Script::replies(vec![
                Reply::say(vec![call(
                    "Bash",
                    json!({"command": "echo x >> runs; cat wait"}),
                )]),
                Reply::say(vec![call("submit", json!({}))]),
            ]),
        );
        let pipe = std::process::Command::new("mkfifo")
            .arg(place.project().join("wait"))
            .status();
        assert!(pipe.unwrap().success());
        let child = started(&place);
        wait_until("the line", || {
            place.room.read("runs").as_deref() == Some("x\n")
        });
        kill(child);
        place
            .by_person(&["resume", "one", "--headless", "--again", "--no-wait"])
            .ended(2);
        let mut arguments = vec!["resume", "one", "--headless", word];
        if word == "--done" {
            arguments.push("all is well");
        }
        if word == "--again" {
            std::fs::remove_file(place.project().join("wait")).unwrap();
            place.room.write("wait", "go on\n").unwrap();
        }
        place.by_person(&arguments).ended(0);
        assert_eq!(place.provider.asked().len(), 2, "{word}");
        assert!(place.sent().contains(told), "{word}: {}", place.sent());
        let runs = if word == "--again" { "x\nx\n" } else { "x\n" };
        assert_eq!(place.room.read("runs").as_deref(), Some(runs), "{word}");
    }
}
