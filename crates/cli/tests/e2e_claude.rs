//! The real Claude Code, guarded by the built `interlock`, against a scripted model.
//!
//! Every test runs with both versions that `cargo xtask setup` installs. Nothing but Interlock stops a call here:
//! sessions bypass the client's own permissions.
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]
#![expect(clippy::panic, reason = "a test may end at the first surprise")]
#![expect(
    clippy::indexing_slicing,
    reason = "absent keys of a JSON value are null"
)]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use interlock_testkit::claude::{Outcome, Session, Version};
use interlock_testkit::interlock::{Interlock, damage, databases, pinned};
use interlock_testkit::provider::{Call, ModelRequest, Say, Script, call, text};
use interlock_testkit::room::Room;
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// The workflow file of every test, as a person would name it on the command line.
const WORKFLOW: &str = "workflow.json";
/// A word in every workflow here and nowhere else, by which its pinned copy is found.
const MARK: &str = "pinned-by-this-word";

/// A project with `interlock init` done, in which a person has started `workflow` for the next session.
struct Guarded {
    version: Version,
    room: Room,
    run: String,
}

impl Guarded {
    fn new(version: Version, workflow: &Value) -> Guarded {
        Guarded::with_hook_wrapped(version, workflow, None)
    }

    /// As `new`, with every `PreToolUse` hook called through the shell script `wrapper`, if any.
    fn with_hook_wrapped(version: Version, workflow: &Value, wrapper: Option<&str>) -> Guarded {
        let room = initialised(version);
        if let Some(wrapper) = wrapper {
            wrap_hooks(&room, wrapper);
        }
        room.write(WORKFLOW, &workflow.to_string()).unwrap();
        let run = Interlock::new(INTERLOCK, &room).start(WORKFLOW).unwrap();
        Guarded { version, room, run }
    }

    /// Runs a session and checks that the client itself ended well.
    fn session(&self, script: Script) -> Outcome {
        let outcome = Session::new(self.version, &self.room, script)
            .run()
            .unwrap();
        assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
        outcome
    }

    /// The answers to one call a message.
    fn calls(&self, calls: Vec<Say>) -> Vec<Call> {
        let count = calls.len();
        let answered = self.session(Script::calls(calls)).calls();
        assert_eq!(answered.len(), count, "{answered:#?}");
        answered
    }

    fn status(&self) -> Value {
        Interlock::new(INTERLOCK, &self.room)
            .status(&self.run)
            .unwrap()
    }

    fn read(&self, path: &str) -> Say {
        call("Read", json!({"file_path": self.room.file(path)}))
    }

