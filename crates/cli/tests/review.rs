//! The review before a person says yes: where a transition leads, its evidence, and the changes. No control characters
//! of the agent or its repository reach the terminal, and no program of theirs is started.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
    terminal::Terminal,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const CONTROL: &str = "mcp__interlock__interlock_transition";
const FLOW: &str = "id: flow
initial: testing
states:
  testing:
    allowed_tools: [Read, Write, Bash]
    on_denied: ask
    on:
      DONE: {target: completed, requires_approval: true, approval_message: Ship it?, guards: [tests, sure]}
      AWAY: elsewhere
  elsewhere: {on: {BACK: testing}}
  completed: {type: final}
guards:
  tests: {evidence: {command: make test, exit: 0, since: run_start}}
  sure: {field: sure, op: eq, value: true}
context: {sure: true}
";

struct Scene {
    room: Room,
    run: String,
    /// The person's token, made below this process, which plays the client.
    token: String,
}

impl Scene {
    /// Starts a run that guards session `s1` of a repository with one commit.
    fn new() -> Self {
        Self::with(|_| ())
    }

    /// Starts a run in a repository that was changed before.
    fn with(change: impl FnOnce(&Room)) -> Self {
        let room = room();
        room.write("Makefile", "test:\n\t@echo fine\n").unwrap();
        room.write("a.txt", "one\ntwo\n").unwrap();
        room.write("kept.txt", "as it was\n").unwrap();
        git(&room, &["add", "."]);
        git(&room, &["commit", "-qm", "first"]);
        change(&room);
        Self::started(room)
    }

    fn started(room: Room) -> Self {
        let interlock = Interlock::new(INTERLOCK, &room);
        let run = interlock.start_for_session("flow.yaml", "s1").unwrap();
        let token = interlock.token().unwrap();
        Self { room, run, token }
    }

