//! People's answers through the built program: first, late and void ones.

use std::{
    process::{Output, Stdio},
    thread,
};

use interlock_core::{
    command::{Command, CommandKind},
    names::RunId,
};
use interlock_store::{EventLog as _, Home, submit};
use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
    terminal::Terminal,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const FLOW: &str = "id: flow
initial: draft
states:
  draft:
    allowed_tools: [Read]
    on_denied: ask
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship it?}
  shipped: {on: {BACK: draft, DONE: done}}
  done: {type: final}
";

/// A run of [`FLOW`] that guards one session, and the person who answers.
struct Scene {
    room: Room,
    run: String,
    token: String,
}

impl Scene {
    fn new() -> Self {
        let room = Room::new().unwrap();
        room.write("flow.yaml", FLOW).unwrap();
        let interlock = Interlock::new(INTERLOCK, &room);
        let run = interlock.start_for_session("flow.yaml", "s1").unwrap();
        let token = interlock.token().unwrap();
        Self { room, run, token }
    }

    fn person(&self, arguments: &[&str]) -> Output {
        self.room
            .command(INTERLOCK)
            .args(arguments)
            .arg("--json")
            .env("INTERLOCK_TOKEN", &self.token)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    #[track_caller]
    fn says(&self, arguments: &[&str]) -> Value {
        let output = self.person(arguments);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
            let errors = String::from_utf8_lossy(&output.stderr);
            json!({ "no JSON": errors })
        })
    }

    fn send(&self, event: &str) -> Value {
        self.says(&["send", event, "--run", &self.run])
    }

    fn status(&self) -> Value {
        self.says(&["status", &self.run])
    }

    /// Returns the id of the only pending request.
    fn waiting(&self) -> String {
        let status = self.status();
        assert_eq!(status["pending"].as_array().unwrap().len(), 1, "{status}");
        status["pending"][0]["id"].as_str().unwrap().to_owned()
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let all = Interlock::new(INTERLOCK, &self.room)
            .events(&self.run)
            .unwrap();
        all.into_iter()
            .filter(|event| event["event"] == name)
            .collect()
    }

    /// Returns the hook's answer to a call.
    fn hook(&self, mode: &str, id: &str, input: &Value) -> Value {
        let mut told = before_tool(&self.room, "s1", id, "WebFetch", input);
        told["permission_mode"] = json!(mode);
        let output = Interlock::new(INTERLOCK, &self.room)
            .hook(&told)
            .unwrap()
            .wait_with_output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn of_many_answers_at_once_one_counts_and_the_others_are_told() {
    let scene = Scene::new();
    scene.send("SHIP");
    let id = scene.waiting();
    let answers: Vec<Value> = thread::scope(|scope| {
        let asked: Vec<_> = (0..6)
            .map(|number| {
                let (scene, id) = (&scene, &id);
                scope.spawn(move || {
                    let word = if number % 2 == 0 { "approve" } else { "reject" };
                    scene.says(&[word, &scene.run, id])
                })
            })
            .collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (first, late): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| answer["ok"] == true);
    assert_eq!(first.len(), 1, "{answers:?}");
    for answer in late {
        assert_eq!(answer["code"], "nothing_pending", "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(
            message.contains(&id) && message.contains("was answered by"),
            "{message}"
        );
    }
    let given = scene.events("ApprovalGranted").len() + scene.events("ApprovalRejected").len();
    assert_eq!(given, 1);
}

#[test]
fn a_request_is_answered_by_a_process_that_did_not_see_it_asked() {
    let scene = Scene::new();
    scene.send("SHIP");
    let status = scene.status();
    let pending = &status["pending"][0];
    assert_eq!(pending["kind"], "approval");
    assert_eq!(pending["message"], "Ship it?");
    assert_eq!(pending["digest"].as_str().unwrap().len(), 64);
    let answer = scene.says(&["approve", &scene.run, pending["id"].as_str().unwrap()]);
    assert_eq!(answer["state"], "shipped", "{answer}");
}

#[test]
fn an_answer_to_the_stay_before_opens_nothing() {
    let scene = Scene::new();
    scene.send("SHIP");
    let first = scene.waiting();
    scene.says(&["approve", &scene.run, &first]);
    scene.send("BACK");
    scene.send("SHIP");
    assert_ne!(scene.waiting(), first);
    let late = scene.says(&["approve", &scene.run, &first]);
    assert_eq!(late["code"], "nothing_pending", "{late}");
    assert_eq!(scene.status()["status"], "awaiting_approval");
}

#[test]
fn what_is_asked_while_a_person_looks_is_not_answered_with_it() {
    let scene = Scene::new();
    scene.send("SHIP");
    let first = scene.waiting();
    let mut command = scene.room.command(INTERLOCK);
    command.args(["approve", &scene.run]);
    let mut looking = Terminal::start(&command, 24, 100).unwrap();
    looking
        .wait_for("the question", |screen| screen.contains("approve?"))
        .unwrap();
    scene.says(&["reject", &scene.run, &first]);
    scene.send("SHIP");
    let second = scene.waiting();
    assert_ne!(second, first);
    looking.press("y\r").unwrap();
    assert!(!looking.end().unwrap().success());
    assert_eq!(scene.waiting(), second);
    assert_eq!(scene.status()["status"], "awaiting_approval");
    assert_eq!(scene.events("ApprovalGranted"), Vec::<Value>::new());
}

#[test]
fn a_changed_workflow_file_changes_no_question() {
    let scene = Scene::new();
    scene.send("SHIP");
    let changed = FLOW.replace("target: shipped", "target: done");
    scene.room.write("flow.yaml", &changed).unwrap();
    let answer = scene.says(&["approve", &scene.run]);
    assert_eq!(answer["state"], "shipped", "{answer}");
}

#[test]
fn nothing_is_answered_after_a_cancellation() {
    let scene = Scene::new();
    scene.send("SHIP");
    let id = scene.waiting();
    scene.says(&["cancel", &scene.run]);
    let late = scene.says(&["approve", &scene.run, &id]);
    assert_eq!(late["code"], "run_over", "{late}");
    assert!(late["message"].as_str().unwrap().contains("void"), "{late}");
}

#[test]
fn a_clock_set_back_wakes_no_old_answer() {
    let scene = Scene::new();
    scene.send("SHIP");
    let first = scene.waiting();
    // The following events are recorded by a clock far behind.
    let home = Home::at(scene.room.state().join("interlock"));
    let mut log = home.open_run(&RunId::new(scene.run.as_str())).unwrap();
    let machine = log.machine().unwrap();
    let mut run = log.load().unwrap();
    for command in [
        CommandKind::Reject(interlock_core::command::Answer {
            by: "ana".to_owned(),
            ..Default::default()
        }),
        CommandKind::Transition(interlock_core::command::TransitionRequest {
            event: "SHIP".to_owned(),
            data: Default::default(),
            branch: None,
            agent: None,
            by: "agent".to_owned(),
            approved_by: None,
        }),
    ] {
        submit(
            &mut log,
            &machine,
            &mut run,
            &Command {
                at_ms: 5,
                kind: command,
            },
        )
        .unwrap();
    }
    let late = scene.says(&["approve", &scene.run, &first]);
    assert_eq!(late["code"], "nothing_pending", "{late}");
    assert!(
        late["message"]
            .as_str()
            .unwrap()
            .contains("by ana at 1970-01-01"),
        "{late}"
    );
    assert_eq!(scene.status()["status"], "awaiting_approval");
}

#[test]
fn a_granted_call_passes_once_and_with_its_own_arguments_only() {
    let scene = Scene::new();
    let page = json!({ "url": "https://example.com/a" });
    let other = json!({ "url": "https://example.com/b" });
    let decision = |answer: &Value| {
        let said = &answer["hookSpecificOutput"]["permissionDecision"];
        said.as_str().unwrap_or("none").to_owned()
    };
    let told = scene.hook("bypassPermissions", "t1", &page);
    assert_eq!(decision(&told), "deny", "{told}");
    let why = told["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    let id = scene.waiting();
    assert!(why.contains("interlock approve"), "{why}");
    scene.says(&["approve", &scene.run, &id]);
    assert_eq!(
        decision(&scene.hook("bypassPermissions", "t2", &other)),
        "deny"
    );
    assert_eq!(
        decision(&scene.hook("bypassPermissions", "t3", &page)),
        "none"
    );
    assert_eq!(
        decision(&scene.hook("bypassPermissions", "t4", &page)),
        "deny"
    );
    assert_eq!(scene.events("GrantConsumed").len(), 1);
}

#[test]
fn the_note_of_a_no_reaches_the_agent() {
    let scene = Scene::new();
    let page = json!({ "url": "https://example.com/a" });
    scene.hook("bypassPermissions", "t1", &page);
    scene.says(&["reject", &scene.run, "--note", "use the mirror"]);
    let told = scene.hook("bypassPermissions", "t2", &page).to_string();
    assert!(told.contains("use the mirror"), "{told}");
}