    fn write(&self, path: &str, content: &str) -> Say {
        call(
            "Write",
            json!({"file_path": self.room.file(path), "content": content}),
        )
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Say {
        let path = self.room.file(path);
        call(
            "Edit",
            json!({"file_path": path, "old_string": old, "new_string": new}),
        )
    }
}

/// A room with this version of the client on its `PATH` and `interlock init` done.
fn initialised(version: Version) -> Room {
    let room = Room::new().unwrap();
    room.install("claude", &version.program().unwrap()).unwrap();
    room.write("a.txt", "one\n").unwrap();
    Interlock::new(INTERLOCK, &room).init().unwrap();
    room
}

/// Puts the shell script `body` before every hook command for `PreToolUse`; the hook is its arguments.
fn wrap_hooks(room: &Room, body: &str) {
    let wrapper = room.script("wrapper", body).unwrap();
    let wrapper = wrapper.to_str().unwrap();
    let settings = room.read(".claude/settings.json").unwrap();
    let mut settings: Value = serde_json::from_str(&settings).unwrap();
    for entry in settings["hooks"]["PreToolUse"].as_array_mut().unwrap() {
        for hook in entry["hooks"].as_array_mut().unwrap() {
            let command = hook["command"].as_str().unwrap().to_owned();
            if let Some(arguments) = hook.get_mut("args").and_then(Value::as_array_mut) {
                arguments.insert(0, json!(command));
                hook["command"] = json!(wrapper);
            } else {
                hook["command"] = json!(format!("{wrapper} {command}"));
            }
        }
    }
    room.write(".claude/settings.json", &settings.to_string())
        .unwrap();
}

fn bash(command: &str) -> Say {
    call("Bash", json!({"command": command, "description": "a line"}))
}

fn transition(event: &str) -> Say {
    call(
        "mcp__interlock__interlock_transition",
        json!({"event": event}),
    )
}

fn lines(count: usize) -> String {
    (1..=count).map(|line| format!("line {line}\n")).collect()
}

/// A call that did not run, whose refusal the model can read: the code, and every one of `words`.
#[track_caller]
fn refused(call: &Call, code: &str, words: &[&str]) {
    assert!(call.failed, "{call:#?}");
    for word in [&[code], words].concat() {
        assert!(call.result.contains(word), "no `{word}` in {call:#?}");
    }
}

#[track_caller]
fn ran(call: &Call) {
    assert!(!call.failed, "{call:#?}");
}

fn plan_then_build() -> Value {
    json!({
        "id": "plan-then-build", "initial": "planning",
        "states": {
            "planning": {"allowed_tools": ["Read", "Bash"], "on": {"READY": "building"}},
            "building": {
                "allowed_tools": ["Read", "Edit", "Write", "Bash"], "max_edit_lines": 20,
                "instructions": MARK, "on": {"DONE": "complete"},
            },
            "complete": {"type": "final"},
        },
    })
}

fn a_refusal_reaches_the_model_and_a_transition_unlocks(version: Version) {
    let guarded = Guarded::new(version, &plan_then_build());
    let calls = guarded.calls(vec![
        guarded.read("a.txt"),
        guarded.edit("a.txt", "one", "two"),
        bash("echo x > leak.txt"),
        bash("cat a.txt"),
        transition("READY"),
        guarded.edit("a.txt", "one", "two"),
        bash("echo x > kept.txt"),
    ]);
    let [read, edit, leak, cat, ready, unlocked, kept] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(read);
    refused(edit, "tool_not_allowed", &["Read", "READY"]);
    refused(leak, "shell_write", &["READY"]);
    ran(cat);
    assert!(
        cat.result.contains("one"),
        "the refused edit was carried out: {cat:#?}"
    );
    ran(ready);
    assert!(ready.result.contains("building"), "{ready:#?}");
    ran(unlocked);
    ran(kept);
    assert_eq!(guarded.room.read("a.txt").as_deref(), Some("two\n"));
    assert_eq!(guarded.room.read("leak.txt"), None);
    assert_eq!(guarded.room.read("kept.txt").as_deref(), Some("x\n"));
    assert_eq!(guarded.status()["state"], "building");
}

/// Each prompt tells the model where the run stands; the control tool is among the tools it is offered.
fn the_model_is_told_where_it_stands(version: Version) {
    let guarded = Guarded::new(version, &plan_then_build());
    let outcome = guarded.session(Script::turns(Vec::new()));
    let control = "mcp__interlock__interlock_transition".to_owned();
    assert!(outcome.tools().contains(&control), "{:?}", outcome.tools());
    for word in ["planning", "READY"] {
        assert!(
            outcome.text().contains(word),
            "the model was not told `{word}`"
        );
    }
}

fn a_project_without_a_run_is_left_alone(version: Version) {
    let room = initialised(version);
    let script = Script::calls(vec![bash("echo x > free.txt")]);
    let outcome = Session::new(version, &room, script).run().unwrap();
    assert!(matches!(&outcome.calls()[..], [call] if !call.failed));
    assert_eq!(room.read("free.txt").as_deref(), Some("x\n"));
}

fn four_calls() -> Value {
    json!({
        "id": "four-calls", "initial": "reading",
        "states": {
            "reading": {"allowed_tools": ["Read", "Bash"], "max_iterations": 4, "on": {"DONE": "complete"}},
            "complete": {"type": "final"},
        },
    })
}

fn the_fifth_call_is_over_the_limit(version: Version) {
    let guarded = Guarded::new(version, &four_calls());
    let calls = guarded.calls((0..5).map(|_| bash("cat a.txt")).collect());
    let (fifth, first_four) = calls.split_last().unwrap();
    first_four.iter().for_each(ran);
    refused(fifth, "iteration_limit", &["DONE"]);
    assert_eq!(guarded.status()["limits"]["iterations"], json!([4, 4]));
}

/// Calls of one message that only read are judged at the same time.
fn calls_at_once_cannot_share_the_last_one(version: Version) {
    let guarded = Guarded::new(version, &four_calls());
    let at_once = (0..8).map(|_| guarded.read("a.txt")).collect();
    let calls = guarded.session(Script::turns(vec![at_once])).calls();
    assert_eq!(calls.len(), 8);
    let (over, within): (Vec<&Call>, Vec<&Call>) = calls.iter().partition(|call| call.failed);
    assert_eq!(within.len(), 4, "{calls:#?}");
    over.into_iter()
        .for_each(|call| refused(call, "iteration_limit", &[]));
}

fn an_edit_over_the_limit_is_refused(version: Version) {
    let mut workflow = plan_then_build();
    workflow["initial"] = json!("building");
    workflow["states"]
        .as_object_mut()
        .unwrap()
        .remove("planning");
    let guarded = Guarded::new(version, &workflow);
    let calls = guarded.calls(vec![
        guarded.read("a.txt"),
        guarded.edit("a.txt", "one\n", &lines(21)),
        guarded.write("new.txt", &lines(21)),
        guarded.edit("a.txt", "one\n", &lines(20)),
    ]);
    let [read, edit, write, small] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(read);
    refused(edit, "edit_too_large", &["21", "20"]);
    refused(write, "edit_too_large", &["21", "20"]);
    ran(small);
    assert_eq!(guarded.room.read("a.txt"), Some(lines(20)));
    assert_eq!(guarded.room.read("new.txt"), None);
}

fn a_matching_edit_detours_at_once(version: Version) {
    let guarded = Guarded::new(
        version,
        &json!({
            "id": "migrations", "initial": "building",
            "states": {
                "building": {"allowed_tools": ["Read", "Write"], "on": {"DONE": "complete"}},
                "validating": {
                    "allowed_tools": ["Bash"], "allowed_commands": ["cat"], "instructions": MARK,
                    "on": {"VALIDATED": "$return", "FAIL": "failed"},
                },
                "complete": {"type": "final"},
                "failed": {"type": "final"},
            },
            "interrupts": {
                "migration": {"trigger": {"file_pattern": "migrations/**/*.sql"}, "target": "validating"},
            },
        }),
    );
    let outcome = guarded.session(Script::calls(vec![
        guarded.write("migrations/1.sql", "select 1;\n"),
        guarded.write("other.txt", "too early\n"),
        bash("cat migrations/1.sql"),
        transition("VALIDATED"),
        guarded.write("other.txt", "in time\n"),
    ]));
    let calls = outcome.calls();
    let [migration, early, check, back, other] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(migration);
    refused(early, "tool_not_allowed", &["Bash", "VALIDATED"]);
    ran(check);
    ran(back);
    ran(other);
    assert_eq!(guarded.room.read("other.txt").as_deref(), Some("in time\n"));
    assert_eq!(guarded.status()["state"], "building");
    assert!(
        !read_before(&outcome, 0).contains(MARK),
        "told before it happened"
    );
    assert!(
        read_before(&outcome, 1).contains(MARK),
        "the result of the write carries no notice"
    );
}

/// Everything the model had read when it said its message number `turn`.
fn read_before(outcome: &Outcome, turn: usize) -> String {
    let of_turn = |request: &&ModelRequest| request.rounds() == turn && !request.tools().is_empty();
    outcome.requests.iter().find(of_turn).unwrap().text()
}

fn only_a_test_that_passed_after_the_last_edit_opens_the_guard(version: Version) {
    let guarded = Guarded::new(
        version,
        &json!({
            "id": "prove-it", "initial": "fixing",
            "states": {
                "fixing": {
                    "allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["sh check.sh"],
                    "on": {"SHIP": {"target": "shipping", "guard": "checked"}},
                },
                "shipping": {"allowed_tools": ["Read"], "on": {"DONE": "complete"}},
                "complete": {"type": "final"},
            },
            "guards": {"checked": {"evidence": {"command": "sh check.sh", "exit": 0}}},
        }),
    );
    guarded
        .room
        .write("check.sh", "grep -q two a.txt\n")
        .unwrap();
    let calls = guarded.calls(vec![
        guarded.read("a.txt"),
        transition("SHIP"),
        bash("sh check.sh"),
        transition("SHIP"),
        guarded.edit("a.txt", "one", "two"),
        transition("SHIP"),
        bash("sh check.sh"),
        guarded.edit("a.txt", "two", "two or three"),
        transition("SHIP"),
        bash("sh check.sh"),
        transition("SHIP"),
    ]);
    let [
        _,
        unproved,
        failing,
        failed,
        fix,
        untested,
        passing,
        again,
        stale,
        last,
        ship,
    ] = &calls[..]
    else {
        panic!("{calls:#?}")
    };
    for early in [unproved, failed, untested, stale] {
        refused(early, "guard_failed", &["checked"]);
    }
    assert!(
        failing.failed,
        "the check must fail before the fix: {failing:#?}"
    );
    [fix, passing, again, last, ship].into_iter().for_each(ran);
    assert_eq!(guarded.status()["state"], "shipping");
}

fn a_sub_agent_stands_under_the_same_run(version: Version) {
    let guarded = Guarded::new(
        version,
        &json!({
            "id": "delegate", "initial": "reading",
            "states": {
                "reading": {"allowed_tools": ["Read", "Task", "Agent"], "on": {"DONE": "complete"}},
                "complete": {"type": "final"},
            },
        }),
    );
    let (read, edit) = (guarded.read("a.txt"), guarded.edit("a.txt", "one", "two"));
    let delegate = call(
        "Agent",
        json!({
            "description": "a sub-task", "prompt": "SUB-TASK", "subagent_type": "general-purpose",
            "run_in_background": false,
        }),
    );
    let outcome = guarded.session(Script::new(move |request| {
        let said = match (request.prompt().contains("SUB-TASK"), request.rounds()) {
            (false, 0) => &delegate,
            (true, 0) => &read,
            (true, 1) => &edit,
            _ => return vec![text("done")],
        };
        vec![said.clone()]
    }));
    let calls = outcome.calls();
    let [read, edit, agent] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(read);
    ran(agent);
    refused(edit, "tool_not_allowed", &["DONE"]);
    assert_eq!(guarded.room.read("a.txt").as_deref(), Some("one\n"));
}

/// What became of two calls that the state allows, with something broken in between.
struct Broken {
    guarded: Guarded,
    calls: Vec<Call>,
}

impl Broken {
    /// Runs `touch before.txt`, breaks what `damage` breaks, and lets the model propose `touch after.txt`.
    fn between_two_calls(
        version: Version,
        wrapper: Option<&str>,
        damage: impl FnOnce(&Guarded) -> Box<dyn Fn() + Send + Sync>,
    ) -> Broken {
        let guarded = Guarded::with_hook_wrapped(version, &writing(), wrapper);
        let damage = damage(&guarded);
        let script = Script::new(move |request| match request.rounds() {
            0 => vec![bash("touch before.txt")],
            1 => {
                damage();
                vec![bash("touch after.txt")]
            }
            _ => vec![text("done")],
        });
        let calls = guarded.session(script).calls();
        assert!(
            guarded.room.read("before.txt").is_some(),
            "nothing was broken yet: {calls:#?}"
        );
        Broken { guarded, calls }
    }

