//! Two runs side by side, a judgment under another workflow, and a fork: by keyboard and by mouse.

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::{Value, json};

use crate::e2e_console::{INTERLOCK, browser::Browser, page::Console, pages::shot, story::picture};

const FLOW: &str = "id: notes
initial: planning
context: {version: '1.4', reviewed: false}
states:
  planning:
    allowed_tools: [Read, Bash]
    allowed_commands: [ls, git status]
    on: {READY: writing}
  writing:
    allowed_tools: [Read, Write, Edit]
    max_iterations: 10
    on: {CHECK: checking, BACK: planning}
  checking:
    allowed_tools: [Read, Bash]
    allowed_commands: [make check, git diff]
    on: {DONE: shipped, BACK: writing}
  shipped: {type: final}
";

const FORK: &str = "id: release
initial: planning
states:
  planning:
    allowed_tools: [Read]
    on:
      SPLIT:
        fork:
          branches:
            code: {initial: coding, terminal: code_ready}
            docs: {initial: writing, terminal: docs_ready}
          on_complete: review
          on_fail: failed
  coding: {allowed_tools: [Read, Edit, Bash], on: {TEST: testing}}
  testing: {allowed_tools: [Read, Bash], on: {PASS: code_ready, FAIL: coding}}
  code_ready: {type: final}
  writing: {allowed_tools: [Read, Write], on: {READY: docs_ready}}
  docs_ready: {type: final}
  review:
    allowed_tools: [Read]
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship the release?}
  shipped: {type: final}
  failed: {type: final}
";

const FILE: &str = ".interlock/workflows/notes.yaml";

struct Story {
    room: Room,
    runs: Vec<String>,
}

impl Story {
    fn interlock(&self) -> Interlock<'_> {
        Interlock::new(INTERLOCK, &self.room)
    }

    /// Begins a run with its own session.
    fn begins(&mut self, file: &str) -> String {
        let session = session(self.runs.len());
        let run = self.interlock().start_for_session(file, &session).unwrap();
        self.runs.push(run.clone());
        run
    }

    fn proposes(&self, run: &str, tool: &str, input: &Value) {
        let number = self.runs.iter().position(|known| known == run).unwrap();
        let id = format!("{number}-{tool}-{input}");
        let told = before_tool(&self.room, &session(number), &id, tool, input);
        let told = self.room.write("told.json", &told.to_string()).unwrap();
        let hook = format!("'{INTERLOCK}' hook claude-code < {}", told.display());
        // A shell does not count as a client.
        let mut client = self.room.command("find");
        client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &hook, ";"]);
        let output = client.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with('{'), "{output:?}");
    }

    fn sends(&self, run: &str, words: &[&str]) {
        let all = [&["send"][..], words, &["--run", run]].concat();
        self.interlock().by_a_person(&all).unwrap();
    }
}

fn session(number: usize) -> String {
    format!("5b1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c1{number}")
}

struct Sitting {
    browser: Browser,
    // It serves until it is dropped.
    _console: Console,
}

