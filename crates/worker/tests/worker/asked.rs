//! What a person says to a durable run over HTTP: answers to its questions, going on after a pause, and what becomes of a step
//! that was interrupted.

use std::{fs, process::Command};

use interlock_shared::Role;
use serde_json::{Value, json};

use crate::{api::Reply, cluster::until, crew::Crew, server::new_name};

const ASKS: &str = r#"start-at: where
states:
  where:
    tool: ask-user
    arguments: {question: Where to?, options: [dev, {value: prod, description: live}]}
    output: var(place)
    next: hold
  hold:
    tool: pause
    arguments: {reason: Look at it.}
    next: go
  go:
    tool: bash
    arguments: {command: "echo {{ place }} >> journal", cwd: "@/"}
    next: cut
  cut:
    tool: bash
    arguments:
      command: echo $$ >> pids; while ! test -e go; do sleep 0.1; done
      cwd: "@/"
    next: end
  end:
    tool: bash
    arguments: {command: "echo end >> journal", cwd: "@/"}
"#;

fn send(crew: &Crew, token: &str, run: &str, command: Value) -> Reply {
    let path = format!("/v1/runs/{run}/commands");
    let body = json!({ "command": command });
    crew.fleet.served.post(token, &path, &new_name("k"), &body)
}

/// Waits until the run stands at something of this kind, and returns it.
fn stands(crew: &Crew, run: &str, kind: &str) -> Value {
    let mut found = Value::Null;
    until(kind, || {
        found = crew.view(run)["standing"][0].clone();
        found["kind"] == kind
    });
    found
}

#[test]
fn a_question_a_pause_and_an_interrupted_step_are_answered_over_http() {
    let Some(crew) = Crew::new() else { return };
    let mut worker = crew.worker(3);
    let run = crew.start("asks.yaml", ASKS);
    let ben = crew.fleet.token(Role::Person, "ben");
    let agent = crew.fleet.token(Role::Agent, "ben");

    let asked = stands(&crew, &run, "question");
    assert_eq!(asked["message"], "Where to?");
    assert_eq!(asked["options"], json!(["dev", "prod"]));
    let waiting = crew.fleet.served.get(&ben, "/v1/runs?waiting=1").json();
    assert_eq!(waiting["runs"][0]["run"], json!(run), "{waiting}");
    let answer = |text: &str| json!({ "answer": { "state": asked["state"], "text": text } });
    // No agent answers, and only what is asked is an answer.
    let refused = send(&crew, &agent, &run, answer("dev"));
    assert_eq!((refused.status, &*refused.code()), (403, "forbidden_role"));
    for wrong in [
        answer("both"),
        json!({ "answer": { "state": "go", "text": "dev" } }),
        json!({ "go_on": {} }),
    ] {
        let refused = send(&crew, &ben, &run, wrong.clone());
        assert_eq!(
            (refused.status, &*refused.code()),
            (409, "no_answer"),
            "{wrong}"
        );
    }
    let settled = send(&crew, &ben, &run, json!({ "settle": { "how": "done" } })).json();
    assert_eq!(settled["verdict"], "refused", "{settled}");
    // The command of the page, as printed.
    let page = include_str!("../../../../docs/src/workers.md");
    let printed = page
        .split("```sh\n")
        .find(|block| block.contains("{\"answer\":"));
    let printed = printed.unwrap().split("```").next().unwrap();
    let line = printed
        .replace("127.0.0.1:4680", crew.fleet.served.address())
        .replace("01k9", &run);
    fs::write(crew.project().join("ana.token"), &crew.ana).unwrap();
    let mut shell = Command::new("sh");
    let said = shell
        .args(["-c", &line])
        .current_dir(crew.project())
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(said["verdict"], "accepted", "{said}");

    let paused = stands(&crew, &run, "pause");
    assert_eq!(paused["message"], "Look at it.");
    let gone_on = send(&crew, &ben, &run, json!({ "go_on": {} })).json();
    assert_eq!(gone_on["verdict"], "accepted", "{gone_on}");

    until("the step runs", || crew.lines("pids").len() == 1);
    assert_eq!(crew.lines("journal"), ["prod"]);
    let _second = crew.worker(3);
    worker.kill();
    let lost = stands(&crew, &run, "lost");
    assert_eq!(lost["state"], "cut", "{lost}");
    let settle = json!({ "settle": { "state": "cut", "how": "done", "output": "" } });
    assert_eq!(
        send(&crew, &ben, &run, settle).json()["verdict"],
        "accepted"
    );
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), ["prod", "end"]);
    assert_eq!(crew.lines("pids").len(), 1);
    assert_eq!(crew.view(&run)["standing"], Value::Null);
    crew.fleet.verified(&run);
}