    fn ran(&self) -> bool {
        self.guarded.room.read("after.txt").is_some()
    }

    /// The second call was refused, and the model was told so.
    #[track_caller]
    fn assert_refused(&self) {
        assert!(!self.ran(), "the call ran: {:#?}", self.calls);
        assert!(
            matches!(&self.calls[..], [_, after] if after.failed),
            "{:#?}",
            self.calls
        );
    }
}

fn writing() -> Value {
    json!({
        "id": "writing", "initial": "building",
        "states": {
            "building": {
                "allowed_tools": ["Read", "Write", "Bash"], "instructions": MARK,
                "on": {"DONE": "complete"},
            },
            "complete": {"type": "final"},
        },
    })
}

/// A flag that a hook's wrapper waits for: the damage is done when the file is there.
fn raise_flag(guarded: &Guarded) -> Box<dyn Fn() + Send + Sync> {
    let flag = guarded.room.state().join("flag");
    Box::new(move || fs::write(&flag, "").unwrap())
}

fn damage_all(files: std::io::Result<Vec<PathBuf>>) {
    for file in files.unwrap() {
        damage(&file).unwrap();
    }
}

/// The older version ignores `onFailure`: there a killed hook lets the call run, and `doctor` must say so.
fn a_killed_hook_blocks_where_the_client_can(version: Version) {
    let wrapper = r#"[ -e "$XDG_STATE_HOME/flag" ] && kill -9 $$; exec "$@""#;
    let broken = Broken::between_two_calls(version, Some(wrapper), raise_flag);
    let doctor = Interlock::new(INTERLOCK, &broken.guarded.room)
        .run(&["doctor"])
        .unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(version.number()), "{doctor}");
    match version {
        Version::V2_1_197 => {
            assert!(
                broken.ran(),
                "this version honours `onFailure` now: {:#?}",
                broken.calls
            );
            assert!(doctor.contains("onFailure"), "{doctor}");
        }
        Version::V2_1_332 => {
            broken.assert_refused();
            assert!(!doctor.contains("onFailure"), "{doctor}");
        }
    }
}