impl Sitting {
    fn down(room: &Room) -> Self {
        let mut console = Console::open(room);
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

    fn tell(&self, what: &str, options: Value) -> Value {
        self.browser.tell(what, options)
    }

    fn waits(&self, of: &str, text: &str) {
        self.tell("waits", json!({ "of": of, "text": text }));
    }

    fn keys(&self, keys: &[&str]) {
        self.tell("keys", json!({ "keys": keys }));
    }

    fn stands_at(&self, status: &str, row: &str) {
        self.waits(".steps [role=status]", status);
        self.waits(".line[aria-selected=true]", row);
    }

    /// Checks the page in both color schemes and on a narrow screen.
    fn clean(&self, name: &str) {
        shot(&self.browser, name);
        let found = self.tell("examine", json!({}));
        assert_eq!(found["found"], json!([]), "{name}");
        let problems = self.tell("problems", json!({}));
        assert_eq!(problems["problems"], json!([]), "{name}");
    }
}

#[test]
fn two_runs_are_compared_and_a_log_is_judged_under_another_workflow_story() {
    let room = Room::new().unwrap();
    room.write("notes.yaml", FLOW).unwrap();
    room.write("release.yaml", FORK).unwrap();
    let narrower = FLOW.replace(
        "[Read, Bash]\n    allowed_commands: [ls, git status]",
        "[Read]",
    );
    let narrower = narrower.replace(
        "CHECK: checking",
        "CHECK: {target: checking, requires_approval: true, approval_message: Is the text complete?}",
    );
    let narrower = narrower.replace("[make check, git diff]", "[make test, git diff]");
    room.write(FILE, &narrower).unwrap();
    let mut story = Story {
        room,
        runs: Vec::new(),
    };
    let (one, two) = (story.begins("notes.yaml"), story.begins("notes.yaml"));
    for run in [&one, &two] {
        story.proposes(run, "Read", &json!({ "file_path": "notes.md" }));
        story.proposes(run, "Bash", &json!({ "command": "git status" }));
    }
    // Only the first one tries to write too early; only the second one goes back.
    story.proposes(
        &one,
        "Write",
        &json!({ "file_path": "notes.md", "content": "x" }),
    );
    for run in [&one, &two] {
        story.sends(run, &["READY"]);
        story.proposes(
            run,
            "Write",
            &json!({ "file_path": "notes.md", "content": "x" }),
        );
    }
    story.sends(&two, &["BACK"]);
    story.sends(&two, &["READY", "--data", r#"{"reviewed": true}"#]);
    for run in [&one, &two] {
        story.sends(run, &["CHECK"]);
    }
    story.proposes(&one, "Bash", &json!({ "command": "make check" }));
    let fork = story.begins("release.yaml");
    story.proposes(&fork, "Read", &json!({ "file_path": "notes.md" }));
    story.sends(&fork, &["SPLIT"]);
    story.sends(&fork, &["TEST", "--branch", "code"]);
    let person = Sitting::down(&story.room);
    compares(&person, &one, &two);
    judges(&person, &one);
    judges_a_draft(&person, &one);
    person.tell("run", json!({ "id": fork }));
    person.waits("main", "testing");
    person.tell("click", json!({ "on": "button:has-text(\"Fit\")" }));
    // Each branch shows its possible transitions.
    person.waits(".inspector", "PASS");
    person.tell(
        "go",
        json!({ "name": "planning/docs/writing", "tag": "BUTTON" }),
    );
    person.waits(".inspector", "READY");
    picture(&person.browser, "console-fork");
    person.clean("fork");
}

/// Goes from the page of one run to the other, and from difference to difference.
fn compares(person: &Sitting, one: &str, two: &str) {
    person.tell("run", json!({ "id": one }));
    person.tell(
        "go",
        json!({ "name": "Compare with another run", "tag": "A" }),
    );
    person.waits("main", "Compare with which run?");
    person.clean("compare-choose");
    person.tell("link", json!({ "href": format!("/compare/{one}/{two}") }));
    // The page begins at the first difference, and the keys lead to each later one and back.
    person.stands_at("Difference 1 of 3", "CallDenied");
    person.keys(&["n"]);
    person.stands_at("Difference 2 of 3", "BACK");
    person.keys(&["n"]);
    person.stands_at("Difference 3 of 3", "make check");
    person.keys(&["n"]);
    person.stands_at("Difference 3 of 3", "make check");
    person.keys(&["p"]);
    person.stands_at("Difference 2 of 3", "BACK");
    // Differences are marked in both graphs, and the contexts are side by side.
    person.keys(&["n"]);
    person.waits(".context", "differs");
    person.tell("counts", json!({ "of": "svg.graph .differs", "number": 2 }));
    // The same by mouse.
    person.tell(
        "click",
        json!({ "on": ".steps button:has-text(\"First\")" }),
    );
    person.stands_at("Difference 1 of 3", "CallDenied");
    person.tell(
        "click",
        json!({ "on": ".steps button:has-text(\"Next difference\")" }),
    );
    person.stands_at("Difference 2 of 3", "BACK");
    person.tell("click", json!({ "on": "#row-0" }));
    person.stands_at("3 differences", "RunStarted");
    // The arrow keys move from row to row.
    person.keys(&["Tab"]);
    person.tell(
        "click",
        json!({ "on": ".steps button:has-text(\"Next difference\")" }),
    );
    person.clean("compare");
}

/// Judges the log of a run under the current file.
fn judges(person: &Sitting, one: &str) {
    person.tell("run", json!({ "id": one }));
    person.tell(
        "go",
        json!({ "name": "What if under another workflow", "tag": "A" }),
    );
    person.tell("choose", json!({ "name": "Workflow", "value": "notes" }));
    person.waits(".hypothetical", "all is hypothetical");
    let text = person.tell("text", json!({ "of": "main" }));
    let text = text["text"].as_str().unwrap();
    for wanted in [
        "First difference",
        "Bash git status",
        "No longer possible",
        "tool_not_allowed",
        "A person is asked now",
        "Is the text complete?",
        "Bash make check",
        "command_not_allowed",
        "Nothing has run",
    ] {
        assert!(text.contains(wanted), "{wanted}:\n{text}");
    }
    person.keys(&["n"]);
    person.waits("ol > li:focus", "git status");
    person.keys(&["n"]);
    person.waits("ol > li:focus", "CHECK");
    person.keys(&["p"]);
    person.waits("ol > li:focus", "git status");
    person.tell("scroll", json!({ "to": 0 }));
    picture(&person.browser, "console-what-if");
    person.clean("what-if");
    person.tell("click", json!({ "on": "ol > li:nth-child(1) a" }));
    person.waits(".past", "You look at the past");
}

/// Judges the log under the text in the editor, saved or not.
fn judges_a_draft(person: &Sitting, one: &str) {
    person.tell(
        "page",
        json!({ "name": "Workflows", "wait": "a[href*=notes]" }),
    );
    person.tell("workflow", json!({ "name": "notes" }));
    person.tell("click", json!({ "on": "#tab-what-if" }));
    let short: String = one.chars().take(12).collect();
    person.tell("choose", json!({ "name": "Run", "value": short }));
    person.waits("#view", "come out differently");
    person.clean("what-if-draft");
    person.tell("write", json!({ "text": "  broken: [" }));
    person.waits("#view", "There are errors");
    person.keys(&["Control+z", "Control+z", "Control+z"]);
    person.waits("#view", "come out differently");
    // Nothing of it was written.
    let saved = person.tell("text", json!({ "of": ".head" }));
    assert!(saved["text"].as_str().unwrap().contains("Saved"), "{saved}");
}
