//! Protected files through the real hook: a change pauses the run until a person has seen it.

use std::{
    fs,
    process::{Output, Stdio},
};

use interlock_testkit::interlock::{Interlock, before_tool};
use interlock_testkit::{room::Room, terminal};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const SESSION: &str = "7a1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21";

/// Starts a run without limits in a project with settings and a repository.
fn start(room: &Room) -> String {
    let workflow = json!({
        "id": "free", "initial": "a",
        "states": {"a": {"on": {"DONE": "b"}}, "b": {"type": "final"}},
    });
    room.write("workflow.json", &workflow.to_string()).unwrap();
    room.write(".claude/settings.json", "{}").unwrap();
    room.write(".git/config", "[core]\n\tbare = false\n")
        .unwrap();
    Interlock::new(INTERLOCK, room)
        .start_for_session("workflow.json", SESSION)
        .unwrap()
}

/// Proposes a shell line and returns the reason of its denial; empty if it may run.
fn denied(room: &Room, id: &str, line: &str) -> String {
    let input = before_tool(room, SESSION, id, "Bash", &json!({ "command": line }));
    let child = Interlock::new(INTERLOCK, room).hook(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = &document["hookSpecificOutput"];
    let is_denied = verdict["permissionDecision"] == "deny";
    let reason = verdict["permissionDecisionReason"].as_str();
    reason.filter(|_| is_denied).unwrap_or_default().to_owned()
}

/// Makes the person's token, which a process below a guarded client cannot make.
fn token(room: &Room) -> String {
    let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    text.lines().last().unwrap().trim().to_owned()
}

fn as_person(room: &Room, token: &str, arguments: &[&str]) -> Output {
    let mut command = room.command(INTERLOCK);
    command.args(arguments).env("INTERLOCK_TOKEN", token);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_change_pauses_the_run_until_a_person_accepts_it() {
    let room = Room::new().unwrap();
    let token = token(&room);
    let run = start(&room);
    assert_eq!(denied(&room, "1", "ls"), "");
    // Changed by someone else, or by a program that cannot be analyzed.
    room.write(".claude/settings.json", "{\"hooks\": {\"Stop\": [1]}}")
        .unwrap();
    room.write(".git/hooks/pre-commit", "#!/bin/sh").unwrap();
    let reason = denied(&room, "2", "ls");
    for part in ["paused", ".claude/settings.json", ".git/hooks/pre-commit"] {
        assert!(reason.contains(part), "{reason}");
    }
    // A protected command is still the first reason.
    let reason = denied(&room, "3", "interlock resume");
    assert!(reason.starts_with("protected"), "{reason}");
    let interlock = Interlock::new(INTERLOCK, &room);
    let status = interlock.status(&run).unwrap();
    assert_eq!(status["status"], "paused");
    assert_eq!(status["changed"].as_array().unwrap().len(), 2);
    let resumed = as_person(&room, &token, &["resume", &run]);
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(denied(&room, "4", "ls"), "");
    // Another change of the same file needs another yes.
    room.write(
        ".claude/settings.json",
        "{\"hooks\": {}, \"env\": {\"A\": \"1\"}}",
    )
    .unwrap();
    assert!(denied(&room, "5", "ls").starts_with("paused"));
    let events = interlock.events(&run).unwrap();
    let changed = events
        .iter()
        .filter(|event| event["event"] == "ProtectedChanged");
    assert_eq!(changed.count(), 2);
    interlock.verify(&run).unwrap();
}

/// Calls the hook until it records that nothing protected has changed, which it does not while directories have just
/// changed.
fn quiet(room: &Room, run: &str) {
    let kept = room.state().join("interlock/runs").join(run);
    let kept = kept.join("quiet.json");
    let keeps = |call: usize| {
        assert_eq!(denied(room, &format!("quiet-{call}"), "ls"), "");
        kept.exists()
    };
    assert!((0..1000).any(keeps), "nothing is kept");
}

#[test]
fn a_change_is_noticed_where_the_last_hook_kept_that_there_was_none() {
    for (file, text) in [
        (".claude/settings.json", "{\"hooks\": {\"Stop\": [1]}}"),
        (".envrc", "x"),
        ("../home/.zshenv", "x"),
        ("../home/.config/fish/config.fish", "x"),
    ] {
        let room = Room::new().unwrap();
        let run = start(&room);
        quiet(&room, &run);
        room.write(file, text).unwrap();
        let reason = denied(&room, "changed", "ls");
        assert!(reason.starts_with("paused"), "{file}: {reason}");
    }
}

#[test]
fn what_a_client_writes_for_itself_pauses_nothing() {
    let room = Room::new().unwrap();
    start(&room);
    assert_eq!(denied(&room, "1", "ls"), "");
    room.write(
        ".claude/settings.local.json",
        "{\"permissions\": {\"allow\": [\"Bash(ls)\"]}}",
    )
    .unwrap();
    let home = room.home();
    fs::create_dir_all(home.join(".claude/projects")).unwrap();
    fs::write(home.join(".claude/projects/x.jsonl"), "{}").unwrap();
    fs::write(home.join(".claude.json"), "{\"numStartups\": 1}").unwrap();
    room.write(
        ".git/config",
        "[core]\n\tbare = false\n[user]\n\tname = x\n",
    )
    .unwrap();
    assert_eq!(denied(&room, "2", "ls"), "");
}

#[test]
fn without_a_limit_of_any_kind_the_whole_project_stays() {
    let room = Room::new().unwrap();
    start(&room);
    for (id, line) in ["rm -rf .", "mv ../project ../x", "rm -rf ~", "rm -rf /"]
        .into_iter()
        .enumerate()
    {
        let line = line.replace("../project", room.project().to_str().unwrap());
        let reason = denied(&room, &id.to_string(), &line);
        assert!(reason.starts_with("protected"), "{line}: {reason}");
    }
}