fn a_damaged_run_denies(version: Version) {
    Broken::between_two_calls(version, None, |guarded| {
        let (state, run) = (guarded.room.state(), guarded.run.clone());
        Box::new(move || damage_all(databases(&state, &run)))
    })
    .assert_refused();
}

fn a_full_disk_denies(version: Version) {
    let wrapper = r#"[ -e "$XDG_STATE_HOME/flag" ] && ulimit -f 0; exec "$@""#;
    Broken::between_two_calls(version, Some(wrapper), raise_flag).assert_refused();
}

fn a_damaged_pinned_workflow_denies(version: Version) {
    Broken::between_two_calls(version, None, |guarded| {
        let state = guarded.room.state();
        Box::new(move || damage_all(pinned(&state, MARK)))
    })
    .assert_refused();
}

fn a_deleted_workflow_file_changes_nothing(version: Version) {
    let guarded = Guarded::new(version, &plan_then_build());
    let file = guarded.room.project().join(WORKFLOW);
    let script = Script::new(move |request| match request.rounds() {
        0 => vec![bash("cat a.txt")],
        1 => {
            // A repeated request finds the file gone already.
            drop(fs::remove_file(&file));
            vec![bash("touch early.txt")]
        }
        2 => vec![transition("READY")],
        3 => vec![bash("echo late > late.txt")],
        _ => vec![text("done")],
    });
    let calls = guarded.session(script).calls();
    let [cat, early, ready, late] = &calls[..] else {
        panic!("{calls:#?}")
    };
    assert_eq!(guarded.room.read(WORKFLOW), None);
    refused(early, "shell_write", &["READY"]);
    [cat, ready, late].into_iter().for_each(ran);
    assert_eq!(guarded.room.read("early.txt"), None);
    assert!(guarded.room.read("late.txt").is_some());
}

