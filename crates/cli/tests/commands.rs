//! The commands of the built program: their output and exit codes.

mod check;

use std::{
    io::Write as _,
    process::{Output, Stdio},
};

use interlock_testkit::{room::Room, terminal};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const FLOW: &str = "id: flow
initial: draft
context: {checked: false}
states:
  draft:
    allowed_tools: [Read]
    max_iterations: 3
    on:
      SHIP: {target: done, guard: checked, requires_approval: true, approval_message: Ship it?}
      CHECK: draft
      DROP: failed
  done: {type: final}
  failed: {type: final}
guards:
  checked: {field: checked, op: eq, value: true}
";

fn call(room: &Room, arguments: &[&str]) -> Output {
    room.command(INTERLOCK)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn feed(room: &Room, arguments: &[&str], input: &str) -> Output {
    let mut child = room
        .command(INTERLOCK)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn out(output: &Output, code: i32) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout: {text}\nstderr: {errors}"
    );
    text
}

#[track_caller]
fn err(output: &Output, code: i32, words: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no `{word}` in: {errors}");
    }
}

#[track_caller]
fn value(output: &Output, code: i32) -> Value {
    serde_json::from_str(&out(output, code)).unwrap()
}

fn room() -> Room {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    room
}

/// Returns a person's token, created at a terminal.
fn token(room: &Room) -> String {
    let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
    let text = out(&shown, 0);
    text.lines().last().unwrap().to_owned()
}

