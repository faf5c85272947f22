//! A workflow changed in the form and in the text, by keyboard alone, and written to its file.

use interlock_testkit::room::Room;
use serde_json::{Value, json};

use crate::e2e_console::{browser::Browser, page::Console, pages::shot};

/// Comments, quotes and alignment that an edit must preserve.
const FLOW: &str = "# Notes for a release. Nothing is shipped while writing.
id: notes
initial: planning      # it begins here

states:
  planning:
    allowed_tools: [Read, 'Grep']
    on: {READY: writing}   # to writing
  writing:
    allowed_tools: [Read,   Write]
    max_iterations: 10
    on:
      # A person looks first.
      SHIP: {target: shipped, requires_approval: true}
      BACK: planning
  shipped: {type: final}
";

const FILE: &str = ".interlock/workflows/notes.yaml";

const PLAIN: &str = "{
  \"id\": \"plain\",
  \"initial\": \"first\",
  \"states\": {
    \"first\": { \"on\": { \"GO\": \"over\" } },
    \"over\":  { \"type\": \"final\" }
  }
}
";
const PLAIN_FILE: &str = ".interlock/workflows/plain.json";

struct Sitting {
    room: Room,
    browser: Browser,
    // It serves until it is dropped.
    _console: Console,
}

impl Sitting {
    fn down() -> Self {
        let room = Room::new().unwrap();
        room.write(FILE, FLOW).unwrap();
        room.write(PLAIN_FILE, PLAIN).unwrap();
        let mut console = Console::open(&room);
        let browser = Browser::start();
        let url = format!("http://localhost:{}/", console.port);
        let shown = browser.tell("open", json!({ "url": url }));
        console.types(shown["number"].as_str().unwrap(), "y\n");
        browser.tell("inside", json!({}));
        Self {
            room,
            browser,
            _console: console,
        }
    }

    fn tell(&self, what: &str, options: Value) -> Value {
        self.browser.tell(what, options)
    }

    /// Checks the text in the editor.
    fn source(&self, text: &str) {
        let found = self.tell("source", json!({ "text": text }));
        assert_eq!(found["text"].as_str().unwrap(), text);
    }

    fn waits(&self, of: &str, text: &str) {
        self.tell("waits", json!({ "of": of, "text": text }));
    }

    fn go(&self, name: &str) {
        self.tell("go", json!({ "name": name }));
    }

    fn clean(&self, name: &str) {
        shot(&self.browser, name);
        let found = self.tell("examine", json!({}));
        assert_eq!(found["found"], json!([]), "{name}");
    }

    fn file(&self) -> String {
        self.room.read(FILE).unwrap()
    }
}