/// A project whose skills `reads` and `writes` have a command in their text.
///
/// The client runs it while it loads them; older ones ask no hook about it.
fn with_skills() -> Guarded {
    let workflow = json!({
        "id": "looking", "initial": "looking",
        "states": {
            "looking": {"allowed_tools": ["Read", "Bash", "Skill"], "on": {"READY": "done"}},
            "done": {"type": "final"},
        },
    });
    let guarded = Guarded::new(Version::V2_1_332, &workflow);
    for (name, line) in [("reads", "cat a.txt"), ("writes", "cat a.txt > leak.txt")] {
        let head = format!("---\nname: {name}\ndescription: looks\nallowed-tools: Bash\n---\n");
        let path = format!(".claude/skills/{name}/SKILL.md");
        let text = format!("{head}\nFound: !`{line}`\n");
        guarded.room.write(&path, &text).unwrap();
    }
    guarded
}

#[test]
fn a_command_in_the_text_of_a_skill_is_judged_as_a_line_is() {
    let guarded = with_skills();
    let call = |name: &str| call("Skill", json!({"skill": name}));
    let outcome = guarded.session(Script::calls(vec![call("reads"), call("writes")]));
    assert_eq!(guarded.room.read("leak.txt"), None);
    let text = outcome.text();
    assert!(text.contains("Found: one"), "{text}");
    assert!(text.contains("shell_write"), "{text}");
}

