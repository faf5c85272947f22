//! A person at the terminal: whether a stage may begin, and an early end.

use std::process::Stdio;

use interlock_testkit::{
    provider::{Script, call},
    terminal::Terminal,
};
use serde_json::json;

use crate::stages::place::{Place, wait_until};

const RELEASE: &str = "id: flow
stages:
  Build:
    body: 'Build ${ctx.task}'
    completionTool: submit
    completionSchema: {}
    turnCap: 2
    next: Deploy
  Deploy:
    body: deploy
    completionTool: submit
    completionSchema: {}
    turnCap: 2
    approvalBefore: 'Deploy ${ctx.task}?'
    next: end
    on: { FAIL: Stay }
  Stay:
    body: 'It was not to be: ${ctx.error.code} ${ctx.error.message}'
    completionTool: submit
    completionSchema: {}
    turnCap: 2
    next: fail
";

fn place() -> Place {
    let submits = vec![vec![call("submit", json!({}))]; 3];
    Place::new("anthropic", RELEASE, Script::turns(submits))
}

fn asked(terminal: &mut Terminal) -> String {
    let prompt = |screen: &str| screen.contains("[y]es, [n]o, [d]efer > ");
    terminal.wait_for("the question", prompt).unwrap()
}

#[test]
fn a_person_at_the_terminal_is_asked_before_the_stage() {
    for (keys, code, stages) in [
        ("y\n", 0, &["Build", "Deploy"][..]),
        ("n not on a Sunday\n", 1, &["Build", "Stay"]),
        ("d\n", 75, &["Build"]),
        // Anything else is no answer.
        ("maybe\ny\n", 0, &["Build", "Deploy"]),
    ] {
        let place = place();
        let command = place.command(&["run", "flow", "it", "-n", "one"]);
        let mut terminal = Terminal::start(&command, 40, 120).unwrap();
        let shown = asked(&mut terminal);
        assert!(shown.contains("`Deploy` asks"), "{shown}");
        assert!(shown.contains("Deploy it?"), "{shown}");
        terminal.press(keys).unwrap();
        assert_eq!(terminal.end().unwrap().code(), Some(code), "{keys:?}");
        let exited = place.events();
        let exited: Vec<&str> = exited
            .iter()
            .filter(|event| event["event"] == "StageExited" && event["turns"] != 0)
            .map(|event| event["stage"].as_str().unwrap())
            .collect();
        assert_eq!(exited, stages, "{keys:?}");
        if code == 1 {
            assert!(place.sent().contains("rejected"), "{}", place.sent());
        }
        if code == 75 {
            // A deferred question is asked again.
            let command = place.persons(&["resume", "one"]);
            let mut terminal = Terminal::start(&command, 40, 120).unwrap();
            asked(&mut terminal);
            terminal.press("y\n").unwrap();
            assert_eq!(terminal.end().unwrap().code(), Some(0));
        }
    }
}

#[test]
fn headless_nobody_is_waited_for() {
    let place = place();
    place
        .call(&["run", "flow", "it", "-n", "one", "--headless"])
        .ended(75)
        .says(&["Deploy it?", "interlock approve one"]);
    place.by_person(&["resume", "one", "--headless"]).ended(75);
    place.by_person(&["approve", "one"]).ended(0);
    place.by_person(&["resume", "one", "--headless"]).ended(0);
}

#[test]
fn an_answer_from_elsewhere_reaches_the_run_that_waits() {
    let place = place();
    let mut command = place.command(&["run", "flow", "it", "-n", "one", "--ask", "remote"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the question", || {
        place
            .call(&["log", "one", "--json"])
            .out
            .contains("PersonAsked")
    });
    place.by_person(&["approve", "one"]).ended(0);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("waits for `interlock approve`"), "{said}");
}

#[test]
fn an_answer_from_elsewhere_takes_the_question_off_the_terminal() {
    let place = place();
    let command = place.command(&["run", "flow", "it", "-n", "one"]);
    let mut terminal = Terminal::start(&command, 40, 120).unwrap();
    asked(&mut terminal);
    place.by_person(&["approve", "one"]).ended(0);
    assert_eq!(terminal.end().unwrap().code(), Some(0));
}

#[test]
fn an_interrupt_at_the_question_cancels_the_run() {
    let place = place();
    let command = place.command(&["run", "flow", "it"]);
    let mut terminal = Terminal::start(&command, 40, 120).unwrap();
    asked(&mut terminal);
    terminal.press("\u{3}").unwrap();
    assert_eq!(terminal.end().unwrap().code(), Some(130));
    assert_eq!(place.status()["status"], "cancelled");
}

/// Ignores the signals to end, and writes to a file each tenth of a second that it lives on.
const STUBBORN: &str = "trap 'asked=yes' TERM INT
echo begun > begun
while :; do
    sleep 0.1
    if [ -n \"$asked\" ]; then echo still >> still; fi
done
";

#[test]
fn a_second_interrupt_kills_the_tool_that_runs() {
    let flow = "id: flow
stages:
  Only:
    body: 'Do ${ctx.task}'
    allowedTools: [Read, Write, Bash]
    completionTool: submit
    completionSchema: {}
    turnCap: 3
    next: end
";
    let turns = vec![vec![call("Bash", json!({"command": "sh stubborn.sh"}))]];
    let place = Place::new("openai", flow, Script::turns(turns));
    place.room.write("stubborn.sh", STUBBORN).unwrap();
    let mut command = place.command(&["run", "flow", "it", "--headless"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("the line", || place.room.read("begun").is_some());
    let interrupt = || {
        let pid = child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status();
        assert!(sent.unwrap().success());
    };
    interrupt();
    wait_until("the line to be asked", || {
        place.room.read("still").is_some()
    });
    interrupt();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // Without the second signal it would have lived for five seconds.
    let lived = place.room.read("still").unwrap().lines().count();
    assert!(lived < 40, "it lived on for {lived} tenths of a second");
}

/// A stage whose start requires a passkey.
const SIGNED: &str = "id: flow
initial: deploy
states:
  deploy:
    type: stage
    body: deploy
    approval_before: 'Deploy?'
    approval: passkey
    turn_cap: 2
    completion_tool: submit
    completion_schema: {}
    on: { done: done, ERROR: failed }
  done: { type: final }
  failed: { type: final, outcome: failure }
";

#[test]
fn at_the_terminal_no_yes_is_given_that_takes_a_passkey() {
    for (keys, code) in [("y\nn\n", 1), ("yes\nd\n", 75)] {
        let submits = vec![vec![call("submit", json!({}))]];
        let place = Place::new("anthropic", SIGNED, Script::turns(submits));
        let command = place.command(&["run", "flow", "-n", "one"]);
        let mut terminal = Terminal::start(&command, 40, 120).unwrap();
        let prompt = |screen: &str| screen.contains("[n]o, [d]efer > ");
        let shown = terminal.wait_for("the question", prompt).unwrap();
        assert!(shown.contains("`interlock console` opens"), "{shown}");
        assert!(!shown.contains("[y]es"), "{shown}");
        terminal.press(keys).unwrap();
        assert_eq!(terminal.end().unwrap().code(), Some(code), "{keys:?}");
        assert_eq!(place.sent().trim(), "", "no model was called");
    }
}
