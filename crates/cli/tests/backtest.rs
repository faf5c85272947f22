//! `backtest` as a program: recordings of real clients, runs through the real hook, and a project's sessions.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// The workflow under which the guarded session was recorded.
fn fix() -> Value {
    json!({
        "id": "fix", "initial": "planning",
        "states": {
            "planning": {"allowed_tools": ["Read"], "on": {"READY": "fixing"}},
            "fixing": {
                "allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["python3"],
                "on": {"DONE": {"target": "fixed", "guard": "tested"}},
            },
            "fixed": {"type": "final"},
        },
        "guards": {"tested": {"evidence": {"command": "python3"}}},
    })
}

fn recordings(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions/tests/recordings");
    let path: PathBuf = folder.join(name);
    path.canonicalize().unwrap().to_string_lossy().into_owned()
}

fn run(room: &Room, arguments: &[&str]) -> Output {
    let mut command = room.command(INTERLOCK);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[track_caller]
fn out(room: &Room, arguments: &[&str], code: i32) -> String {
    let output = run(room, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn report(room: &Room, arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&out(room, &[arguments, &["--json"]].concat(), code)).unwrap()
}

/// The recording of a guarded session: the calls refused then are refused now, and no others.
#[test]
fn a_guarded_transcript_has_the_verdicts_it_was_given() {
    let room = Room::new().unwrap();
    room.write("fix.json", &fix().to_string()).unwrap();
    let found = report(
        &room,
        &[
            "backtest",
            "fix.json",
            &recordings("claude-guarded-2.1.329"),
        ],
        0,
    );
    let session = &found["sessions"][0];
    assert_eq!(session["transitions"], "recorded");
    let verdicts: Vec<_> = session["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            let why = call["code"].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {why}",
                call["tool"].as_str().unwrap(),
                call["verdict"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        verdicts,
        [
            "Read allow -",
            "Edit deny tool_not_allowed",
            "mcp__interlock__interlock_transition allow -",
            "Edit allow -",
            "Bash deny shell_unreadable",
            "Bash deny command_not_allowed",
            "mcp__interlock__interlock_transition allow -",
            "Read allow -",
        ]
    );
    assert_eq!(
        (&found["refused"], &found["not_run"]),
        (&json!(0), &json!(3))
    );
}

#[test]
fn every_client_s_recording_is_placed() {
    let room = Room::new().unwrap();
    let workflow = json!({
        "id": "look", "initial": "looking",
        "states": {"looking": {"disallowed_tools": ["Edit", "Write"], "on": {"END": "done"}}, "done": {"type": "final"}},
    });
    room.write("look.json", &workflow.to_string()).unwrap();
    for (name, calls) in [
        ("claude-2.1.329", 11),
        ("claude-2.1.197", 11),
        ("codex-0.169.0", 9),
        ("codex-code-0.169.0", 18),
        ("gemini", 11),
        ("copilot-1.0.102", 11),
        ("opencode-1.18.33", 9),
    ] {
        let found = report(&room, &["backtest", "look.json", &recordings(name)], 1);
        assert_eq!(
            (&found["calls"], &found["refused"]),
            (&json!(calls), &json!(2)),
            "{name}: {found:#}"
        );
        assert_eq!(found["refused_everywhere"], 2, "{name}");
    }
    let text = out(
        &room,
        &["backtest", "look.json", &recordings("codex-0.169.0")],
        1,
    );
    for wanted in [
        "look.json against 1 session with 9 calls: 2 refused at least.",
        "Read: 1 of Codex 0.169.0.",
        "01a224b3 #3 apply_patch",
        "tool_disallowed in looking",
        "looking: 9 calls",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

/// Without arguments, only the sessions of this project are used.
#[test]
fn the_sessions_of_a_project_are_found_by_where_they_began() {
    let room = Room::new().unwrap();
    room.write("fix.json", &fix().to_string()).unwrap();
    let none = run(&room, &["backtest", "fix.json"]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    assert!(String::from_utf8_lossy(&none.stderr).contains("no recorded session of this project"));
    let folder = room.home().join(".claude/projects/p");
    std::fs::create_dir_all(&folder).unwrap();
    let line = |session: &str, cwd: &str| {
        json!({
            "type": "assistant", "sessionId": session, "cwd": cwd, "version": "9.9.9", "timestamp": "2026-01-01T00:00:00Z",
            "message": {"content": [{"type": "tool_use", "id": session, "name": "Read", "input": {"file_path": format!("{cwd}/a")}}]},
        })
        .to_string()
    };
    std::fs::write(folder.join("here.jsonl"), line("here", &room.file(""))).unwrap();
    std::fs::write(folder.join("there.jsonl"), line("there", "/elsewhere")).unwrap();
    let found = report(&room, &["backtest", "fix.json"], 0);
    assert_eq!(found["sessions"][0]["session"], "here");
    assert_eq!(
        (&found["calls"], &found["left_out"]),
        (&json!(1), &json!(1))
    );
    let text = out(&room, &["backtest", "fix.json"], 0);
    assert!(text.contains("Claude Code 9.9.9 is newer than"), "{text}");
    // Old sessions, and those of other clients, are excluded.
    for more in [["--since", "1d"], ["--client", "codex"]] {
        let none = run(&room, &[&["backtest", "fix.json"], &more[..]].concat());
        assert_eq!(none.status.code(), Some(2), "{none:?}");
    }
}

#[test]
fn what_is_not_read_is_said_and_decides_the_exit_code() {
    let room = Room::new().unwrap();
    room.write("fix.json", &fix().to_string()).unwrap();
    let line = json!({"type": "unheard-of", "sessionId": "s"});
    let call = json!({"type": "assistant", "sessionId": "s", "message": {"content": [
        {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "a"}}]}});
    room.write("s.jsonl", &format!("{line}\n{call}\n{{\"type\""))
        .unwrap();
    let text = out(&room, &["backtest", "fix.json", "s.jsonl"], 3);
    assert!(text.contains("1 line is not JSON."), "{text}");
    assert!(
        text.contains("1 record is of a kind that is not known: 1 `unheard-of`."),
        "{text}"
    );
}

#[test]
fn mistakes_are_usage_errors() {
    let room = Room::new().unwrap();
    room.write("fix.json", &fix().to_string()).unwrap();
    room.write("broken.json", "{").unwrap();
    room.write("other.json", "{}").unwrap();
    for (arguments, wanted) in [
        (&["backtest", "none.json", "fix.json"][..], "none.json"),
        (&["backtest", "broken.json", "fix.json"], "broken.json"),
        (
            &["backtest", "fix.json", "other.json"],
            "`other.json` is not a recording",
        ),
        (
            &["backtest", "fix.json", "nowhere"],
            "`nowhere` is not a file, a folder or a run",
        ),
        (
            &["backtest", "fix.json", ".", "--client", "vi"],
            "no client `vi`",
        ),
        (
            &["backtest", "fix.json", ".", "--since", "soon"],
            "`soon` is not a duration",
        ),
    ] {
        let output = run(&room, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {said}");
        assert!(said.contains(wanted), "{arguments:?} {said}");
    }
}

/// Passes a call to the real hook, and reports its end if it may run.
fn hook(interlock: &Interlock<'_>, room: &Room, id: usize, tool: &str, input: &Value) -> bool {
    let mut told = before_tool(room, "s1", &format!("t{id}"), tool, input);
    let output = interlock.hook(&told).unwrap().wait_with_output().unwrap();
    let denied =
        !output.status.success() || String::from_utf8_lossy(&output.stdout).contains("\"deny\"");
    if !denied {
        told["hook_event_name"] = json!("PostToolUse");
        told["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
        interlock.hook(&told).unwrap().wait_with_output().unwrap();
    }
    !denied
}

/// A session that the real hook has judged: on the same workflow, each verdict is that of its log.
#[test]
fn a_guarded_run_has_exactly_the_verdicts_of_its_log() {
    let room = Room::new().unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    let mut fix = fix();
    fix["initial"] = json!("fixing");
    fix["states"].as_object_mut().unwrap().remove("planning");
    room.write("fix.json", &fix.to_string()).unwrap();
    room.write("a.py", "a = 1\n").unwrap();
    let id = interlock.start_for_session("fix.json", "s1").unwrap();
    let read = json!({"file_path": room.file("a.py")});
    let edit = json!({"file_path": room.file("a.py"), "old_string": "1", "new_string": "2"});
    let line = |line: &str| json!({"command": line});
    let passed = [
        hook(&interlock, &room, 0, "Read", &read),
        hook(&interlock, &room, 1, "Edit", &edit),
        hook(&interlock, &room, 2, "Grep", &json!({"pattern": "a"})),
        hook(&interlock, &room, 3, "Edit", &edit),
        hook(&interlock, &room, 4, "Bash", &line("rm -rf /")),
        hook(
            &interlock,
            &room,
            5,
            "Write",
            &json!({"file_path": room.file("b.py"), "content": "x"}),
        ),
    ];
    assert_eq!(passed, [true, true, false, true, false, false]);
    let verdicts = interlock
        .events(&id)
        .unwrap()
        .iter()
        .filter(|event| matches!(event["event"].as_str(), Some("CallAllowed" | "CallDenied")))
        .count();
    let found = report(&room, &["backtest", "fix.json", &id], 0);
    let session = &found["sessions"][0];
    assert_eq!(verdicts, 6);
    assert_eq!(
        (&session["differing"], &session["not_judged"]),
        (&json!(0), &json!([])),
        "{found:#}"
    );
    assert!(session["judged"].as_u64().unwrap() >= 6, "{found:#}");
    assert_eq!(session["then"], session["now"]);
    // A stricter version would have refused one more call.
    let mut stricter = fix.clone();
    stricter["states"]["fixing"]["allowed_tools"] = json!(["Read", "Bash"]);
    room.write("stricter.json", &stricter.to_string()).unwrap();
    let found = report(&room, &["backtest", "stricter.json", &id], 1);
    assert_eq!(found["refused"], 2, "{found:#}");
    // Under a workflow with another name, the log is placed like any other session.
    let mut other = fix;
    other["id"] = json!("other");
    room.write("other.json", &other.to_string()).unwrap();
    let found = report(&room, &["backtest", "other.json", &id], 0);
    assert_eq!(found["sessions"][0]["transitions"], "placed", "{found:#}");
    assert_eq!(
        (&found["refused"], &found["not_run"]),
        (&json!(0), &json!(3)),
        "{found:#}"
    );
    // The output of `log --json` is a recording, too.
    room.write("log.jsonl", &out(&room, &["log", &id, "--json"], 0))
        .unwrap();
    let again = report(
        &room,
        &[
            "backtest",
            "other.json",
            "log.jsonl",
            "--root",
            &room.file(""),
        ],
        0,
    );
    assert_eq!(
        (&again["calls"], &again["not_run"]),
        (&found["calls"], &found["not_run"])
    );
}

#[test]
fn check_says_in_one_sentence_what_a_policy_would_have_refused() {
    let room = Room::new().unwrap();
    room.write("fix.json", &fix().to_string()).unwrap();
    let mut stricter = fix();
    stricter["states"]["fixing"]["allowed_tools"] = json!(["Read", "Bash"]);
    room.write("stricter.json", &stricter.to_string()).unwrap();
    let sessions = format!(
        "--against-sessions={}",
        recordings("claude-guarded-2.1.329")
    );
    let text = out(&room, &["check", "fix.json", &sessions], 0);
    assert!(
        text.contains("fix.json would have refused 0 of 8 calls of 1 session"),
        "{text}"
    );
    let text = out(&room, &["check", "stricter.json", &sessions], 0);
    assert!(
        text.contains("stricter.json would have refused 1 of 8 calls of 1 session"),
        "{text}"
    );
    out(
        &room,
        &["check", "stricter.json", &sessions, "--deny-warnings"],
        1,
    );
    let found = report(&room, &["check", "stricter.json", &sessions], 0);
    assert_eq!(found["against_sessions"][0]["refused"], 1, "{found:#}");
}

/// Writes a session of Claude Code: calls with their arguments, and whether each succeeded.
fn transcript(room: &Room, id: &str, calls: &[(&str, Value, bool)]) -> String {
    let mut text = String::new();
    for (index, (tool, input, ok)) in calls.iter().enumerate() {
        let call = format!("{id}-{index}");
        let at = format!("2026-01-01T00:{index:02}:00Z");
        let common = |kind: &str, message: Value| {
            json!({
                "type": kind, "sessionId": id, "cwd": room.project(), "timestamp": at, "message": message,
                "toolUseResult": {"stdout": "", "stderr": "", "interrupted": false},
            })
        };
        let used =
            json!({"content": [{"type": "tool_use", "id": call, "name": tool, "input": input}]});
        let said = if *ok { "ok" } else { "Exit code 1" };
        let result = json!({"content": [{"type": "tool_result", "tool_use_id": call, "content": said, "is_error": !ok}]});
        text += &format!(
            "{}\n{}\n",
            common("assistant", used),
            common("user", result)
        );
    }
    text
}

/// The draft from sessions passes `check` and `prove`, and refuses none of their calls.
#[test]
fn a_mined_draft_checks_proves_and_fits() {
    let room = Room::new().unwrap();
    let file =
        |name: &str| json!({"file_path": room.file(name), "old_string": "a", "new_string": "b"});
    let line = |line: &str| json!({"command": line});
    for (name, more) in [("one", true), ("two", false), ("three", false)] {
        let mut calls = vec![("Read", file("a.rs"), true), ("Edit", file("a.rs"), true)];
        if more {
            calls.push(("Bash", line("cargo test"), false));
            calls.push(("Edit", file("a.rs"), true));
        }
        calls.push(("Bash", line("cargo test"), true));
        calls.push(("Bash", line("git commit -m done"), true));
        room.write(
            &format!("sessions/{name}.jsonl"),
            &transcript(&room, name, &calls),
        )
        .unwrap();
    }
    let draft = out(&room, &["mine", "sessions", "--name", "work"], 0);
    room.write("work.yaml", &draft).unwrap();
    out(&room, &["check", "work.yaml", "--deny-warnings"], 0);
    out(&room, &["prove", "work.yaml"], 0);
    let found = report(&room, &["backtest", "work.yaml", "sessions"], 0);
    assert_eq!(
        (&found["calls"], &found["refused"]),
        (&json!(14), &json!(0)),
        "{draft}"
    );
    let graded = report(&room, &["mine", "sessions", "--holdout"], 0);
    assert_eq!(graded["holdout"]["sessions"], 3);
    assert!(
        graded["workflow"].as_str().unwrap().contains("id: mined"),
        "{graded}"
    );
    // If there is no order, that is reported.
    let calls = [
        ("Edit", file("a"), true),
        ("Bash", line("cargo test"), true),
        ("Bash", line("git commit -m a"), true),
        ("Edit", file("a"), true),
        ("Bash", line("git commit -m b"), true),
        ("Bash", line("cargo test"), true),
    ];
    room.write("mixed.jsonl", &transcript(&room, "mixed", &calls))
        .unwrap();
    let none = run(&room, &["mine", "mixed.jsonl"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    assert!(String::from_utf8_lossy(&none.stderr).contains("no order found"));
}
