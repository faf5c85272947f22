//! The inspector's view of a moment: branches, evidence and the edit that invalidates it, people's answers; and the
//! filters of the list of runs.

use interlock_testkit::interlock::before_tool;
use serde_json::{Value, json};

use crate::console::{INTERLOCK, SESSION, World, page::Console};

const FORK: &str = "id: release
initial: planning
states:
  planning:
    on:
      SPLIT:
        fork:
          branches:
            code: {initial: coding, terminal: code_ready}
            docs: {initial: writing, terminal: docs_ready}
          on_complete: review
          on_fail: failed
  coding: {allowed_tools: [Read, Edit], max_iterations: 5, on: {TEST: testing}}
  testing: {allowed_tools: [Bash], on: {PASS: code_ready, FAIL: coding}}
  code_ready: {type: final}
  writing: {allowed_tools: [Read, Write], on: {READY: docs_ready}}
  docs_ready: {type: final}
  review: {on: {SHIP: shipped}}
  shipped: {type: final}
  failed: {type: final}
";

const EVIDENCE: &str = "id: checked
initial: working
states:
  working:
    allowed_tools: [Read, Write]
    on:
      DONE: {target: done, guards: [{evidence: {tool: Read, path: a.txt}}]}
  done: {type: final}
";

struct Looking {
    console: Console,
    bearer: String,
}

impl Looking {
    fn at(world: &World) -> Self {
        let mut console = Console::open(&world.room);
        let bearer = console.pair();
        Self { console, bearer }
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.console.get(path, &self.bearer);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }
}

fn sends(world: &World, words: &[&str]) {
    let all = [&["send"][..], words, &["--run", &world.run]].concat();
    world.interlock().by_a_person(&all).unwrap();
}

/// Lists the branches of a moment: title, status, and the possible events.
fn branches(state: &Value) -> Vec<(String, String, Vec<String>)> {
    let listed = state["branches"]["listed"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    listed
        .map(|branch| {
            let exits = branch["here"]["transitions"].as_array();
            let exits = exits.into_iter().flatten().map(|exit| text(&exit["event"]));
            (
                text(&branch["title"]),
                text(&branch["status"]),
                exits.collect(),
            )
        })
        .collect()
}

#[test]
fn each_branch_says_how_far_it_is_and_what_may_be_done_in_it() {
    let world = World::of(FORK);
    let looking = Looking::at(&world);
    let state = |at: &str| looking.get(&format!("runs/{}/state{at}", world.run));
    assert_eq!(state("")["branches"], json!({ "listed": [], "more": 0 }));
    sends(&world, &["SPLIT"]);
    sends(&world, &["TEST", "--branch", "code"]);
    let both = state("");
    let row = |title: &str, status: &str, exits: &[&str]| {
        let exits = exits.iter().map(|exit| (*exit).to_owned()).collect();
        (title.to_owned(), status.to_owned(), exits)
    };
    assert_eq!(
        branches(&both),
        [
            row("planning/code/testing", "open", &["PASS", "FAIL"]),
            row("planning/docs/writing", "open", &["READY"]),
        ],
        "{both:#}"
    );
    let docs = &both["branches"]["listed"][1]["here"];
    assert_eq!(docs["tools"], json!(["Read", "Write"]), "{both:#}");
    // The previous moment is unchanged.
    let at = both["events"].as_u64().unwrap() - 1;
    let earlier = branches(&state(&format!("?at={at}")));
    assert_eq!(earlier[0], row("planning/code/coding", "open", &["TEST"]));
    sends(&world, &["READY", "--branch", "docs"]);
    let one = branches(&state(""));
    assert_eq!(
        one,
        [
            row("planning/code/testing", "open", &["PASS", "FAIL"]),
            row("planning/docs/docs_ready", "succeeded", &[]),
        ]
    );
}

/// Makes a successful call by the agent.
fn calls(world: &World, id: &str, tool: &str, input: &Value) {
    world.proposes(id, tool, input);
    let mut told = before_tool(&world.room, SESSION, id, tool, input);
    told["hook_event_name"] = json!("PostToolUse");
    told["tool_response"] = json!({ "ok": true });
    let told = world.room.write("told.json", &told.to_string()).unwrap();
    // Not from this process, because it uses the console, too.
    let hook = format!("'{INTERLOCK}' hook claude-code < {}", told.display());
    let mut client = world.room.command("find");
    client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &hook, ";"]);
    assert!(client.output().unwrap().status.success());
}

#[test]
fn evidence_names_the_edit_since_which_it_does_not_count() {
    let world = World::of(EVIDENCE);
    let looking = Looking::at(&world);
    let evidence = || {
        let state = looking.get(&format!("runs/{}/state", world.run));
        let found = &state["evidence"][0];
        let text = found["text"].as_str().unwrap().to_owned();
        (text, found["holds"].clone())
    };
    assert_eq!(
        evidence(),
        ("`Read a.txt`: not seen".to_owned(), json!(false))
    );
    world.room.write("a.txt", "a").unwrap();
    let file = world.room.file("a.txt");
    calls(&world, "c1", "Read", &json!({ "file_path": file }));
    let (text, holds) = evidence();
    assert!(
        text.starts_with("`Read a.txt`: exit 0 (event ") && holds == true,
        "{text} {holds}"
    );
    calls(
        &world,
        "c2",
        "Write",
        &json!({ "file_path": file, "content": "b" }),
    );
    let edit = world.events("CallEnded")[1]["seq"].clone();
    let (text, holds) = evidence();
    let wanted = format!("does not count since the edit of event {edit}");
    assert!(
        text.ends_with(&wanted) && holds == false,
        "{wanted}: {text} {holds}"
    );
}

#[test]
fn the_answers_of_people_stand_with_the_moment() {
    let world = World::new();
    world.asks();
    let looking = Looking::at(&world);
    let state = || looking.get(&format!("runs/{}/state", world.run));
    assert_eq!(state()["answers"], json!([]));
    let reject = ["reject", &world.run, "--note", "not yet"];
    world.interlock().by_a_person(&reject).unwrap();
    let answers = state()["answers"].clone();
    let one = &answers[0];
    assert_eq!(
        (&one["about"], &one["how"], &one["note"]),
        (&json!("SHIP"), &json!("rejected"), &json!("not yet")),
        "{answers:#}"
    );
}

#[test]
fn runs_are_filtered_by_all_that_a_list_offers() {
    let world = World::of(FORK);
    sends(&world, &["SPLIT"]);
    let looking = Looking::at(&world);
    let total = |query: &str| looking.get(&format!("runs?{query}"))["total"].clone();
    let project = looking.get("projects")["projects"][0]["root"].clone();
    let own = format!("project={}", project.as_str().unwrap());
    for (query, runs) in [
        (own.as_str(), 1),
        ("project=/nosuch", 0),
        ("workflow=release", 1),
        ("workflow=rel", 0),
        ("status=open", 1),
        ("status=running", 1),
        ("status=cancelled", 0),
        ("text=RELEA", 1),
        ("text=nosuch", 0),
        ("workflow=release&status=cancelled", 0),
        ("state=writing", 1),
        ("state=docs", 1),
        ("state=writ", 0),
        ("state=review", 0),
        ("since=1", 1),
        ("since=99999999999999", 0),
    ] {
        assert_eq!(total(query), runs, "{query}");
    }
    let states = looking.get("runs?state=review")["states"].clone();
    assert!(
        states.as_array().unwrap().contains(&json!("writing")),
        "{states}"
    );
    let wrong = looking.console.get("runs?since=yesterday", &looking.bearer);
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "input"));
}