fn as_person(room: &Room, token: &str, arguments: &[&str]) -> Output {
    room.command(INTERLOCK)
        .args(arguments)
        .env("INTERLOCK_TOKEN", token)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn every_command_has_help() {
    let room = room();
    let help = out(&call(&room, &["--help"]), 0);
    for name in [
        "init",
        "doctor",
        "check",
        "simulate",
        "test",
        "explain",
        "schema",
        "graph",
        "start",
        "status",
        "send",
        "approve",
        "reject",
        "pause",
        "resume",
        "cancel",
        "log",
        "list",
        "watch",
        "console",
        "telemetry",
        "demo",
        "token",
        "gateway",
        "shared",
        "worker",
        "hook",
        "completions",
        "man",
    ] {
        let text = out(&call(&room, &[name, "--help"]), 0);
        assert!(text.contains("Usage:"), "{name}: {text}");
        assert!(
            name == "hook" || help.contains(name),
            "`{name}` is not in the list of commands"
        );
    }
}

/// The program for teams is searched for beside this one, and nowhere else.
#[test]
fn shared_is_a_program_beside_this_one() {
    let room = room();
    let place = room.path("bin");
    std::fs::create_dir_all(&place).unwrap();
    let (own, shared) = (place.join("interlock"), place.join("interlock-shared"));
    if std::fs::hard_link(INTERLOCK, &own).is_err() {
        std::fs::copy(INTERLOCK, &own).unwrap();
    }
    let call = |path: &str| {
        let mut command = room.command(own.to_str().unwrap());
        command.args(["shared", "doctor", "--json"]);
        command.env("PATH", path).output().unwrap()
    };
    let elsewhere = room.path("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let script = "#!/bin/sh\necho \"called with $*\" $INTERLOCK_DATABASE\nexit 3\n";
    let write = |at: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(at, script).unwrap();
        std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(&elsewhere.join("interlock-shared"));
    let path = format!("{}:/usr/bin:/bin", elsewhere.display());
    err(
        &call(&path),
        2,
        &[
            "`interlock-shared`",
            "not in",
            "cargo build --release -p interlock-shared",
        ],
    );
    write(&shared);
    assert_eq!(out(&call(&path), 3), "called with doctor --json\n");
    // The address of the database, with its password, is not in the arguments of a process.
    let served = room
        .command(own.to_str().unwrap())
        .args(["serve", "--shared", "postgres://u:p@h/d", "--behind-proxy"])
        .args(["--listen", "0.0.0.0:4680", "--json"])
        .output()
        .unwrap();
    let called =
        "called with serve --listen 0.0.0.0:4680 --behind-proxy --json postgres://u:p@h/d\n";
    assert_eq!(out(&served, 3), called);
    for other in ["--verbose", "--token-file=x"] {
        let both = room
            .command(own.to_str().unwrap())
            .args(["serve", "--shared", "postgres://u@h/d", other])
            .output()
            .unwrap();
        err(&both, 2, &["cannot be used with"]);
    }
}

#[test]
fn a_command_line_that_is_none_of_ours_is_a_usage_error() {
    let room = room();
    err(
        &call(&room, &["chekc", "flow.yaml"]),
        2,
        &["chekc", "check"],
    );
    err(&call(&room, &["start"]), 2, &["WORKFLOW"]);
    err(&call(&room, &["check", "nosuch"]), 2, &["nosuch", "bugfix"]);
    err(
        &call(&room, &["start", "flow.yaml", "--input", "{"]),
        2,
        &["--input"],
    );
}

#[test]
fn no_colour_is_printed_to_a_pipe_or_where_it_is_refused() {
    let room = room();
    room.write("bad.yaml", &FLOW.replace("allowed_tools", "alowed_tools"))
        .unwrap();
    let plain = call(&room, &["check", "bad.yaml"]);
    assert!(!plain.stderr.contains(&0x1b) && !plain.stdout.contains(&0x1b));
    let forced = call(&room, &["--color", "always", "check", "bad.yaml"]);
    assert!(forced.stderr.contains(&0x1b));
    let refused = terminal::output(
        room.command(INTERLOCK)
            .args(["status"])
            .env("NO_COLOR", "1"),
    )
    .unwrap();
    assert!(!refused.stdout.contains(&0x1b));
}

#[test]
fn simulate_answers_a_line_for_a_line_with_its_keys_in_order() {
    let room = room();
    let steps = "{\"tool\":\"Edit\",\"input\":{\"file_path\":\"a\",\"old_string\":\"\",\"new_string\":\"x\"}}\n{\"transition\":\"CHECK\",\"data\":{\"checked\":true}}\n";
    let text = out(
        &feed(&room, &["simulate", "flow.yaml", "--steps", "-"], steps),
        0,
    );
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let keys = |line: &Value| {
        line.as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&lines[0]),
        [
            "ok", "verdict", "code", "message", "state", "status", "context", "tools", "events",
            "limits", "effects", "log"
        ]
    );
    assert_eq!(lines[0]["code"], "tool_not_allowed");
    assert!(!keys(&lines[1]).contains(&"verdict".to_owned()));
    assert_eq!(lines[1]["context"], json!({"checked": true}));
}

#[test]
fn simulate_stops_at_a_line_it_does_not_know() {
    let room = room();
    let output = feed(
        &room,
        &["simulate", "flow.yaml", "--steps", "-"],
        "{\"state\":{}}\n{\"sate\":{}}\n{\"state\":{}}\n",
    );
    assert_eq!(out(&output, 2).lines().count(), 1);
    err(&output, 2, &["line 2", "sate"]);
}

#[test]
fn a_run_is_started_moved_and_ended_by_a_person_only() {
    let room = room();
    let started = value(&call(&room, &["start", "flow.yaml", "--json"]), 0);
    let run = started["run"].as_str().unwrap();
    assert_eq!(started["state"], "draft");
    assert_eq!(started["status"], "running");
    err(
        &call(&room, &["send", "CHECK"]),
        1,
        &["terminal", "INTERLOCK_TOKEN"],
    );
    err(&call(&room, &["token"]), 1, &["terminal"]);
    err(
        &as_person(&room, "wrong", &["send", "CHECK"]),
        1,
        &["INTERLOCK_TOKEN"],
    );

    let token = token(&room);
    let refused = as_person(&room, &token, &["send", "SHIP", "--json"]);
    assert_eq!(value(&refused, 1)["code"], "guard_failed");
    let moved = as_person(
        &room,
        &token,
        &["send", "CHECK", "--data", "{\"checked\":true}", "--json"],
    );
    assert_eq!(value(&moved, 0)["ok"], true);
    let parked = value(&as_person(&room, &token, &["send", "SHIP", "--json"]), 0);
    assert_eq!(parked["status"], "awaiting_approval");
    assert_eq!(parked["pending"][0]["message"], "Ship it?");
    let denied = value(
        &as_person(&room, &token, &["reject", "--note", "not yet", "--json"]),
        0,
    );
    assert_eq!(denied["status"], "running");
    assert_eq!(
        value(&as_person(&room, &token, &["approve", "--json"]), 1)["code"],
        "nothing_pending"
    );
    as_person(&room, &token, &["send", "SHIP"]);
    let done = value(&as_person(&room, &token, &["approve", run, "--json"]), 0);
    assert_eq!(done["status"], "completed");
    assert_eq!(
        value(&as_person(&room, &token, &["send", "CHECK", "--json"]), 1)["code"],
        "run_over"
    );
    assert!(out(&call(&room, &["log", run, "--verify"]), 0).starts_with("verified "));
    assert!(!out(&call(&room, &["list"]), 0).contains("completed"));
    assert!(out(&call(&room, &["list", "--all"]), 0).contains("completed"));
}

#[test]
fn a_paused_run_goes_on_when_a_person_resumes_it() {
    let room = room();
    let token = token(&room);
    out(&call(&room, &["start", "flow.yaml"]), 0);
    assert_eq!(
        value(
            &as_person(&room, &token, &["pause", "--reason", "lunch", "--json"]),
            0
        )["status"],
        "paused"
    );
    assert_eq!(
        value(&as_person(&room, &token, &["send", "CHECK", "--json"]), 1)["code"],
        "paused"
    );
    assert_eq!(
        value(&as_person(&room, &token, &["resume", "--json"]), 0)["status"],
        "running"
    );
    assert_eq!(
        value(&as_person(&room, &token, &["cancel", "--json"]), 0)["status"],
        "cancelled"
    );
}

#[test]
fn a_second_run_does_not_take_the_place_of_an_open_one() {
    let room = room();
    out(&call(&room, &["start", "flow.yaml"]), 0);
    err(
        &call(&room, &["start", "flow.yaml"]),
        1,
        &["open", "interlock cancel"],
    );
    out(&call(&room, &["start", "flow.yaml", "--session", "one"]), 0);
    err(
        &call(&room, &["start", "flow.yaml", "--session", "one"]),
        1,
        &["open"],
    );
}

#[test]
fn a_cancelled_run_waits_for_no_session() {
    let room = room();
    let token = token(&room);
    out(&call(&room, &["start", "flow.yaml"]), 0);
    out(&as_person(&room, &token, &["cancel"]), 0);
    let input = json!({
        "session_id": "late", "cwd": room.project(), "hook_event_name": "UserPromptSubmit", "prompt": "x",
    });
    assert_eq!(
        out(
            &feed(&room, &["hook", "claude-code"], &input.to_string()),
            0
        ),
        "{}"
    );
}

#[test]
fn results_are_kept_where_the_workflow_asks_for_it() {
    let room = room();
    room.write(
        "flow.yaml",
        &format!("{FLOW}meta: {{capture_output: true}}\n"),
    )
    .unwrap();
    out(&call(&room, &["start", "flow.yaml", "--session", "s"]), 0);
    for (event, more) in [
        ("PreToolUse", json!({})),
        (
            "PostToolUse",
            json!({"tool_response": "what the file holds"}),
        ),
    ] {
        let mut input = json!({
            "session_id": "s", "cwd": room.project(), "hook_event_name": event, "tool_name": "Read",
            "tool_input": {"file_path": room.file("a.txt")}, "tool_use_id": "one",
        });
        input
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        out(
            &feed(&room, &["hook", "claude-code"], &input.to_string()),
            0,
        );
    }
    let run = room.state().join("interlock/work");
    let run = std::fs::read_dir(run)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let kept = std::fs::read_dir(run.join("output"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert_eq!(
        std::fs::read_to_string(kept).unwrap(),
        "what the file holds"
    );
}

#[test]
fn the_log_has_one_object_an_event_in_a_chain() {
    let room = room();
    let run = value(&call(&room, &["start", "flow.yaml", "--json"]), 0)["run"]
        .as_str()
        .unwrap()
        .to_owned();
    let token = token(&room);
    as_person(&room, &token, &["send", "CHECK"]);
    let text = out(&call(&room, &["log", &run, "--json"]), 0);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["event"], "RunStarted");
    assert_eq!(lines[1]["event"], "TransitionTaken");
    assert_eq!(lines[1]["prev"], lines[0]["hash"]);
    assert_eq!(lines[1]["seq"], json!(1));
}

#[test]
fn commands_without_a_run_say_how_to_start_one() {
    let room = room();
    err(&call(&room, &["status"]), 1, &["interlock start"]);
    out(&call(&room, &["list"]), 0);
}

#[test]
fn explain_says_which_rule_decides() {
    let room = room();
    room.write("shell.yaml", &FLOW.replace("[Read]", "[Read, Bash]"))
        .unwrap();
    let told = value(
        &call(
            &room,
            &["explain", "shell.yaml", "draft", "cat a > b", "--json"],
        ),
        0,
    );
    assert_eq!(told["verdict"], "deny");
    assert_eq!(told["code"], "shell_write");
    assert_eq!(told["commands"], json!([["cat", "a"]]));
    err(
        &call(&room, &["explain", "shell.yaml", "nowhere", "ls"]),
        2,
        &["nowhere", "draft"],
    );
}

#[test]
fn explain_judges_as_the_shell_of_the_session_would() {
    let room = room();
    room.write("shell.yaml", &FLOW.replace("[Read]", "[Read, Bash]"))
        .unwrap();
    let told = |line: &str, shell: &[&str], variable: Option<&str>| {
        let mut call = room.command(INTERLOCK);
        call.args(["explain", "shell.yaml", "draft", line, "--json"])
            .args(shell)
            .stdin(Stdio::null());
        if let Some(path) = variable {
            call.env("SHELL", path);
        }
        let told = value(&call.output().unwrap(), 0);
        told["verdict"].as_str().unwrap().to_owned()
    };
    let in_zsh = "commands[ls]=/bin/touch; ls x";
    let last_part = "c=ls; echo touch | read c; $c x";
    for line in [in_zsh, last_part] {
        assert_eq!(told(line, &["--shell", "zsh"], None), "deny", "{line}");
        assert_eq!(told(line, &[], Some("/bin/zsh")), "deny", "{line}");
        assert_eq!(told(line, &[], Some("/usr/bin/fish")), "deny", "{line}");
    }
    assert_eq!(told(last_part, &["--shell", "bash"], None), "allow");
    assert_eq!(told(last_part, &[], Some("/bin/bash")), "allow");
    assert_eq!(
        told(last_part, &["--shell", "bash"], Some("/bin/zsh")),
        "allow"
    );
    let no_posix = "diff <(ls) <(ls src)";
    assert_eq!(told(no_posix, &["--shell", "sh"], None), "deny");
    assert_eq!(told(no_posix, &["--shell", "dash"], None), "deny");
    assert_eq!(told(no_posix, &["--shell", "zsh"], None), "allow");
}

#[test]
fn pages_made_from_the_table_of_commands() {
    let room = room();
    assert!(out(&call(&room, &["completions", "bash"]), 0).contains("interlock"));
    assert!(out(&call(&room, &["man"]), 0).contains(".TH"));
    let schema = value(&call(&room, &["schema"]), 0);
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}
