//! The views of a run of model stages: transcripts and cost; and the view of trust.

use interlock_testkit::provider::{Reply, Script, call, text};
use serde_json::{Value, json};

use crate::console::{World, page::Console, place::Place};

const STAGE: &str = "id: review
initial: plan
context: { task: null }
states:
  plan:
    type: stage
    body: 'Plan ${ctx.task}'
    allowed_tools: [Read, Edit]
    turn_cap: 6
    completion_tool: submit_plan
    completion_schema: { type: object, required: [steps] }
    on: { done: done, ERROR: failed }
  done: { type: final }
  failed: { type: final, outcome: failure }
";

fn script() -> Script {
    let edit = json!({
        "file_path": "src/auth.rs", "old_string": "token == \"open\"", "new_string": "verify(token)",
    });
    Script::replies(vec![
        Reply::say(vec![
            text("I look. \u{202e}<script> with sk-live-0123456789abcdefghij"),
            call("Read", json!({ "file_path": "src/auth.rs" })),
        ]),
        Reply::say(vec![call("Edit", &edit)]),
        Reply::say(vec![call(
            "Write",
            json!({ "file_path": "b.txt", "content": "x" }),
        )]),
        Reply::say(vec![call("submit_plan", json!({}))]),
        Reply::say(vec![call("submit_plan", json!({ "steps": ["one"] }))]),
    ])
}

struct Looked {
    console: Console,
    bearer: String,
    run: String,
    place: Place,
}

impl Looked {
    fn new() -> Self {
        let place = Place::new("anthropic", STAGE, script());
        place
            .call(&["run", "flow", "it", "--mode", "yolo", "--headless"])
            .ended(0);
        let run = place.events()[0]["run"].as_str().unwrap().to_owned();
        let mut console = Console::open(&place.room);
        let bearer = console.pair();
        Self {
            console,
            bearer,
            run,
            place,
        }
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.console.get(path, &self.bearer);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let hidden = answer.body.contains(['\u{202e}', '\u{1b}']);
        assert!(!hidden, "{path}: {}", answer.body);
        answer.json()
    }

    fn of_run(&self, path: &str) -> Value {
        self.get(&format!("runs/{}/{path}", self.run))
    }
}

fn roles(entries: &Value) -> Vec<&str> {
    let entries = entries.as_array().unwrap().iter();
    entries
        .map(|entry| entry["role"].as_str().unwrap())
        .collect()
}

#[test]
fn a_transcript_tells_what_was_said_and_what_became_of_each_call() {
    let looked = Looked::new();
    let whole = looked.of_run("transcript");
    let entries = &whole["entries"];
    assert_eq!(
        roles(entries),
        [
            "attempt",
            "told",
            "model",
            "verdict",
            "result",
            "model",
            "verdict",
            "result",
            "model",
            "verdict",
            "verdict",
            "model",
            "completion",
            "model",
            "completion",
            "end"
        ],
        "{whole:#}"
    );
    assert_eq!(entries[1]["system"], "Plan it");
    assert_eq!(entries[2]["model"], "anthropic/scripted");
    assert_eq!(
        entries[2]["text"],
        "I look. \\u{202e}<script> with [secret]"
    );
    assert_eq!(entries[2]["calls"][0]["tool"], "Read");
    assert!(
        entries[2]["usage"]["input"].as_u64().unwrap() > 0,
        "{whole:#}"
    );
    assert!(
        entries[4]["text"]
            .as_str()
            .unwrap()
            .contains("pub fn check"),
        "{whole:#}"
    );
    // Nobody can be asked here.
    assert_eq!(entries[9]["verdict"], "asked", "{whole:#}");
    assert_eq!(entries[10]["verdict"], "denied", "{whole:#}");
    assert_eq!(entries[12]["ok"], false);
    assert!(
        entries[12]["text"].as_str().unwrap().contains("steps"),
        "{whole:#}"
    );
    assert_eq!(entries[15]["outcome"], "ok");
    assert_eq!(whole["attempts"][0]["state"], "plan");
    // Page by page, it is the same.
    let mut paged = Vec::new();
    for offset in (0..16).step_by(5) {
        let page = looked.of_run(&format!("transcript?offset={offset}&limit=5"));
        assert_eq!(page["total"], 16);
        paged.extend(page["entries"].as_array().unwrap().clone());
    }
    assert_eq!(&Value::Array(paged), entries);
    // For a past moment, later entries are not included.
    let seq = entries[5]["seq"].as_u64().unwrap();
    let past = looked.of_run(&format!("transcript?at={seq}"));
    assert_eq!(past["total"], 5);
    assert_eq!(
        past["entries"].as_array().unwrap()[..],
        entries.as_array().unwrap()[..5]
    );
    assert_eq!(looked.of_run("transcript?at=0")["attempts"], json!([]));
    assert_eq!(looked.of_run("transcript?offset=99")["entries"], json!([]));
}

