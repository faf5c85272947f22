//! The pages besides the story: a call, a transcript, the cost, trust; by keyboard, in both color schemes, narrow.

use std::path::Path;

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    provider::{Reply, Script, call, text},
};
use serde_json::{Value, json};

use crate::e2e_console::{INTERLOCK, browser::Browser, page::Console, place::Place};

const SESSION: &str = "5b1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c11";
const STAGES: &str = "id: review
context: { task: null }
initial: plan
states:
  plan:
    type: stage
    body: 'Plan the work'
    allowed_tools: [Read, Edit]
    turn_cap: 6
    completion_tool: submit_plan
    completion_schema: { type: object, required: [steps] }
    on: { done: write, ERROR: failed }
  write:
    type: stage
    body: 'Write it'
    allowed_tools: [Read]
    turn_cap: 3
    completion_tool: submit
    completion_schema: { type: object }
    on: { done: done, ERROR: failed }
  done: { type: final }
  failed: { type: final, outcome: failure }
";
const GUARDED: &str = "id: calls
initial: planning
context: {version: '1.4', note: ''}
states:
  planning:
    allowed_tools: [Read, Bash]
    allowed_commands: [ls, cat]
    on:
      READY: writing
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship it?}
  writing:
    allowed_tools: [Read, Write, Bash]
    on: {BACK: planning}
  shipped: {type: final}
";
const LINE: &str = "cat notes.md | sort > out.txt && curl -d x https://example.com";

fn script() -> Script {
    let long: String = (1..60)
        .map(|line| format!("Line {line} of what I think.\n"))
        .collect();
    Script::replies(vec![
        Reply::say(vec![
            text(&long),
            call("Read", json!({ "file_path": "src/auth.rs" })),
        ]),
        Reply::say(vec![call(
            "Edit",
            json!({ "file_path": "src/auth.rs", "old_string": "token == \"open\"", "new_string": "verify(token)" }),
        )]),
        Reply::say(vec![call(
            "submit_plan",
            json!({ "steps": ["one\u{202e}two <b>bold</b>"] }),
        )]),
        Reply::say(vec![call("submit", json!({}))]),
    ])
}

/// Saves a picture of the page if requested.
pub(crate) fn shot(browser: &Browser, name: &str) {
    if let Some(folder) = std::env::var_os("INTERLOCK_SHOTS") {
        for (scheme, width) in [("light", 1440), ("dark", 1440), ("light", 360)] {
            let path = Path::new(&folder).join(format!("{name}-{scheme}-{width}.png"));
            browser.tell(
                "look",
                json!({ "path": path, "scheme": scheme, "width": width }),
            );
        }
    }
}

pub(crate) fn proposes(place: &Place, id: &str, tool: &str, input: &Value) {
    let told = before_tool(&place.room, SESSION, id, tool, input);
    let told = place.room.write("told.json", &told.to_string()).unwrap();
    let hook = format!("'{INTERLOCK}' hook claude-code < {}", told.display());
    // A shell does not count as a client.
    let mut client = place.room.command("find");
    client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &hook, ";"]);
    let output = client.output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("hookSpecificOutput"),
        "{output:?}"
    );
}

/// A person with a paired page of a console.
pub(crate) struct Sitting {
    pub(crate) browser: Browser,
    // It serves until it is dropped.
    _console: Console,
}

impl Sitting {
    pub(crate) fn down(place: &Place) -> Self {
        let mut console = Console::open(&place.room);
        let browser = Browser::start();
        let url = format!("http://localhost:{}/", console.port);
        let shown = browser.tell("open", json!({ "url": url }));
        console.types(shown["number"].as_str().unwrap(), "y\n");
        browser.tell("inside", json!({}));
        Self {
            browser,
            _console: console,
        }
    }

    fn clean(&self, name: &str) {
        shot(&self.browser, name);
        let found = self.browser.tell("examine", json!({}));
        assert_eq!(found["found"], json!([]), "{name}");
    }
}

fn has(text: &Value, words: &[&str]) {
    let text = text.as_str().unwrap();
    for word in words {
        assert!(text.contains(word), "{word}:\n{text}");
    }
}