#[test]
fn a_person_who_types_the_name_of_a_skill_gets_the_same_answer() {
    for (name, runs) in [("reads", true), ("writes", false)] {
        let guarded = with_skills();
        let seen = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&seen);
        let script = Script::new(move |request| {
            told.lock().unwrap().push_str(&request.text());
            vec![text("done")]
        });
        let prompt = format!("/{name}");
        let session = Session::new(guarded.version, &guarded.room, script).prompt(&prompt);
        let outcome = session.run().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.contains("Found: one"), runs, "{outcome:#?}");
        assert_eq!(guarded.room.read("leak.txt"), None, "{outcome:#?}");
    }
}

/// A hook that dies, or says nothing, keeps the command from running.
#[test]
fn a_killed_hook_blocks_the_command_of_a_skill() {
    for body in ["kill -9 $$", "exit 1", "echo 'no JSON'", "true"] {
        let guarded = with_skills();
        let path = ".claude/settings.json";
        let mut settings: Value = serde_json::from_str(&guarded.room.read(path).unwrap()).unwrap();
        let hook = &mut settings["hooks"]["PreSkillShellCommand"][0]["hooks"][0]["command"];
        let program = format!("sh -c '{}'", body.replace('\'', "'\\''"));
        *hook = match hook.as_str().unwrap().split_once(" interlock ") {
            // The line that `init` writes looks at what the program answers.
            Some((line, _)) => format!("{line} interlock {program}").into(),
            None => panic!("{hook}"),
        };
        guarded.room.write(path, &settings.to_string()).unwrap();
        let call = |name: &str| call("Skill", json!({"skill": name}));
        let outcome = guarded.session(Script::calls(vec![call("reads"), call("writes")]));
        assert_eq!(guarded.room.read("leak.txt"), None, "{body}");
        let text = outcome.text();
        assert!(!text.contains("Found: one"), "{body}: {text}");
    }
}

interlock_testkit::with_both_versions! {
    a_refusal_reaches_the_model_and_a_transition_unlocks
    the_model_is_told_where_it_stands
    a_project_without_a_run_is_left_alone
    the_fifth_call_is_over_the_limit
    calls_at_once_cannot_share_the_last_one
    an_edit_over_the_limit_is_refused
    a_matching_edit_detours_at_once
    only_a_test_that_passed_after_the_last_edit_opens_the_guard
    a_sub_agent_stands_under_the_same_run
    a_killed_hook_blocks_where_the_client_can
    a_damaged_run_denies
    a_full_disk_denies
    a_damaged_pinned_workflow_denies
    a_deleted_workflow_file_changes_nothing
}
