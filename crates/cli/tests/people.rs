//! Commands of a person beside a run: which sessions it guards, tokens, and a server for others.

use std::{
    fs,
    process::{Output, Stdio},
};

use interlock_testkit::{room::Room, terminal};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const FLOW: &str = "
id: flow
initial: a
states:
  a: {allowed_tools: [Read], on: {GO: b}}
  b: {type: final}
";

struct World {
    room: Room,
    token: String,
}

impl World {
    fn new() -> Self {
        let room = Room::new().unwrap();
        room.write("flow.yaml", FLOW).unwrap();
        let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        let token = shown.lines().last().unwrap().to_owned();
        Self { room, token }
    }

    fn start(&self, more: &[&str]) -> String {
        let arguments = [&["start", "flow.yaml", "--json"], more].concat();
        let (code, out, err) = said(&self.call(&arguments));
        assert_eq!(code, Some(0), "{err}");
        let started: Value = serde_json::from_str(&out).unwrap();
        started["run"].as_str().unwrap().to_owned()
    }

    /// Runs a command without a token.
    fn call(&self, arguments: &[&str]) -> Output {
        let mut command = self.room.command(INTERLOCK);
        command.args(arguments).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Runs a command with the person's token; returns its output.
    fn person(&self, arguments: &[&str], wanted: i32) -> String {
        let mut command = self.room.command(INTERLOCK);
        command.args(arguments).stdin(Stdio::null());
        let output = command.env("INTERLOCK_TOKEN", &self.token).output();
        let (code, out, err) = said(&output.unwrap());
        assert_eq!(code, Some(wanted), "{arguments:?}: {out}{err}");
        format!("{out}{err}")
    }

    /// Returns whether a run guards a session, found with a call that no state allows; the client has ended afterwards.
    fn is_held(&self, session: &str) -> bool {
        let told = json!({
            "session_id": session, "cwd": self.room.project(), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Glob", "tool_use_id": "t",
            "tool_input": {"pattern": "*"},
        });
        let path = self.room.path("told.json");
        fs::write(&path, told.to_string()).unwrap();
        let line = format!("'{INTERLOCK}' hook claude-code < '{}'", path.display());
        // Each session has a client of its own. A shell does not count as a client.
        let mut client = self.room.command("find");
        client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &line, ";"]);
        let (_, out, err) = said(&client.stdin(Stdio::null()).output().unwrap());
        let answer: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        match answer["hookSpecificOutput"]["permissionDecision"].as_str() {
            None => false,
            Some(word) => {
                assert_eq!(word, "deny", "{answer}");
                true
            }
        }
    }
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code();
    (code, text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_person_says_which_session_a_run_holds() {
    let world = World::new();
    let run = world.start(&[]);
    world.person(&["resume", &run, "--session", "named"], 0);
    assert!(!world.is_held("other"), "the run waits for nobody any more");
    assert!(world.is_held("named"));
    // A run that is resumed for another session still guards the one before.
    world.person(&["resume", &run, "--session", "second"], 0);
    world.person(&["resume", &run], 0);
    assert!(
        !world.is_held("other"),
        "no client of it is known to have ended"
    );
    assert!(world.is_held("second"));
    assert!(world.is_held("named"));
    // Its client has ended: the run guards the next session from now on.
    world.person(&["resume", &run], 0);
    assert!(world.is_held("third"));
    assert!(!world.is_held("other"));
    world.person(&["resume", &run, "--session", "fourth"], 0);
    world.person(&["resume", &run, "--next"], 0);
    assert!(world.is_held("fifth"));
    assert!(!world.is_held("other"));
    world.person(&["cancel", &run], 0);
    assert!(!world.is_held("fifth"));
    // Another run replaces the one that has ended.
    world.start(&["--session", "named"]);
    assert!(world.is_held("named"));
    assert!(!world.is_held("fifth"));
}

#[test]
fn a_run_of_the_project_holds_every_session_until_it_ends() {
    let world = World::new();
    let run = world.start(&["--project"]);
    for session in ["one", "two", "three"] {
        assert!(world.is_held(session), "{session}");
    }
    world.person(&["cancel", &run], 0);
    assert!(!world.is_held("four"));
    // The project's configuration says so, for runs that are started without a session.
    let config = "hold = \"project\"\n";
    world.room.write(".interlock/config.toml", config).unwrap();
    let named = world.start(&["--session", "mine"]);
    assert!(world.is_held("mine"));
    assert!(!world.is_held("not mine"));
    world.person(&["cancel", &named], 0);
    world.start(&[]);
    for session in ["five", "six"] {
        assert!(world.is_held(session), "{session}");
    }
}

#[test]
fn a_token_of_a_run_is_made_and_taken_back_by_a_person() {
    let world = World::new();
    let run = world.start(&[]);
    let of_run = ["token", &run];
    let (code, _, err) = said(&world.call(&of_run));
    assert_eq!(code, Some(1));
    assert!(err.contains("only a person may do this"), "{err}");
    for _ in 0..2 {
        let shown = world.person(&of_run, 0);
        assert!(shown.contains("ilr_"), "{shown}");
    }
    let revoke = ["token", &run, "--revoke"];
    assert!(world.person(&revoke, 0).starts_with("2 tokens"));
    assert!(world.person(&revoke, 0).starts_with("0 tokens"));
    world.person(&["cancel", &run], 0);
    assert!(world.person(&of_run, 1).contains("is over"));
    // The person's own token is revoked only at a terminal.
    let why = world.person(&["token", "--revoke"], 1);
    assert!(why.contains("terminal"), "{why}");
    let mut ends = world.room.command(INTERLOCK);
    let ended = terminal::output(ends.args(["token", "--revoke"])).unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let why = world.person(&of_run, 1);
    assert!(why.contains("is not the token in use"), "{why}");
}

#[test]
fn a_server_takes_no_token_that_could_be_guessed_or_is_no_line() {
    let world = World::new();
    let path = world.room.project().join("token");
    let long = "x".repeat(5_000);
    for (text, why) in [
        ("", "at least 16 characters"),
        ("fifteen-letters", "at least 16 characters"),
        ("sixteen letters, and blanks", "one line of letters"),
        ("sixteen-letters-and\nanother-line", "one line of letters"),
        ("sixteen-letters-\u{e9}", "one line of letters"),
        (&long, "too large"),
    ] {
        fs::write(&path, text).unwrap();
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--token-file", "token"];
        let (code, _, err) = said(&world.call(&arguments));
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(why), "{err}");
    }
}