#[test]
fn an_edit_of_a_stage_is_shown_by_what_it_would_change() {
    let looked = Looked::new();
    let lines = looked.of_run("events?kind=ToolAllowed,ToolDenied");
    let seq = |at: usize| lines["events"][at]["seq"].as_u64().unwrap();
    let edit = looked.of_run(&format!("calls/{}/why", seq(1)));
    assert_eq!(
        edit["diff"],
        json!(["-token == \"open\"", "+verify(token)"]),
        "{edit:#}"
    );
    assert_eq!(edit["kept"]["exact"], true, "{edit:#}");
    assert_eq!(edit["facts"]["writes"], json!(["src/auth.rs"]), "{edit:#}");
    let names: Vec<&str> = edit["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| argument["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["file_path", "old_string", "new_string"], "{edit:#}");
    // The stage determines its permitted calls.
    let path = format!("runs/{}/calls/{}/why?state=done", looked.run, seq(1));
    assert_eq!(looked.console.get(&path, &looked.bearer).status, 400);
    let write = looked.of_run(&format!("calls/{}/why", seq(2)));
    assert_eq!(
        (&write["verdict"], &write["diff"]),
        (&json!("denied"), &json!(["+x"])),
        "{write:#}"
    );
}

#[test]
fn what_lies_beside_the_log_is_shown_by_its_digest_and_masked() {
    let looked = Looked::new();
    let answered = looked.of_run("events?kind=ModelResponded");
    let seq = answered["events"][0]["seq"].as_u64().unwrap();
    let event = looked.of_run(&format!("events/{seq}"));
    let kept = event["kept"].as_array().unwrap();
    assert_eq!(kept.len(), 1, "{event:#}");
    let digest = kept[0]["digest"].as_str().unwrap();
    let blob = looked.of_run(&format!("blobs/{digest}"));
    let text = blob["text"].as_str().unwrap();
    let masked = "I look. \\u{202e}<script> with [secret]";
    assert!(text.contains(masked), "{text}");
    assert_eq!(blob["cut"], false);
    // A digest is not a path, and unreferenced texts cannot be read.
    for wrong in ["..%2fevents.db", &"0".repeat(64), "x"] {
        let path = format!("runs/{}/blobs/{wrong}", looked.run);
        assert_eq!(
            looked.console.get(&path, &looked.bearer).status,
            404,
            "{wrong}"
        );
    }
    let started = looked.of_run("events/0");
    assert_eq!(started["kept"], json!([]), "{started:#}");
}

#[test]
fn the_cost_is_that_of_the_log_and_is_not_0_where_none_is_recorded() {
    let looked = Looked::new();
    let cost = looked.of_run("cost");
    let ended = looked.place.events();
    let ended = ended
        .iter()
        .find(|event| event["event"] == "StageExited")
        .unwrap();
    assert_eq!(cost["usage"]["input"], ended["usage"]["input"], "{cost:#}");
    assert_eq!(
        cost["usage"]["output"], ended["usage"]["output"],
        "{cost:#}"
    );
    let row = &cost["rows"][0];
    assert_eq!(
        (&row["state"], &row["attempt"], &row["turns"]),
        (&json!("plan"), &json!(1), &json!(5))
    );
    assert_eq!(row["model"], "anthropic/scripted");
    assert_eq!(looked.of_run("cost?at=3")["usage"], Value::Null);
    let all = looked.get("cost");
    assert_eq!(
        (&all["total"], &all["recorded"]),
        (&json!(1), &json!(1)),
        "{all:#}"
    );
    assert_eq!(all["runs"][0]["usage"], cost["usage"]);
    assert_eq!(all["sum"], cost["usage"]);
    assert_eq!(looked.get("cost?workflow=other")["sum"], Value::Null);

    let world = World::new();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let all = console.get("cost", &bearer).json();
    assert_eq!(
        (&all["sum"], &all["runs"][0]["usage"]),
        (&Value::Null, &Value::Null),
        "{all:#}"
    );
    let one = console
        .get(&format!("runs/{}/cost", world.run), &bearer)
        .json();
    assert_eq!(one, json!({ "usage": null, "rows": [] }));
    let none = console
        .get(&format!("runs/{}/transcript", world.run), &bearer)
        .json();
    assert_eq!(none["total"], 0);
}