#[test]
fn a_workflow_is_edited_as_picture_and_text_and_saved_story() {
    let person = Sitting::down();
    let renamed = FLOW
        .replace("READY: writing}", "READY: drafting}")
        .replace("  writing:", "  drafting:");
    person.tell("page", json!({ "name": "Workflows", "wait": "li a" }));
    person.waits("main", "Of the project");
    person.clean("workflows");
    person.tell("workflow", json!({ "name": "notes" }));
    person.source(FLOW);
    person.clean("workflow");

    // Renamed in the form: only the names change in the text; undo and redo work across both sides.
    person.tell("state", json!({ "name": "writing" }));
    person.tell("field", json!({ "name": "Name", "value": "drafting" }));
    person.source(&renamed);
    person.clean("workflow-state");
    person.go("Undo");
    person.source(FLOW);
    person.waits("svg [aria-selected=true]", "writing");
    let shown = person.tell("value", json!({ "name": "Name" }));
    assert_eq!(shown["value"], "writing");
    person.go("Redo");
    person.source(&renamed);
    assert_eq!(person.file(), FLOW, "nothing is written before it is saved");

    // An invalid edit is refused, and the text is unchanged.
    person.tell("state", json!({ "name": "shipped" }));
    person.go("Remove state shipped");
    person.waits("#view", "Not done: ");
    person.source(&renamed);

    // Keys are suggested where they are permitted.
    person.tell("write", json!({ "text": "me" }));
    let proposed = person.tell("proposals", json!({}));
    assert_eq!(proposed["names"], json!(["meta"]));
    person.tell(
        "keys",
        json!({ "keys": ["Escape", "Backspace", "Backspace"] }),
    );
    person.source(&renamed);

    // An error is shown at its line; its problem leads there, and it is fixed.
    person.tell("write", json!({ "text": "oops: 1" }));
    let line = renamed.lines().count() + 1;
    person.waits("main", &format!("Line {line}, column 1"));
    let fit = json!({ "on": "button:has-text(\"Fit\")" });
    person.tell("click", fit);
    super::story::picture(&person.browser, "console-editor");
    person.clean("workflow-broken");
    person.go(&format!("Line {line}"));
    person.tell("keys", json!({ "keys": ["Shift+End", "Delete"] }));
    person.source(&renamed);
    person.waits("main", "Nothing is wrong with the text.");

    // Navigating away asks for confirmation.
    person.go("Runs");
    person.waits("main", "The changes of notes are not saved.");
    person.go("Stay");

    // Saving shows the changes.
    person.go("Save…");
    person.waits("main", "+  drafting:");
    person.clean("workflow-save");
    person.go("Write the file");
    person.waits("main", "Saved notes.");
    assert_eq!(person.file(), renamed);

    // Somebody else writes the file in the meantime.
    let other = renamed.replace("# A person looks first.", "# Somebody looks first.");
    person.room.write(FILE, &other).unwrap();
    person.tell("state", json!({ "name": "drafting" }));
    person.tell(
        "field",
        json!({ "name": "Tool calls in one stay", "value": "12" }),
    );
    person.source(&renamed.replace("max_iterations: 10", "max_iterations: 12"));
    person.go("Save…");
    person.go("Write the file");
    person.waits("main", "nothing was written");
    assert_eq!(person.file(), other);
    person.go("Take the text of the file");
    person.source(&other);

    // Lines are simulated on it.
    person.tell("keys", json!({ "keys": ["Tab"] }));
    person.go("Form");
    person.tell("keys", json!({ "keys": ["ArrowRight"] }));
    person.waits("#view", "The workflow begins");
    person.tell("field", json!({ "name": "Next line", "value": "Write x" }));
    person.go("Play");
    person.waits("#view", "tool_not_allowed");
    person.go("READY");
    person.waits("#view", "drafting");
    person.clean("workflow-try");

    // JSON likewise; discarded changes are not written.
    person.tell("page", json!({ "name": "Workflows", "wait": "li a" }));
    person.tell("workflow", json!({ "name": "plain" }));
    person.tell("state", json!({ "name": "over" }));
    person.tell("field", json!({ "name": "Name", "value": "done" }));
    let changed = PLAIN
        .replace("\"GO\": \"over\"", "\"GO\": \"done\"")
        .replace("\"over\":  {", "\"done\":  {");
    person.source(&changed);
    person.go("Workflows");
    person.waits("main", "The changes of plain are not saved.");
    person.go("Leave without saving");
    person.waits("main h1", "Workflows");
    assert_eq!(person.room.read(PLAIN_FILE).unwrap(), PLAIN);

    // Workflows that are part of Interlock are read-only.
    person.tell("page", json!({ "name": "Workflows", "wait": "li a" }));
    person.tell("workflow", json!({ "name": "bugfix" }));
    person.waits("main", "It cannot be changed here: it is part of Interlock");
    person.clean("workflow-shipped");
    let problems = person.tell("problems", json!({}));
    assert_eq!(problems["problems"], json!([]));
}

/// Cases of the workflow, of which the second one expects too much.
const TESTS: &str = "workflow: notes.yaml
cases:
  - name: from planning to a person
    steps:
      - {tool: Read, input: {file_path: a}, expect: {verdict: allow}}
      - {result: {ok: true}}
      - {transition: READY, expect: {state: writing}}
  - name: nothing is written without a person
    steps:
      - {transition: READY, expect: {status: awaiting_approval}}
";