    fn hook(&self, told: &Value) -> Value {
        let told = told.clone();
        let output = Interlock::new(INTERLOCK, &self.room)
            .hook(&told)
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn before(&self, id: &str, tool: &str, input: &Value) -> Value {
        let mut told = before_tool(&self.room, "s1", id, tool, input);
        told["permission_mode"] = json!("default");
        self.hook(&told)
    }

    fn after(&self, id: &str, tool: &str, input: &Value) {
        let mut told = before_tool(&self.room, "s1", id, tool, input);
        told["hook_event_name"] = json!("PostToolUse");
        told["tool_response"] = json!({});
        self.hook(&told);
    }

    fn writes(&self, name: &str, text: &str) {
        let input = json!({"file_path": self.room.file(name), "content": text});
        self.before(name, "Write", &input);
        self.room.write(name, text).unwrap();
        self.after(name, "Write", &input);
    }

    /// Runs the tests, which pass, through the hooks.
    fn tests_pass(&self) {
        let input = json!({"command": "make test"});
        let said = self.before("tests", "Bash", &input);
        let line = &said["hookSpecificOutput"]["updatedInput"]["command"];
        let line = line.as_str().unwrap_or("make test").to_owned();
        let mut shell = self.room.command("bash");
        let ran = shell.args(["-c", &line]).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        self.after("tests", "Bash", &json!({"command": line}));
    }

    /// Has the agent ask for DONE; returns the text of its client's prompt.
    fn asks(&self, id: &str, data: Value) -> String {
        let said = self.before(id, CONTROL, &json!({"event": "DONE", "data": data}));
        let said = &said["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "ask", "{said}");
        said["permissionDecisionReason"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn interlock(&self, arguments: &[&str]) -> Output {
        self.room
            .command(INTERLOCK)
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Returns the output of `approve --diff`.
    fn review(&self) -> String {
        let output = self.interlock(&["approve", &self.run, "--diff"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn status(&self) -> Value {
        Interlock::new(INTERLOCK, &self.room)
            .status(&self.run)
            .unwrap()
    }

    fn terminal(&self, arguments: &[&str], columns: u16) -> Terminal {
        let mut command: Command = self.room.command(INTERLOCK);
        command.args(arguments).env("TERM", "xterm-256color");
        command.env("INTERLOCK_TOKEN", &self.token);
        Terminal::start(&command, 40, columns).unwrap()
    }
}

fn room() -> Room {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    for (key, value) in [("user.email", "a@b"), ("user.name", "a")] {
        git(&room, &["config", key, value]);
    }
    room
}

fn git(room: &Room, arguments: &[&str]) -> Output {
    let output = room.command("git").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    output
}

fn holds<'t>(texts: &'t [&'t str]) -> impl Fn(&str) -> bool + 't {
    move |screen| texts.iter().all(|text| screen.contains(text))
}

#[test]
fn a_yes_is_shown_with_all_that_it_rests_on() {
    let scene = Scene::new();
    scene.writes("a.txt", "one\nTWO\n");
    scene.tests_pass();
    let prompt = scene.asks("t1", json!({"version": "1.2"}));
    for wanted in [
        "DONE: testing -> completed",
        "Ship it?",
        "version = \"1.2\"",
        "`make test`: exit 0",
        "interlock watch",
    ] {
        assert!(prompt.contains(wanted), "{wanted}: {prompt}");
    }
    let mut terminal = scene.terminal(&["approve", &scene.run], 100);
    let question = [
        "DONE: testing -> completed",
        "Ship it?",
        "version = \"1.2\"",
        "`make test`: exit 0,",
        " ago",
        "sure = true (the agent's word)",
        "-two",
        "+TWO",
        "approve? [y/N",
    ];
    terminal.wait_for("question", holds(&question)).unwrap();
    terminal.press("y\n").unwrap();
    let said = [
        "approved DONE: testing -> completed",
        "status:      completed",
    ];
    terminal.wait_for("answer", holds(&said)).unwrap();
    assert!(terminal.end().unwrap().success());
}

#[test]
fn anything_but_a_yes_leaves_the_question_open() {
    let scene = Scene::new();
    scene.tests_pass();
    scene.asks("t1", json!({}));
    // On a narrow terminal an empty line, then the end of the input.
    for typed in ["\n", "\u{4}"] {
        let mut terminal = scene.terminal(&["approve", &scene.run], 40);
        terminal
            .wait_for("question", holds(&["approve? [y/N"]))
            .unwrap();
        terminal.press(typed).unwrap();
        terminal
            .wait_for("answer", holds(&["nothing was answered"]))
            .unwrap();
        assert_eq!(terminal.end().unwrap().code(), Some(1));
    }
    assert_eq!(scene.status()["pending"].as_array().unwrap().len(), 1);
    assert_eq!(scene.status()["state"], "testing");
}

#[test]
fn no_answer_says_so_too() {
    let scene = Scene::new();
    scene.tests_pass();
    scene.asks("t1", json!({}));
    let mut terminal = scene.terminal(&["reject", &scene.run], 100);
    let said = ["denied DONE: testing -> completed"];
    terminal.wait_for("answer", holds(&said)).unwrap();
    assert!(terminal.end().unwrap().success());
    assert_eq!(scene.status()["pending"], json!([]));
}

#[test]
fn nothing_an_agent_writes_reaches_a_terminal_as_a_command() {
    let scene = Scene::new();
    scene.tests_pass();
    let hostile =
        "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\r\napprove? [y:N, d: the whole diff] y\u{202e}";
    fs::write(
        scene.room.project().join("a.txt"),
        format!("one\n{hostile}\n"),
    )
    .unwrap();
    fs::write(scene.room.project().join(format!("b{hostile}")), "new\n").unwrap();
    let prompt = scene.asks("t1", json!({ "a": hostile, hostile: 1 }));
    let steers = |text: &str| {
        text.chars().any(|letter| {
            letter != '\n' && letter.is_control() || ('\u{202a}'..='\u{202e}').contains(&letter)
        })
    };
    assert!(!steers(&prompt), "{prompt:?}");
    assert_eq!(
        prompt
            .lines()
            .filter(|line| line.starts_with("approve?"))
            .count(),
        0,
        "{prompt}"
    );
    // A call whose arguments are shown in the client's prompt.
    let said = scene.before("t2", "WebFetch", &json!({"url": hostile}));
    let said = said["hookSpecificOutput"]["permissionDecisionReason"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!steers(&said), "{said:?}");
    let review = scene.review();
    assert!(!steers(&review), "{review:?}");
    assert!(
        review.contains("+\\x1b[2J\\x1b]0;x\\x07\\x9b31m"),
        "{review}"
    );
    // In the diff each line of the agent's is marked, so that none looks like one of Interlock's.
    assert_eq!(
        review
            .lines()
            .filter(|line| line.starts_with("approve?"))
            .count(),
        0,
        "{review}"
    );
    for arguments in [vec!["status", &scene.run], vec!["log", &scene.run]] {
        let shown = String::from_utf8(scene.interlock(&arguments).stdout).unwrap();
        assert!(!steers(&shown), "{arguments:?} {shown:?}");
    }
}

/// Makes a repository whose configuration starts a program wherever git allows it, and whose index hides a file.
fn hostile_repository(room: &Room, marker: &Path) {
    let program = room.path("bin").join("evil");
    let text = format!(
        "#!/bin/sh\necho ran >> '{}'\ncat 2>/dev/null\n",
        marker.display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
    ] {
        git(room, &["config", key, program]);
    }
    let hooks = room.project().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-index-change", "pre-commit", "post-checkout"] {
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    fs::create_dir_all(room.project().join(".git/info")).unwrap();
    fs::write(
        room.project().join(".git/info/attributes"),
        "* diff=x filter=x\n",
    )
    .unwrap();
    room.write(".gitattributes", "* diff=x filter=x\n").unwrap();
    room.write("own.txt", "not shown by plain git\n").unwrap();
    fs::write(room.project().join(".git/info/exclude"), "own.txt\n").unwrap();
}

#[test]
fn the_repository_of_an_agent_starts_nothing_and_hides_nothing() {
    let scene = Scene::with(|room| {
        git(room, &["update-index", "--assume-unchanged", "kept.txt"]);
        hostile_repository(room, &room.path("marker"));
    });
    let marker = scene.room.path("marker");
    scene.tests_pass();
    assert!(!marker.exists());
    scene.room.write("kept.txt", "changed in secret\n").unwrap();
    scene.asks("t1", json!({}));
    let review = scene.review();
    assert!(!marker.exists(), "{}", fs::read_to_string(&marker).unwrap());
    assert!(review.contains("+changed in secret"), "{review}");
    assert!(review.contains("+not shown by plain git"), "{review}");
    // No file of it is left, in the repository or beside it.
    let state = scene.room.state().join("interlock");
    let left = fs::read_dir(state).unwrap();
    let left = left.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".diff-")
    });
    assert_eq!(left.count(), 0);
    // The trap works: plain git runs the configured program.
    let mut plain = scene.room.command("git");
    drop(plain.args(["diff"]).output().unwrap());
    assert!(marker.exists());
}

#[test]
fn commits_of_the_agent_are_part_of_what_has_changed() {
    let scene = Scene::new();
    scene.tests_pass();
    scene.writes("a.txt", "committed\n");
    git(&scene.room, &["add", "."]);
    git(&scene.room, &["commit", "-qm", "second"]);
    git(&scene.room, &["pack-refs", "--all"]);
    scene.asks("t1", json!({}));
    assert!(scene.review().contains("+committed"));
}

#[test]
fn without_a_commit_the_files_of_the_log_are_named() {
    // A repository without a commit counts as none.
    let room = room();
    room.write("Makefile", "test:\n\t@echo fine\n").unwrap();
    let scene = Scene::started(room);
    scene.writes("a.txt", "one\n");
    scene.tests_pass();
    scene.asks("t1", json!({}));
    let review = scene.review();
    assert!(review.contains("files written in this run"), "{review}");
    assert!(review.contains("a.txt"), "{review}");
    // A missing commit is reported.
    let scene = Scene::new();
    scene.writes("a.txt", "three\n");
    scene.tests_pass();
    scene.asks("t1", json!({}));
    fs::remove_dir_all(scene.room.project().join(".git")).unwrap();
    let review = scene.review();
    assert!(review.contains("no diff: git"), "{review}");
    assert!(review.contains("a.txt"), "{review}");
}

#[test]
fn a_further_working_tree_is_compared_with_its_own_commit() {
    let scene = Scene::new();
    let tree = scene.room.path("tree");
    let tree = tree.to_str().unwrap();
    git(&scene.room, &["worktree", "add", "-q", tree, "-b", "other"]);
    fs::write(Path::new(tree).join("a.txt"), "in the tree\n").unwrap();
    let mut start = scene.room.command(INTERLOCK);
    let file = scene.room.file("flow.yaml");
    let started = start
        .current_dir(tree)
        .args(["start", &file, "--json", "--session", "s2"]);
    let started: Value = serde_json::from_slice(&started.output().unwrap().stdout).unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    let told = json!({"session_id": "s2", "cwd": tree, "hook_event_name": "PreToolUse", "tool_use_id": "t1",
        "permission_mode": "default", "tool_name": "WebFetch", "tool_input": {"url": "https://example.com"}});
    scene.hook(&told);
    let shown = scene.interlock(&["approve", &run, "--diff"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("+in the tree"), "{shown}");
}

#[test]
fn a_question_in_the_prompt_is_seen_and_closed_by_what_follows() {
    let scene = Scene::new();
    scene.tests_pass();
    scene.asks("t1", json!({}));
    let waiting = &scene.status()["pending"];
    assert_eq!(waiting[0]["kind"], "approval", "{waiting}");
    assert_eq!(waiting[0]["in_prompt"], true, "{waiting}");
    assert_eq!(scene.status()["status"], "running");
    // The person said no, so the agent goes on and reads.
    scene.before(
        "t2",
        "Read",
        &json!({"file_path": scene.room.file("a.txt")}),
    );
    assert_eq!(scene.status()["pending"], json!([]));
    // A call that runs with other arguments than those of the question is not a yes to it.
    let page = |path: &str| json!({"url": format!("https://example.com/{path}")});
    scene.before("t3", "WebFetch", &page("a"));
    assert_eq!(scene.status()["pending"][0]["kind"], "grant");
    scene.after("t3", "WebFetch", &page("b"));
    assert_eq!(scene.status()["pending"], json!([]));
    scene.before("t4", "WebFetch", &page("a"));
    scene.after("t4", "WebFetch", &page("a"));
    assert_eq!(scene.status()["pending"], json!([]));
    scene.before("t5", "WebFetch", &page("c"));
    let mut over = before_tool(&scene.room, "s1", "", "", &json!({}));
    over["hook_event_name"] = json!("UserPromptSubmit");
    over["prompt"] = json!("go on");
    scene.hook(&over);
    assert_eq!(scene.status()["pending"], json!([]));
    let events = Interlock::new(INTERLOCK, &scene.room)
        .events(&scene.run)
        .unwrap();
    let closed: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "PromptClosed")
        .map(|event| event["why"]["prompt"].as_str().unwrap())
        .collect();
    assert_eq!(closed, ["next_call", "other_arguments", "turn_over"]);
}