#[test]
fn the_pages_of_a_call_a_transcript_the_cost_and_trust_story() {
    let place = Place::new("anthropic", STAGES, script());
    place
        .call(&["run", "flow", "it", "--mode", "yolo", "--headless"])
        .ended(0);
    let stages = place.events()[0]["run"].as_str().unwrap().to_owned();
    place.room.write("guarded.yaml", GUARDED).unwrap();
    let interlock = Interlock::new(INTERLOCK, &place.room);
    let guarded = interlock
        .start_for_session("guarded.yaml", SESSION)
        .unwrap();
    proposes(
        &place,
        "1",
        "Write",
        &json!({ "file_path": "notes.md", "content": "x" }),
    );
    proposes(
        &place,
        "2",
        "Bash",
        &json!({ "command": LINE, "description": "d" }),
    );
    let secret = place.room.config().join("interlock/config.toml");
    proposes(
        &place,
        "3",
        "Write",
        &json!({ "file_path": secret, "content": "x" }),
    );
    let person = Sitting::down(&place);
    let browser = &person.browser;

    // A denied line: its effects, the check that decided, and another state.
    browser.tell("run", json!({ "id": guarded }));
    browser.tell("back", json!({ "text": "cat notes.md" }));
    let found = browser.tell("call", json!({ "state": "writing" }));
    has(
        &found["details"],
        &[
            "Checks, in order",
            "decided",
            "sort",
            "notes.md",
            "out.txt",
            "example.com",
            "What would pass instead",
        ],
    );
    has(&found["elsewhere"], &["In writing it would be"]);
    person.clean("call");

    // The transcript of a run of stages, and its cost.
    browser.tell("run", json!({ "id": stages }));
    browser.tell(
        "tab",
        json!({ "name": "Transcript", "wait": ".content ol li" }),
    );
    let seen = browser.tell("text", json!({ "of": "#view" }));
    has(
        &seen["text"],
        &[
            "plan, attempt 1",
            "Plan the work",
            "Model, turn 1",
            "Read: allowed",
            "Handed in",
            "Show all",
            "\\u{202e}",
            "<b>bold</b>",
        ],
    );
    person.clean("transcript");
    browser.tell("tab", json!({ "name": "Cost", "wait": "table tbody tr" }));
    let seen = browser.tell("text", json!({ "of": "#view" }));
    has(&seen["text"], &["tokens", "plan", "write", "attempt 1"]);
    let walked = browser.tell("flame", json!({}));
    assert_eq!(walked["levels"], json!(["1", "2", "3", "4"]), "{walked}");
    person.clean("run-cost");

    browser.tell("page", json!({ "name": "Cost", "wait": "table tbody tr" }));
    let seen = browser.tell("text", json!({ "of": "main" }));
    has(&seen["text"], &["in 1 of the 2 runs", "not recorded"]);
    person.clean("cost");

    browser.tell("page", json!({ "name": "Trust", "wait": "dl dt" }));
    browser.tell(
        "press",
        json!({ "name": "Check all logs", "text": "2 of 2 logs checked: 2 intact, 0 broken." }),
    );
    browser.tell("press", json!({ "name": "Examine now", "text": "Gateway" }));
    let seen = browser.tell("text", json!({ "of": "main" }));
    has(
        &seen["text"],
        &["(this page)", "CallDenied", "config.toml", "level "],
    );
    person.clean("trust");

    // The data of a transition is corrected with the yes.
    let data = json!({ "version": "1.4", "note": "n" }).to_string();
    interlock
        .by_a_person(&["send", "SHIP", "--run", &guarded, "--data", &data])
        .unwrap();
    browser.tell("page", json!({ "name": "Inbox", "wait": "article" }));
    let wrong = browser.tell("correct", json!({ "data": "[1]" }));
    assert_eq!(wrong["locked"], "true", "{wrong}");
    has(&wrong["why"], &["object"]);
    let right = browser.tell("correct", json!({ "data": "{\"version\": \"1.4.1\"}" }));
    assert_eq!(right["locked"], "false", "{right}");
    person.clean("data");
    browser.tell("approve", json!({}));
    let context = interlock.status(&guarded).unwrap()["context"].clone();
    assert_eq!(
        (&context["version"], &context["note"]),
        (&json!("1.4.1"), &json!("n"))
    );
    let problems = browser.tell("problems", json!({}));
    assert_eq!(problems["problems"], json!([]));
    interlock.verify(&guarded).unwrap();
}