const PROPERTIES: &str = "- {name: nobody writes, never: {enter: writing}}\n";

#[test]
fn guards_forks_and_interrupts_are_made_in_the_form_and_tests_are_played_story() {
    let person = Sitting::down();
    let beside = |name: &str, text: &str| {
        let path = format!(".interlock/workflows/notes.{name}.yaml");
        person.room.write(&path, text).unwrap();
    };
    beside("test", TESTS);
    beside("properties", PROPERTIES);
    let text = |wanted: &str| {
        person.tell("holds", json!({ "text": wanted }));
    };
    let field = |name: &str, value: &str| {
        person.tell("field", json!({ "name": name, "value": value }));
    };
    person.tell("page", json!({ "name": "Workflows", "wait": "li a" }));
    person.tell("workflow", json!({ "name": "notes" }));

    // The cases are played with the current text; a failed property likewise.
    person.go("Form");
    person.tell("keys", json!({ "keys": ["ArrowRight", "ArrowRight"] }));
    person.waits("#view", "2 cases, 1 failed");
    person.waits("#view", "Failed at step 1");
    person.clean("workflow-tests");
    person.go("Play from planning to a person");
    person.waits("#view", "after 0 of 3 steps");
    person.waits("svg g.node.here > .title", "planning");
    for _ in 0..3 {
        person.go("Next step");
    }
    person.waits("svg g.node.here > .title", "writing");
    person.clean("workflow-case");
    person.go("Back to the list");
    person.go("Prove");
    person.waits("#view", "nobody writes");
    person.go("Play the run that breaks it nobody writes");
    person.waits("#view", "nobody writes: it happens");
    person.waits("svg g.node.here > .title", "planning");
    person.go("Next step");
    person.waits("svg g.node.here > .title", "writing");
    person.clean("workflow-counterexample");

    // A separate guard, which a transition uses.
    person.tell("keys", json!({ "keys": ["Tab"] }));
    person.go("Try");
    person.tell("keys", json!({ "keys": ["ArrowLeft"] }));
    person.go("Add a guard");
    text("op: exists");
    field("Key of guard guard", "tests");
    text("field: tests");
    field("Name of guard guard", "tested");
    text("  tested:");
    person.tell("state", json!({ "name": "writing" }));
    person.tell(
        "go",
        json!({ "name": "a person, of SHIP", "tag": "SUMMARY" }),
    );
    person.go("Add a guard to SHIP");
    text("guard: tested");
    // A guard in use is not removed, and the place is shown.
    person.tell(
        "choose",
        json!({ "name": "State", "value": "the workflow itself" }),
    );
    person.go("Remove guard tested");
    person.waits("#view", "Not done: the guard `tested` is asked here");
    person.waits("#view", "Show line 14");

    // An interrupt, and a fork instead of a transition.
    person.go("Add an interrupt");
    text("file_pattern:");
    field("When a file is written for interrupt", "docs/**");
    text("docs/**");
    person.clean("workflow-form");
    person.tell("state", json!({ "name": "planning" }));
    person.tell(
        "go",
        json!({ "name": "no guard, no approval, of READY", "tag": "SUMMARY" }),
    );
    person.tell(
        "choose",
        json!({ "name": "Leads from READY", "value": "into a fork" }),
    );
    text("branches:");
    field("Branch of READY", "docs");
    text("docs:");
    person.clean("workflow-fork");
    // Its branches can be folded in the graph.
    person.tell("state", json!({ "name": "fork" }));
    person.tell("keys", json!({ "keys": ["-"] }));
    person.waits("svg [aria-expanded=\"false\"]", "fork");

    person.go("Save…");
    person.go("Write the file");
    person.waits("main", "Saved notes.");
    let file = person.file();
    for comment in FLOW.lines().filter_map(|line| line.split_once('#')) {
        assert!(file.contains(comment.1), "`{}` is lost:\n{file}", comment.1);
    }
    assert!(file.contains("allowed_tools: [Read,   Write]"), "{file}");
    let problems = person.tell("problems", json!({}));
    assert_eq!(problems["problems"], json!([]));
}
