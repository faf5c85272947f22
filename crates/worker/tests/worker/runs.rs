//! Runs that workers carry to their ends.

use std::{fs, thread};

use interlock_shared::Role;
use interlock_testkit::provider::{Provider, Script, call};
use serde_json::{Value, json};

use crate::{cluster::until, crew::Crew, server::new_name};

/// Returns a workflow of steps, each of which appends its name to `journal` in the project.
pub(crate) fn steps(names: &[&str]) -> String {
    let mut text = format!("start-at: {}\nstates:\n", names[0]);
    for (at, name) in names.iter().enumerate() {
        text.push_str(&format!(
            "  {name}:\n    tool: bash\n    arguments: {{command: echo {name} >> journal, cwd: \"@/\"}}\n"
        ));
        if let Some(next) = names.get(at + 1) {
            text.push_str(&format!("    next: {next}\n"));
        }
    }
    text
}

/// A workflow with a step that waits for a file, and may be run again if it is interrupted.
pub(crate) const HELD: &str = r#"start-at: one
states:
  one:
    tool: bash
    arguments: {command: echo one >> journal, cwd: "@/"}
    next: two
  two:
    tool: bash
    on-crash: retry
    arguments:
      command: echo $$ >> pids; echo begin >> journal; while ! test -e go; do sleep 0.1; done; echo two >> journal
      cwd: "@/"
    next: three
  three:
    tool: bash
    arguments: {command: echo three >> journal, cwd: "@/"}
"#;

#[test]
fn a_run_that_a_server_has_started_is_carried_to_its_end() {
    let Some(crew) = Crew::new() else { return };
    let worker = crew.worker(30);
    let run = crew.start("steps.yaml", &steps(&["one", "two", "three"]));
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), ["one", "two", "three"]);
    until("the run is given back", || {
        worker.has_said("ended", |note| note["next"] == "over")
    });
    assert!(crew.fleet.verified(&run) > 6);
    until("the outbox is empty", || crew.outbox() == "0");
    let standing = crew.restate.call(&run, "standing", &Value::Null).json();
    assert_eq!(standing["holder"], Value::Null, "{standing}");
    assert_eq!(standing["epoch"], 1, "{standing}");
}

#[test]
fn a_pipeline_waits_for_a_person_and_goes_on_after_the_answer() {
    let Some(crew) = Crew::new() else { return };
    let model = Provider::start(Script::turns(vec![vec![call(
        "submit",
        json!({ "said": "done" }),
    )]]))
    .unwrap();
    let config = format!(
        "default_model = \"scripted/m\"\n[providers.scripted]\nkind = \"openai\"\nbase_url = \"{}\"\n",
        model.url()
    );
    let worker = crew.worker_of(30, &config, &[]);
    let run = crew.start(
        "review.yaml",
        "id: review\nstages:\n  Review:\n    body: Say something.\n    approvalBefore: Begin?\n    completionTool: submit\n    \
         completionSchema: {type: object, required: [said], properties: {said: {type: string}}}\n    turnCap: 3\n    next: end\n",
    );
    // Also where the stage begins with a question, nobody keeps the run meanwhile.
    until("it waits for a person", || {
        worker.has_said("ended", |note| note["next"] == "person")
    });
    let view = crew.view(&run);
    assert_eq!(view["report"]["status"], "awaiting_approval", "{view}");
    let ben = crew.fleet.token(Role::Person, "ben");
    let request = &view["requests"][0]["id"];
    let answered = crew.fleet.served.answer(&ben, &run, request, &view["seq"]);
    assert_eq!(answered.json()["verdict"], "accepted", "{answered:?}");
    crew.until_status(&run, "completed");
    assert!(worker.has_said("taken", |note| note["epoch"] == 2
        && note["interrupted"] == false));
    crew.fleet.verified(&run);
}

#[test]
fn a_run_that_waits_for_a_time_is_given_back_and_carried_again_when_it_is_due() {
    let Some(crew) = Crew::new() else { return };
    let worker = crew.worker(30);
    let text = r#"start-at: try
states:
  try:
    tool: bash
    arguments:
      command: if test -e tried; then echo again >> journal; else touch tried; exit 1; fi
      cwd: "@/"
      retry: {attempts: 2, wait: 3s}
"#;
    let run = crew.start("wait.yaml", text);
    until("it is given back", || {
        worker.has_said("ended", |note| note["next"] == "time")
    });
    let standing = crew.restate.call(&run, "standing", &Value::Null).json();
    assert_eq!(standing["holder"], Value::Null, "{standing}");
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), ["again"]);
    let taken = |note: &Value| note["epoch"] == 2 && note["interrupted"] == false;
    assert!(worker.has_said("taken", taken), "{:?}", worker.said());
}

#[test]
fn a_run_is_cancelled_while_it_is_carried() {
    let Some(crew) = Crew::new() else { return };
    let worker = crew.worker(30);
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    let ben = crew.fleet.token(Role::Person, "ben");
    let cancel = json!({ "cancel": {} });
    let decided = crew.fleet.served.decide(&ben, &run, &new_name("c"), cancel);
    assert_eq!(decided["verdict"], "accepted");
    crew.until_status(&run, "cancelled");
    until("its program has ended", || !crew.is_alive(0));
    until("it is given back", || {
        worker.has_said("ended", |note| note["next"] == "over")
    });
    assert_eq!(crew.lines("journal"), ["one", "begin"]);
    crew.fleet.verified(&run);
}

#[test]
fn what_is_sent_twice_is_done_once() {
    let Some(crew) = Crew::new() else { return };
    let workers = [crew.worker(30), crew.worker(30)];
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    thread::scope(|scope| {
        for _ in 0..8 {
            // They wait for the carrier, and then find nothing to do.
            scope.spawn(|| {
                let sent = crew.restate.call(&run, "wake/send", &json!("again"));
                assert!((200..300).contains(&sent.status), "{sent:?}");
            });
        }
    });
    fs::write(crew.project().join("go"), "").unwrap();
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), ["one", "begin", "two", "three"]);
    let taken = workers.iter().flat_map(|worker| worker.said());
    let taken = taken.filter(|note| note["event"] == "taken").count();
    assert_eq!(taken, 1);
    // Restate itself is the only one who may have a run carried.
    let refused = crew.restate.call(&run, "carry/send", &json!(0));
    assert!(refused.status >= 400, "{refused:?}");
}

#[test]
fn programs_of_a_run_do_not_find_the_database_in_an_environment() {
    let Some(crew) = Crew::new() else { return };
    let _worker = crew.worker(30);
    let text = r#"start-at: look
states:
  look:
    tool: bash
    arguments:
      command: env > seen; tr '\0' '\n' < /proc/$PPID/environ >> seen; tr '\0' '\n' < /proc/$PPID/cmdline >> seen
      cwd: "@/"
"#;
    let run = crew.start("look.yaml", text);
    crew.until_status(&run, "completed");
    let seen = crew.lines("seen").join("\n");
    assert!(seen.contains("interlock-worker"), "{seen}");
    for secret in ["INTERLOCK_DATABASE", "PGPASSWORD", "password="] {
        assert!(!seen.contains(secret), "{seen}");
    }
}
